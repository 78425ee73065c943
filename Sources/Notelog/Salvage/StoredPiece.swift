// A piece of one of a store's files, as `dump --frames` shows it.

import NotelogFormat

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

extension StoredPiece.Kind {
  init(_ kind: FrameKind) {
    switch kind {
    case .record: self = .record
    case .tombstone: self = .tombstone
    case .chunk: self = .chunk
    case .liveChange: self = .liveChange
    case .commit: self = .commit
    case .liveSet: self = .liveSet
    case .close: self = .close
    case .footer: self = .footer
    }
  }
}
