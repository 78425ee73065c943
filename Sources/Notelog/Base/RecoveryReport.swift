// What opening a store found: FORMAT.md 12.

import NotelogFormat

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

  var damages: [Finding] = []
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
