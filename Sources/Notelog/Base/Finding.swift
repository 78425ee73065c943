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
    /// Whether what is shown is what somebody with the key wrote; looked at where the store keeps evidence, with
    /// the key only.
    case evidence
  }

  /// What kind of finding it is.
  public enum Kind: String, Sendable, CaseIterable {
    /// A segment that the store counts as its own is not there.
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
    /// An object of an archive is not what its name says.
    case archiveObject
    /// The log ends before its archive does.
    case endsBeforeArchive
    /// The archive has other bytes than the log, of the same branch.
    case partedFromArchive
    /// Bytes behind what is known to be durable, as a crash leaves them.
    case torn
    /// A file in which not one frame was found, or that can't be opened: it may be a link, or for others only.
    case unreadableFile
    /// The newest version of a record.
    case record
    /// A transaction that is not whole, and that nothing says was durable.
    case uncommitted
    /// A part of a large value that a record which was salvaged refers to.
    case largeValue
    /// Something else, which words of its own describe.
    case other
  }

  /// What kind of finding it is.
  public let kind: Kind
  /// The part that it is found in.
  public let part: Part
  /// Whether it is damage, and not merely something to know.
  public let isDamage: Bool
  /// The file, where it is about one that is to be salvaged.
  public let file: String?
  /// The segment, where it is about one.
  public let segment: Int?
  /// The offset in the segment.
  public let offset: Int?
  /// How many bytes it is about; 0 where that is not known.
  public let byteCount: Int
  /// The record, where it is about one.
  public internal(set) var record: RecordID?
  /// What is said in the place of what the kind says.
  var words: String?

  /// What it is, in words.
  public var message: String { words ?? kindInWords }

  private var kindInWords: String {
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
    case .archiveObject: "the archive's object is not what its name says"
    case .endsBeforeArchive:
      "the archive knows a later end of the store, and stays as it is: the store lost its end, is an older copy, or another copy of it is shipped there too"
    case .partedFromArchive:
      "the archive has another history of the store, and stays as it is: two copies of the store were written to; ship this one elsewhere"
    case .torn: "\(byteCount) bytes behind what is known to be durable"
    case .unreadableFile: "not one frame was found in it"
    case .record: "the record's newest version does not check"
    case .uncommitted:
      "\(byteCount) bytes of a transaction that is not whole, and may never have been durable"
    case .largeValue: "parts of a large value of the record are missing"
    case .other: ""
    }
  }

  /// A place in a segment, or in a file, where bytes that were durable do not check.
  init(
    _ kind: Kind, in file: String? = nil, segment: UInt32?, offset: Int = 0, byteCount: Int = 0,
    record: ID16? = nil, words: String? = nil
  ) {
    (part, isDamage, self.kind, self.byteCount) = (.structure, kind != .torn, kind, byteCount)
    (self.file, self.segment, self.offset) = (file, segment.map(Int.init), offset)
    (self.record, self.words) = (record.map { RecordID($0) }, words)
  }

  /// The same of a range of a segment's bytes.
  init(_ kind: Kind, segment: UInt32, _ range: Range<Int>, record: ID16? = nil) {
    self.init(kind, segment: segment, offset: range.lowerBound, byteCount: range.count, record: record)
  }

  /// Something in a record that can't be read.
  init(_ error: NotelogError, _ record: RecordID) {
    self.init(error, error.code == .tampered ? .tags : .records, record)
  }

  /// What an error says.
  init(_ error: NotelogError, _ part: Part, _ record: RecordID? = nil) {
    (self.part, isDamage, kind, byteCount) = (part, true, .other, 0)
    (file, segment, offset, self.record) = (nil, error.segment, error.offset, record)
    words = error.message
  }

  /// Something that is about no place in the log.
  init(_ message: String, _ part: Part, isDamage: Bool) {
    (self.part, self.isDamage, kind, byteCount) = (part, isDamage, .other, 0)
    (file, segment, offset, words) = (nil, nil, nil, message)
  }

  /// Where it is: segment 0, which there never is, where it is about none.
  var place: LogPosition { LogPosition(segment: UInt32(segment ?? 0), offset: offset ?? 0) }

  /// Which bytes of the segment it is about.
  var range: Range<Int> { place.offset..<place.offset + byteCount }
}

