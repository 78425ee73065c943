// What is wrong with a store, by place: FORMAT.md §12.

/// A place where bytes that were durable do not check.
package struct Damage: Equatable, Sendable {
  package enum Kind: String, Sendable {
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
    /// Chunks of a large value that a live record refers to are not there.
    case chunks
  }

  package let kind: Kind
  package let segment: UInt32
  package let offset: Int
  package let byteCount: Int
  /// The record whose frame it is, where that is known.
  package var record: RecordKey?

  init(_ kind: Kind, segment: UInt32, offset: Int = 0, byteCount: Int = 0, record: RecordKey? = nil) {
    self.kind = kind
    self.segment = segment
    self.offset = offset
    self.byteCount = byteCount
    self.record = record
  }
}

/// What was cut after a crash.
package struct TornTail: Equatable, Sendable {
  package let segment: UInt32
  package let offset: Int
  package let byteCount: Int
}

/// What opening a store found.
package struct RecoveryReport: Equatable, Sendable {
  package enum Verdict: String, Sendable { case clean, torn, damaged }

  package var damages: [Damage] = []
  package var torn: [TornTail] = []
  /// The durable floor that witnesses named.
  package var floor = LogPosition.zero
  /// Whether the store had been closed in order.
  package var wasClosed = true
  /// Transactions above the floor that were whole, and so were kept.
  package var keptTransactions = 0
  /// Whether the last thing cut may have been acknowledged as durable.
  package var isPossiblyAcknowledgedCut = false
  /// What became of the index's checkpoint: not having one is no damage, as it is built again.
  package var checkpoint = CheckpointUse.missing
  /// Segment files that the live set does not name and nothing claims.
  package var strays: [String] = []

  package var verdict: Verdict { damages.isEmpty ? (torn.isEmpty ? .clean : .torn) : .damaged }
}
