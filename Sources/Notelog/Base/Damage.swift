// What is wrong with a store, by place: FORMAT.md §12.

import NotelogBase
import NotelogFormat

/// A place where bytes that were durable do not check.
struct Damage: Hashable, Sendable {
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
  }

  let kind: Kind
  let segment: UInt32
  let offset: Int
  let byteCount: Int
  /// The record whose frame it is, where that is known.
  var record: ID16?

  init(_ kind: Kind, segment: UInt32, offset: Int = 0, byteCount: Int = 0, record: ID16? = nil) {
    self.kind = kind
    self.segment = segment
    self.offset = offset
    self.byteCount = byteCount
    self.record = record
  }
}

/// What was cut after a crash.
struct TornTail: Equatable, Sendable {
  let segment: UInt32
  let offset: Int
  let byteCount: Int
}

/// What became of the checkpoint when a store was opened.
enum CheckpointUse: String, Sendable {
  /// There is none.
  case missing
  /// It does not check; the index was built from the segments.
  case damaged
  /// It is of another store, or of segments that are not these, or the store is damaged: the index was built from the
  /// segments.
  case stale
  /// It was taken, with what came after it.
  case used
}

/// What opening a store found.
struct RecoveryReport: Equatable, Sendable {
  enum Verdict: String, Sendable {
    /// Nothing is wrong.
    case sound
    /// The end of the log was cut after a crash.
    case torn
    /// Something is damaged, and what is lost is known record by record: all others are current.
    case contained
    /// Something is lost, and nothing says what: any older record may have been changed or removed in it.
    case unproven
  }

  var damages: [Damage] = []
  /// Segments that lost something that nothing names.
  var unnamedLosses: Set<UInt32> = []
  /// Records with a lower sequence number may have been changed or removed in what is lost; 0 where all losses are named.
  var staleBelow: UInt64 = 0
  var torn: [TornTail] = []
  /// The durable floor that witnesses named.
  var floor = LogPosition.zero
  /// Whether the store had been closed in order.
  var wasClosed = true
  /// Whether it was recovered since.
  var wasRecovered = false
  /// Transactions above the floor that were whole, and so were kept.
  var keptTransactions = 0
  /// What became of the index's checkpoint: not having one is no damage, as it is built again.
  var checkpoint = CheckpointUse.missing
  /// Segment files that the live set does not name and nothing claims.
  var strays: [String] = []

  var verdict: Verdict {
    if !unnamedLosses.isEmpty { return .unproven }
    return damages.isEmpty ? (torn.isEmpty ? .sound : .torn) : .contained
  }
  var isDamaged: Bool { !damages.isEmpty || !unnamedLosses.isEmpty }
}

extension RecoveryReport {
  /// Adds what was found after a recovery: what that found missing it has not brought back.
  mutating func merge(_ later: RecoveryReport) {
    checkpoint = later.checkpoint
    damages += later.damages.filter { !damages.contains($0) }
    unnamedLosses.formUnion(later.unnamedLosses)
    staleBelow = max(staleBelow, later.staleBelow)
  }
}

extension Damage.Kind {
  /// Whether records that were in the place can't be read any more. Of the other kinds another copy serves, or nothing depends
  /// on them.
  var mayLoseRecords: Bool {
    switch self {
    case .missingSegment, .unreadableSegment, .foreignSegment, .replacedSegment, .truncated, .lostFrames,
      .payload:
      true
    case .headerCopy, .footer, .liveSet, .notZero, .commitMark, .chunks, .backupFile,
      .endsBeforeBackup, .unreadableBytes, .closeMark:
      false
    }
  }
}