extension NotelogError {
  /// The error that a finding is to whoever can't do without what it is about: `tampered` where a tag says
  /// so, `damaged` else.
  public init(_ finding: Finding) {
    self.init(
      finding.part == .tags ? .tampered : .damaged, finding.message, segment: finding.segment,
      offset: finding.offset)
    record = finding.record
  }
}

extension Finding: CustomStringConvertible {
  /// What was found and where, in words, on one line.
  public var description: String {
    let place = [
      file.map { "file \($0)" }, segment.map { "segment \($0)" }, offset.map { "offset \($0)" },
      record.map { "record \($0)" },
    ].compactMap { $0 }
    return place.isEmpty ? message : "\(message) (\(place.joined(separator: ", ")))"
  }
}

extension Finding.Kind {
  /// Whether records that were in the place can't be read any more. Of the other kinds another copy serves,
  /// or nothing depends on them.
  var mayLoseRecords: Bool {
    [
      .missingSegment, .unreadableSegment, .foreignSegment, .replacedSegment, .truncated, .lostFrames,
      .payload,
    ].contains(self)
  }
}

// MARK: - What opening a store found: FORMAT.md 12.

/// What is known of a store's damage, in a word.
public enum Verdict: String, Sendable, CaseIterable {
  /// Nothing is wrong.
  case sound
  /// A tail was cut that nothing says was durable: what a crash leaves.
  case torn
  /// Something is damaged, and what is lost is known, record by record: reading one of those records throws
  /// `damaged`, all others are current, and the store goes on for reading and writing.
  case contained
  /// Something is lost that nobody can name: any older record may have been changed or removed in it. Such a
  /// store is open for reading only, and only where ``Store/Options/acceptsUnprovenDamage`` says so.
  case unproven

  /// Whether something is damaged or lost.
  public var isDamaged: Bool { self == .contained || self == .unproven }
}

/// What became of the checkpoint when a store was opened.
enum CheckpointUse: String, Sendable {
  /// There is none.
  case missing
  /// It does not check; the index was built from the segments.
  case damaged
  /// It is of another store, or of segments that are not these, or the store is damaged: the index was built
  /// from the segments.
  case stale
  /// It was taken, with what came after it.
  case used
}

/// What opening a store found.
struct RecoveryReport: Equatable, Sendable {
  var damages: [Finding] = []
  /// Segments that lost something that nothing names.
  var unnamedLosses: Set<UInt32> = []
  /// Records with a lower sequence number may have been changed or removed in what is lost; 0 where all
  /// losses are named.
  var possiblyStaleBelow: UInt64 = 0
  /// What was cut after a crash, or would be: no damage, and no finding that is told.
  var torn: [Finding] = []
  /// The durable floor that witnesses named.
  var floor = LogPosition.zero
  /// Whether the store had been closed in order.
  var wasClosed = true
  /// Whether it was recovered since.
  var wasRecovered = false
  /// What became of the index's checkpoint: not having one is no damage, as it is built again.
  var checkpoint = CheckpointUse.missing
  /// Segment files that the live set does not name and nothing claims.
  var strays: [String] = []

  var verdict: Verdict {
    if !unnamedLosses.isEmpty { return .unproven }
    return damages.isEmpty ? (torn.isEmpty ? .sound : .torn) : .contained
  }
  var isDamaged: Bool { verdict.isDamaged }
  var tornByteCount: Int { torn.reduce(0) { $0 + $1.byteCount } }

  /// Adds what was found after a recovery: what that found missing it has not brought back.
  mutating func merge(_ later: RecoveryReport) {
    checkpoint = later.checkpoint
    damages += later.damages.filter { !damages.contains($0) }
    unnamedLosses.formUnion(later.unnamedLosses)
    possiblyStaleBelow = max(possiblyStaleBelow, later.possiblyStaleBelow)
  }
}

// MARK: - What is known to be damaged in a store: found at opening, or met since.

/// What is known to be damaged in a store, and what that means for what it serves.
public struct DamageReport: Sendable {
  /// What the damage means.
  public let verdict: Verdict
  /// What is damaged, place by place; at most ten thousand places.
  public let findings: [Finding]
  /// How many records are known to be lost; there may be more where the verdict is `unproven`.
  public let lostRecordCount: Int
  /// Records with a lower revision may be older than they were; 0 where all are current.
  public let possiblyStaleBelow: UInt64
}
