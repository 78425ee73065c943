// What is not as it should be in a store, by place: FORMAT.md 12.

import NotelogBase
import NotelogFormat

/// Something that is not as it should be.
public struct Finding: Sendable, Hashable {
  /// What is verified, part by part.
  public enum Part: String, Sendable, CaseIterable {
    /// Segments, frames, checksums and the live set.
    case structure
    /// The checkpoint of the index.
    case index
    /// The two copies of the keyring.
    case keyring
    /// Records, as their schemas describe them.
    case records
    /// What authenticates sealed values; looked at with a key only.
    case tags
  }

  enum Kind: String, Sendable {
    /// A segment that a live set names is not there.
    case missingSegment
    /// No copy of the segment's header checks.
    case unreadableSegment
    /// One copy of the header differs; another serves.
    case headerCopy
    /// The segment belongs to another store, or its header to another file name.
    case foreignSegment
    /// Length, salt or footer differ from what the live set says.
    case replacedSegment
    /// The segment ends below the durable floor.
    case truncated
    /// The medium gives an error where the bytes are read.
    case unreadableBytes
    /// Bytes where frames were: what they held is not known.
    case lostFrames
    /// A frame whose header checks and whose payload doesn't.
    case payload
    /// A footer that does not check, or lists other frames than there are.
    case footer
    /// The live set's frame does not check.
    case liveSet
    /// Bytes that must be zero are not.
    case notZero
    /// A commit mark that does not match its transaction.
    case commitMark
    /// The mark of the last clean close does not check, which `lock` says is there.
    case closeMark
    /// Chunks of a large value that a live record refers to are not there.
    case chunks
    /// A backup's file of the segment has not the bytes that it was given.
    case backupFile
    /// The log ends before its backup does.
    case endsBeforeBackup
    /// Something else, which words of its own describe.
    case other
  }

  /// The part that it is found in.
  public let part: Finding.Part
  /// Whether it is damage, and not merely something to know.
  public let isDamage: Bool
  /// The segment, where it is about one.
  public let segment: Int?
  /// The offset in the segment.
  public let offset: Int?
  /// The record, where it is about one.
  public internal(set) var record: RecordID?
  let kind: Kind
  let byteCount: Int
  /// What is said where the kind says nothing.
  private var words = ""

  /// What it is, in words.
  public var message: String {
    switch kind {
    case .missingSegment: "the segment is missing"
    case .unreadableSegment: "no copy of the segment's header checks"
    case .headerCopy: "one copy of the segment's header differs, another serves"
    case .foreignSegment: "the segment belongs to another store, or under another name"
    case .replacedSegment: "the segment is not the one that the store means"
    case .truncated: "the segment ends too early"
    case .unreadableBytes: "\(byteCount) bytes can't be read"
    case .lostFrames: "\(byteCount) bytes where frames were do not check"
    case .payload: "a frame's content does not check"
    case .footer: "the segment's footer does not check"
    case .liveSet: "the segment's live set does not check"
    case .notZero: "bytes that must be zero are not"
    case .commitMark: "a commit mark does not match its transaction"
    case .closeMark: "the mark of the last close does not check"
    case .chunks: "a record refers to a large value of which chunks are missing"
    case .backupFile: "the backup's file of the segment is not as it was written"
    case .endsBeforeBackup:
      "the store's log ends before its backup does, which stays as it is; a store that was restored or salvaged needs a new backup folder"
    case .other: words
    }
  }

  /// A place in a segment where bytes that were durable do not check.
  init(_ kind: Kind, segment: UInt32, offset: Int = 0, byteCount: Int = 0, record: ID16? = nil) {
    (part, isDamage, self.kind, self.byteCount) = (.structure, true, kind, byteCount)
    (self.segment, self.offset, self.record) = (Int(segment), offset, record.map { RecordID($0) })
  }

  /// Something in a record that can't be read.
  init(_ error: NotelogError, _ record: RecordID) {
    self.init(error, error.code == .tampered ? .tags : .records, record)
  }

  /// What an error says.
  init(_ error: NotelogError, _ part: Finding.Part, _ record: RecordID? = nil) {
    (self.part, isDamage, kind, byteCount) = (part, true, .other, 0)
    (segment, offset, self.record, words) = (error.segment, error.offset, record, error.message)
  }

  /// Something that is about no place in the log.
  init(_ message: String, _ part: Finding.Part, isDamage: Bool) {
    (self.part, self.isDamage, kind, byteCount) = (part, isDamage, .other, 0)
    (segment, offset, words) = (nil, nil, message)
  }

  /// Where it is: segment 0, which there never is, where it is about none.
  var place: LogPosition { LogPosition(segment: UInt32(segment ?? 0), offset: offset ?? 0) }

  /// Which bytes of the segment it is about.
  var range: Range<Int> { place.offset..<place.offset + byteCount }
}

extension Finding: CustomStringConvertible {
  /// What was found and where, in words, on one line.
  public var description: String {
    let place = [
      segment.map { "segment \($0)" }, offset.map { "offset \($0)" }, record.map { "record \($0)" },
    ].compactMap { $0 }
    return place.isEmpty ? message : "\(message) (\(place.joined(separator: ", ")))"
  }
}

extension Finding.Kind {
  /// Whether records that were in the place can't be read any more. Of the other kinds another copy serves, or nothing depends
  /// on them.
  var mayLoseRecords: Bool {
    switch self {
    case .missingSegment, .unreadableSegment, .foreignSegment, .replacedSegment, .truncated, .lostFrames,
      .payload:
      true
    case .headerCopy, .footer, .liveSet, .notZero, .commitMark, .chunks, .backupFile,
      .endsBeforeBackup, .unreadableBytes, .closeMark, .other:
      false
    }
  }
}
