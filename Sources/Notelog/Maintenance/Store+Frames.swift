// What lies in a store's files, frame by frame: the forensic view, without a key and without opening anything.

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
  public private(set) var revision: UInt64?
  /// The record that a frame is of, or the large value, for a chunk.
  public private(set) var record: RecordID?
  /// The number of the record's collection; 0 for a schema.
  public private(set) var collection: Int?
  /// What else it says, in words; empty where there is nothing more to say.
  public private(set) var note = ""

  init(_ piece: FrameListing.Piece) {
    file = piece.file
    segment = piece.segment.map(Int.init)
    offset = piece.offset
    byteCount = piece.byteCount
    switch piece.content {
    case .file(let isReadable, let segmentKind, let storeID, let branch, let isFinished):
      kind = .file
      isSound = isReadable
      let header = segmentKind.map { "\($0)" } ?? "no readable header"
      let store = storeID.map { ", store \(RecordID($0))" } ?? ""
      let line = branch.map { ", branch \(RecordID($0))" } ?? ""
      note = header + (isFinished ? ", finished" : ", not finished") + store + line
    case .frame(let header, let isWhole, let mark):
      kind = Kind(header.kind)
      isSound = isWhole
      revision = header.sequence
      if header.kind.isContent {
        record = RecordID(header.id)
        collection = Int(header.collection)
      }
      note = mark.map(Self.words) ?? ""
    case .trailer: (kind, isSound) = (.trailer, true)
    case .unused: (kind, isSound) = (.unused, true)
    case .unknown: (kind, isSound) = (.unknown, false)
    }
  }

  private static func words(_ mark: FrameListing.Piece.Mark) -> String {
    switch mark {
    case .commit(let frameCount, let firstOffset, let floor, let time):
      "of \(frameCount) from offset \(firstOffset); floor \(floor.segment):\(floor.offset)"
        + (time == 0 ? "" : "; at \(time) ms since 1970")
    case .close(let place): "at \(place.segment):\(place.offset)"
    }
  }
}

extension StoredPiece.Kind {
  fileprivate init(_ kind: FrameKind) {
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

extension Store {
  /// Calls `body` with every piece of every segment file in a folder: frames, and the bytes between them.
  ///
  /// Nothing is opened, recovered or judged; a store that can't be opened is shown all the same.
  ///
  /// - Parameters:
  ///   - path: The folder's path.
  ///   - body: Called in the order of names and offsets.
  /// - Throws: `notFound` where there is no segment file; `inputOutput`; and what `body` throws.
  public static func forEachPiece(at path: String, _ body: (StoredPiece) throws -> Void) throws {
    do { try forEachPiece(in: SystemStorage(path: path), body) } catch let error as JournalError {
      throw NotelogError(journal: error).naming(path)
    }
  }

  static func forEachPiece(in storage: any Storage, _ body: (StoredPiece) throws -> Void) throws {
    try FrameListing.run(storage) { try body(StoredPiece($0)) }
  }
}
