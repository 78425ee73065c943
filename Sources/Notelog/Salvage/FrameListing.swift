// A piece of one of a store's files, as `dump --frames` shows it.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// A piece of one of a store's files, as it lies on the disk.
public struct StoredPiece: Sendable {
  /// What a piece is.
  public enum Kind: String, Sendable, CaseIterable {
    /// A file, as its header and its end describe it; its frames follow.
    case file
    /// A version of a record.
    case record
    /// A record's deletion.
    case tombstone
    /// A part of a large value.
    case chunk
    /// Which segments compaction added and removed.
    case liveChange
    /// What ends a transaction.
    case commit
    /// Which segments there are.
    case liveSet
    /// What ends a store that was closed in order.
    case close
    /// What a finished segment lists of itself.
    case footer
    /// The last bytes of a finished segment.
    case trailer
    /// Zeros: space that was promised and not used.
    case unused
    /// Bytes in which nothing checks.
    case unknown
  }

  /// The file's name.
  public let file: String
  /// The segment's number, where it is known.
  public let segment: Int?
  /// Where in the file the piece begins.
  public let offset: Int
  /// How long it is, header and padding included.
  public let byteCount: Int
  /// What it is.
  public let kind: Kind
  /// Whether everything in it checks.
  public let isSound: Bool
  /// For a frame, its sequence number: the record's revision, if it is a record's.
  public internal(set) var revision: UInt64?
  /// The record that a frame is of, or the large value, for a chunk.
  public internal(set) var record: RecordID?
  /// The number of the record's collection; 0 for a schema.
  public internal(set) var collection: Int?
  /// What else it says, in words; empty where there is nothing more to say.
  public internal(set) var note = ""

  init(_ file: SalvageFile, _ range: Range<Int>, _ kind: Kind, isSound: Bool) {
    (self.file, segment) = (file.name, file.number.map(Int.init))
    (offset, byteCount) = (range.lowerBound, range.count)
    (self.kind, self.isSound) = (kind, isSound)
  }
}

// MARK: - Everything in a segment's file, frame by frame: FORMAT.md §4, §5 and §6.

extension SalvageFile {
  /// Calls `body` with each piece of the file, in the order of their places, whatever they are worth: it
  /// passes no verdict.
  mutating func forEachPiece(_ body: (StoredPiece) throws -> Void) throws {
    var piece = StoredPiece(self, 0..<byteCount, .file, isSound: header != nil)
    piece.note =
      (header.map { "\($0.kind)" } ?? "no readable header")
      + (trailer == nil ? ", not finished" : ", finished")
      + (header.map { ", store \(RecordID($0.storeID)), branch \(RecordID($0.branch.id))" } ?? "")
    try body(piece)
    do {
      if salt == nil { salt = try SegmentSalt(framesOf: file, byteCount: byteCount) }
      var walk = walk()
      while let header = try walk.advance() {
        if let lost = walk.lost { try body(gap(lost.range, &walk.reader)) }
        let isWhole =
          try walk.reader.isWhole(header, at: walk.place)
          && walk.reader.brokenPadding(header, at: walk.place) == nil
        // A frame's kind has the same name here.
        let kind = StoredPiece.Kind(rawValue: "\(header.kind)") ?? .unknown
        var piece = StoredPiece(self, walk.place..<walk.next, kind, isSound: isWhole)
        piece.revision = header.sequence
        if header.kind.isContent {
          piece.record = RecordID(header.id)
          piece.collection = Int(header.collection)
        }
        if isWhole { piece.note = try note(of: header, at: walk.place, &walk.reader) }
        try body(piece)
      }
      // A trailer is shorter than a frame's header.
      guard let rest = walk.lost?.range else { return }
      if trailer != nil, rest.count == Layout.trailerByteCount {
        try body(StoredPiece(self, rest, .trailer, isSound: true))
      } else {
        try body(gap(rest, &walk.reader))
      }
    } catch let error as StorageError { throw NotelogError(error) }
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
      guard let mark = CloseMark(header, payload: try reader.payload(of: header, at: place)) else {
        return ""
      }
      return "at \(mark.place.segment):\(mark.place.offset)"
    case .record, .tombstone, .chunk, .liveChange, .liveSet, .footer: return ""
    }
  }

  private func gap(_ range: Range<Int>, _ reader: inout SegmentReader) throws(StorageError) -> StoredPiece {
    let isZero = try reader.isZero(from: range.lowerBound, to: range.upperBound)
    return StoredPiece(self, range, isZero ? .unused : .unknown, isSound: isZero)
  }
}
