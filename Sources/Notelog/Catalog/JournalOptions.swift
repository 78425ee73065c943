// What a caller may choose when opening a journal.

import NotelogBase
import NotelogFormat

/// Options of a journal.
struct JournalOptions: Sendable {
  /// The size segments are aimed at; chosen by what the store holds where nothing is said.
  var segmentByteCount: Int?
  /// Whether nothing may be written.
  var isReadOnly = false
  /// Whether the store's lock is taken for a burst of writes only, and others write in between.
  var isLeased = false
  /// How long somebody else's lock is waited for.
  var lockTimeout = Duration.zero
  /// Whether a store is opened that lost something which nothing names: for reading only, with records that
  /// may be older than they were marked as possibly stale. Otherwise opening it is refused.
  var acceptsUnprovenDamage = false
  /// Whether a store that was closed in order is examined as any other.
  var examinesAllSegments = false
  /// Whether whoever writes does a share of compaction, so that the space contract holds.
  var compactsAutomatically = false
  /// Whether a record stays in its collection: one of the same id in another is refused, and not replaced.
  var keepsCollections = false
  /// How many bytes of deletions a full disk takes before something must be compacted.
  var deletionReserve = 1 << 20
  /// After how many changes, and a quarter of the index, whoever writes makes another checkpoint; the first
  /// after a quarter of that number.
  var checkpointTail = 1 << 20
  /// Up to how many records each closing that follows a change writes a checkpoint: it is small, and names
  /// what a damaged segment held.
  var smallIndex = 16_384
  /// Makes salts, store ids and the like.
  var random: @Sendable () -> UInt64 = { UInt64.random(in: 0...UInt64.max) }

  /// Whether the commits of a store that is created have their times.
  var keepsCommitTimes = false
  /// For how many seconds the versions of a store that is created are kept after they were replaced; 0 where
  /// compaction removes them.
  var keptSeconds: UInt32 = 0
  /// The time of a commit, in milliseconds since 1970.
  var clock: @Sendable () -> UInt64 = { max(1, millisecondsSince1970()) }

  /// A branch of its own, for a store that is created.
  func newBranch() -> Branch {
    Branch(
      id: ID16(low: random(), high: random()), keepsTimes: keepsCommitTimes, keptSeconds: keptSeconds)
  }

  /// The most memory that blocks of finished segments are kept in, sealed as they are on disk, and an eighth
  /// as much again what their footers list. It is taken as it is used.
  var cacheByteCount = 64 << 20
  /// What is told of events, if anybody asks. It is called where they happen, with locks held, and only takes
  /// note.
  var tell: (@Sendable (StoreEvent) -> Void)?
  /// From how long on a sync that commits, or closing, wait for is an event.
  var slowSync = Duration.seconds(1)
  /// The bits of its fingerprint that an id is indexed by: fewer than all of them only where collisions are
  /// tried.
  var fingerprintMask = UInt64.max

  /// A fresh key for the index's hash.
  var fingerprintKey: FingerprintKey { FingerprintKey(low: random(), high: random(), mask: fingerprintMask) }
}
