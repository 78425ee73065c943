// Everything in a folder's segment files, frame by frame: FORMAT.md §4, §5 and §6.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// Lists what lies on the disk, whatever it is worth: it passes no verdict, and opens no store.
struct FrameListing {
  /// A piece of a file.
  struct Piece: Sendable {
    enum Content: Sendable {
      /// The file itself, as its header and its end describe it.
      case file(isHeaderReadable: Bool, kind: SegmentKind?, storeID: ID16?, branch: ID16?, isFinished: Bool)
      /// A frame whose header checks.
      case frame(FrameHeader, isWhole: Bool, Mark?)
      /// What ends a finished segment.
      case trailer
      /// Zeros: space that was promised and not used.
      case unused
      /// Bytes in which no frame header checks.
      case unknown
    }

    /// What a commit or a close mark says.
    enum Mark: Sendable {
      case commit(frameCount: Int, firstOffset: Int, floor: LogPosition, time: UInt64)
      case close(place: LogPosition)
    }

    let file: String
    let segment: UInt32?
    let offset: Int
    let byteCount: Int
    let content: Content
  }

  private let body: (Piece) throws -> Void

  /// Calls `body` with each piece of each file, in the order of the names and places.
  ///
  /// - Throws: `notAStore` where there is no segment file; `inputOutput`; and what `body` throws.
  static func run(_ storage: any Storage, _ body: (Piece) throws -> Void) throws {
    let names = try fromStorage(storage.names(in: ""))
    let segments = names.filter { $0.contains(".journal") }.sorted()
    guard !segments.isEmpty else { throw JournalError(.notAStore, "there is no segment here") }
    try withoutActuallyEscaping(body) { body in
      let listing = FrameListing(body: body)
      for name in segments {
        guard var file = SalvageFile(name, in: storage) else {
          throw JournalError(.inputOutput, "'\(name)' can't be read")
        }
        defer { file.file.close() }
        try listing.list(&file)
      }
    }
  }

  private func list(_ file: inout SalvageFile) throws {
    let header = file.header
    try tell(
      file, 0, file.byteCount,
      .file(
        isHeaderReadable: header != nil, kind: header?.kind, storeID: header?.storeID,
        branch: header?.branch.id,
        isFinished: file.trailer != nil))
    do {
      if file.salt == nil { file.salt = try SaltSolver.solve(file.file, byteCount: file.byteCount) }
      var reader = file.reader()
      var place = Layout.firstFrameOffset
      while let (next, header) = try reader.nextFrame(from: place) {
        if next > place { try tellGap(file, place..<next, &reader) }
        let isWhole =
          try reader.isWhole(header, at: next) && reader.brokenPadding(header, at: next) == nil
        let mark = isWhole ? try mark(header, at: next, &reader) : nil
        try tell(file, next, header.frameByteCount, .frame(header, isWhole: isWhole, mark))
        place = next + header.frameByteCount
      }
      let end = file.byteCount
      if file.trailer != nil, place == end - Layout.trailerByteCount {
        try tell(file, place, Layout.trailerByteCount, .trailer)
      } else if place < end {
        try tellGap(file, place..<end, &reader)
      }
    } catch let error as StorageError {
      throw JournalError(error)
    }
  }

  private func mark(
    _ header: FrameHeader, at place: Int, _ reader: inout SegmentReader
  ) throws(StorageError) -> Piece.Mark? {
    switch header.kind {
    case .commit:
      return CommitMark(payload: try reader.payload(of: header, at: place)).map {
        .commit(frameCount: $0.frameCount, firstOffset: $0.firstOffset, floor: $0.floor, time: $0.time)
      }
    case .close:
      return CloseMark(payload: try reader.payload(of: header, at: place)).map { .close(place: $0.place) }
    case .record, .tombstone, .chunk, .liveChange, .liveSet, .footer: return nil
    }
  }

  private func tellGap(_ file: SalvageFile, _ range: Range<Int>, _ reader: inout SegmentReader) throws {
    let isZero = try reader.isZero(from: range.lowerBound, to: range.upperBound)
    try tell(file, range.lowerBound, range.count, isZero ? .unused : .unknown)
  }

  private func tell(
    _ file: SalvageFile, _ offset: Int, _ byteCount: Int, _ content: Piece.Content
  ) throws {
    try body(
      Piece(file: file.name, segment: file.number, offset: offset, byteCount: byteCount, content: content))
  }
}
