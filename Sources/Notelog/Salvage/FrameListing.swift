// Everything in a folder's segment files, frame by frame: FORMAT.md §4, §5 and §6.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// Lists what lies on the disk, whatever it is worth: it passes no verdict, and opens no store.
struct FrameListing {
  private let body: (StoredPiece) throws -> Void

  /// Calls `body` with each piece of each file, in the order of the names and places.
  ///
  /// - Throws: `notAStore` where there is no segment file; `inputOutput`; and what `body` throws.
  static func run(_ storage: any Storage, _ body: (StoredPiece) throws -> Void) throws {
    let names = try fromStorage(storage.names(in: ""))
    let segments = names.filter { $0.contains(".journal") }.sorted()
    guard !segments.isEmpty else { throw NotelogError(.notFound, "there is no segment here") }
    try withoutActuallyEscaping(body) { body in
      let listing = FrameListing(body: body)
      for name in segments {
        guard var file = SalvageFile(name, in: storage) else {
          throw NotelogError(.inputOutput, "'\(name)' can't be read")
        }
        defer { file.file.close() }
        try listing.list(&file)
      }
    }
  }

  private func list(_ file: inout SalvageFile) throws {
    let header = file.header
    var piece = StoredPiece(file, 0..<file.byteCount, .file, isSound: header != nil)
    piece.note =
      (header.map { "\($0.kind)" } ?? "no readable header")
      + (file.trailer == nil ? ", not finished" : ", finished")
      + (header.map { ", store \(RecordID($0.storeID)), branch \(RecordID($0.branch.id))" } ?? "")
    try body(piece)
    do {
      if file.salt == nil { file.salt = try SaltSolver.solve(file.file, byteCount: file.byteCount) }
      var reader = file.reader()
      var place = Layout.firstFrameOffset
      while let (next, header) = try reader.nextFrame(from: place) {
        if next > place { try tellGap(file, place..<next, &reader) }
        place = next + header.frameByteCount
        let isWhole =
          try reader.isWhole(header, at: next) && reader.brokenPadding(header, at: next) == nil
        var piece = StoredPiece(file, next..<place, StoredPiece.Kind(header.kind), isSound: isWhole)
        piece.revision = header.sequence
        if header.kind.isContent {
          piece.record = RecordID(header.id)
          piece.collection = Int(header.collection)
        }
        if isWhole { piece.note = try note(of: header, at: next, &reader) }
        try body(piece)
      }
      let end = file.byteCount
      if file.trailer != nil, place == end - Layout.trailerByteCount {
        try body(StoredPiece(file, place..<end, .trailer, isSound: true))
      } else if place < end {
        try tellGap(file, place..<end, &reader)
      }
    } catch let error as StorageError {
      throw NotelogError(error)
    }
  }

  /// What a commit or a close mark says.
  private func note(
    of header: FrameHeader, at place: Int, _ reader: inout SegmentReader
  ) throws(StorageError) -> String {
    switch header.kind {
    case .commit:
      guard let mark = CommitMark(payload: try reader.payload(of: header, at: place)) else { return "" }
      return
        "of \(mark.frameCount) from offset \(mark.firstOffset); floor \(mark.floor.segment):\(mark.floor.offset)"
        + (mark.time == 0 ? "" : "; at \(mark.time) ms since 1970")
    case .close:
      guard let mark = CloseMark(payload: try reader.payload(of: header, at: place)) else { return "" }
      return "at \(mark.place.segment):\(mark.place.offset)"
    case .record, .tombstone, .chunk, .liveChange, .liveSet, .footer: return ""
    }
  }

  private func tellGap(_ file: SalvageFile, _ range: Range<Int>, _ reader: inout SegmentReader) throws {
    let isZero = try reader.isZero(from: range.lowerBound, to: range.upperBound)
    try body(StoredPiece(file, range, isZero ? .unused : .unknown, isSound: isZero))
  }
}
