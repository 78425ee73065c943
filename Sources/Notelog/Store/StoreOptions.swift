// How a store is opened.

/// When a store that is open for writing holds its lock, which keeps other processes from writing.
public enum WritingPolicy: Sendable, Hashable {
  /// From opening to closing, but for the time between `Store.suspend()` and `Store.resume(waiting:)`.
  case held
  /// From a write on, until nothing was written for that long or another process waits: several processes
  /// write in turns, and each takes in what the others did before it writes. Opening waits for nobody.
  case leased(idle: Duration)
}

/// When compaction runs.
public enum CompactionPolicy: Sendable {
  /// When `compact` or `compactIfDue` is called.
  case whenAsked
  /// Whoever writes does a share of it, so that the store never takes more than 1.5 × what lives in it and
  /// two segments; there is no thread of its own. Writers wait where they would go beyond that.
  case automatic
}

extension Store {
  /// What may be chosen when a store is created or opened.
  public struct Options: Sendable {
    /// Whether nothing may be written; no lock is then taken. The store shows what was committed when it was
    /// opened, and what came later when it is asked for (`Store.refresh()`, ``followsOtherProcesses``). A
    /// store of more files than the process keeps open gets a file in its folder `pins`, where that can be
    /// written to, for as long as it is open: what it shows is not deleted meanwhile.
    public var isReadOnly = false
    /// When the store's lock is held, where it is open for writing.
    public var writing = WritingPolicy.held
    /// How long another process's lock is waited for before `busy` is thrown: at creating and opening, and
    /// with leased writing at each write.
    public var lockTimeout = Duration.zero
    /// Whether what other processes commit is taken in by itself as it comes, where this one doesn't hold the
    /// lock: `Store.refresh()` without being asked. Observing a store does so too.
    public var followsOtherProcesses = false
    /// Whether a store is opened all the same that lost something which nobody can name. It is open for
    /// reading only then, and ``Entry/isPossiblyStale`` marks each record that may have been changed or
    /// removed in what is lost. Without it, opening such a store throws `damaged`, with what was found in
    /// ``NotelogError/damage``: salvage it, or restore a backup.
    public var acceptsUnprovenDamage = false
    /// Whether opening looks at every segment's file, also in a store that was closed in order: then one that
    /// is missing or too short is noticed at once, and not when it is read. It takes some ten microseconds a
    /// segment.
    public var examinesAllSegments = false
    /// The record types that the app uses. Their schemas are compared with the stored ones when a store is
    /// opened, so that what doesn't fit is said at once, and not when a type is first used; and a collection
    /// that was renamed, and whose records would be out of sight, is told from one that is new: where none of
    /// the types declares a stored collection, and a new one has all of its fields.
    public var recordTypes: [any Record.Type] = []
    /// The size of a segment in bytes; chosen by what the store holds where nothing is said. What is outside
    /// of `segmentByteCounts` is taken as the nearest bound.
    public var segmentByteCount: Int?
    /// The sizes that a segment may have: 16 KiB to 64 MiB.
    public static let segmentByteCounts = SegmentSize.choices
    /// The most memory that blocks of the store's files are kept in, sealed as they are there; an eighth as
    /// much again holds what updates ask for of records that they replace.
    public var cacheByteCount = 64 << 20
    /// When compaction runs.
    public var compaction = CompactionPolicy.whenAsked
    /// Whether commits have their times, in a store that is created: for good. Whoever sees the files then
    /// sees when each was made.
    public var keepsCommitTimes = false
    /// How long each version of a record is kept after it was replaced or deleted, with its large values, in a
    /// store that is created: for good, in whole seconds. nil: until compaction, at any moment. Commits have
    /// their times then. It takes the space of all that is written in that time; `Store.purge(progress:)` gives
    /// it back before.
    public var keepsVersions: Duration?
    /// Whether a store that is created keeps evidence, for good: then `Store.audit()` tells whether somebody
    /// without the key changed, added, dropped or brought back anything. Its records are written only while it is
    /// unlocked, or was since the process began.
    public var keepsEvidence = false
    /// What was seen of the store when it was used here last (`Store.head()`): it may not be older now, nor lack
    /// what was written here.
    public var head: StoreHead?
    /// Where this device's secret is: keys that are always open, or used on this device only, need it.
    public var deviceSecret = DeviceSecret.standard
    /// What is told of the store's events: opened, recovered, compacted, damaged, slow, closed. It is called
    /// with one event after another, in order, on a thread of its own, with none of the store's locks held;
    /// it may use the store. `close()` returns when the last event was told. Where a thousand wait already,
    /// further ones are counted alone (``StoreCounters/droppedEvents``).
    public var observer: (@Sendable (StoreEvent) -> Void)?
    /// From how long on a sync that commits, or closing, wait for is an event (``StoreEvent/slowSync(_:)``).
    public var slowSync = Duration.seconds(1)
    /// How much work a guess of the password costs, as the exponent of scrypt's *N*, from 14 to 18. With less
    /// than 16 the password is cheap to guess for whoever has the files, and nothing warns of that here: only
    /// for tests.
    public var passwordWork: UInt8 = 17

    /// The time of a commit, in milliseconds since 1970: another one only where clocks are tried.
    var clock: (@Sendable () -> UInt64)?

    /// The options that most apps want.
    public init() {}

    func journal(telling events: EventTeller?) -> JournalOptions {
      var options = JournalOptions()
      if let events { options.tell = { events.tell($0) } }
      options.slowSync = slowSync
      options.isReadOnly = isReadOnly
      options.acceptsUnprovenDamage = acceptsUnprovenDamage
      options.examinesAllSegments = examinesAllSegments
      let sizes = Self.segmentByteCounts
      options.segmentByteCount = segmentByteCount.map { min(max($0, sizes.lowerBound), sizes.upperBound) }
      options.cacheByteCount = cacheByteCount
      options.compactsAutomatically = compaction == .automatic
      options.keepsCollections = true
      options.keepsCommitTimes = keepsCommitTimes
      options.keptSeconds = keepsVersions.map { UInt32(clamping: max(1, $0.components.seconds)) } ?? 0
      if let clock { options.clock = clock }
      if case .leased = writing { options.isLeased = true }
      options.lockTimeout = lockTimeout
      return options
    }
  }
}
