// Creating, opening and closing a store.

import NotelogFormat
import NotelogStorage
import NotelogBase
import NotelogCrypto
import NotelogJournal

/// When a store that is open for writing holds its lock, which keeps other processes from writing.
public enum WritingPolicy: Sendable, Hashable {
  /// From opening to closing, but for the time between `Store.suspend()` and `Store.resume(waiting:)`.
  case held
  /// From a write on, until nothing was written for that long or another process waits: several processes write in turns, and each takes in
  /// what the others did before it writes. Opening waits for nobody.
  case leased(idle: Duration)
}

/// When compaction runs.
public enum CompactionPolicy: Sendable {
  /// When `compact` or `compactIfDue` is called.
  case whenAsked
  /// Whoever writes does a share of it, so that the store never takes more than 1.5 × what lives in it and two
  /// segments; there is no thread of its own. Writers wait where they would go beyond that.
  case automatic
}

extension Store {
  /// What may be chosen when a store is created or opened.
  public struct Options: Sendable {
    /// Whether nothing may be written; no lock is then taken. The store shows what was committed when it was opened, and what came later
    /// when it is asked for (`Store.refresh()`, ``follows``). A store of more files than the process keeps open gets a file in
    /// its folder `pins`, where that can be written to, for as long as it is open: what it shows is not deleted meanwhile.
    public var isReadOnly = false
    /// When the store's lock is held, where it is open for writing.
    public var writing = WritingPolicy.held
    /// How long another process's lock is waited for before `busy` is thrown: at opening, and with leased writing at each write.
    public var patience = Duration.zero
    /// Whether what other processes commit is taken in by itself as it comes, where this one doesn't hold the lock:
    /// `Store.refresh()` without being asked. Observing a store does so too.
    public var follows = false
    /// Whether a store is opened all the same that lost something which nobody can name. It is open for reading only then, and
    /// ``Entry/isPossiblyStale`` marks each record that may have been changed or removed in what is lost. Without it, opening such a
    /// store throws `damaged`, with what was found in ``NotelogError/damage``: salvage it, or restore a backup.
    public var acceptsUnprovenDamage = false
    /// Whether opening looks at every segment's file, also in a store that was closed in order: then one that is missing or too short
    /// is noticed at once, and not when it is read. It takes some ten microseconds a segment.
    public var examinesAllSegments = false
    /// The record types that the app uses. Their schemas are compared with the stored ones when a store is opened, so that what doesn't fit
    /// is said at once, and not when a type is first used; and a collection that was renamed, and whose records would be out of sight, is
    /// told from one that is new: where none of the types declares a stored collection, and a new one has all of its fields.
    public var recordTypes: [any Record.Type] = []
    /// The size of a segment in bytes; chosen by what the store holds where nothing is said. What is outside of
    /// `segmentByteCounts` is taken as the nearest bound.
    public var segmentByteCount: Int?
    /// The sizes that a segment may have: 16 KiB to 64 MiB.
    public static let segmentByteCounts = SegmentSize.choices
    /// The most memory that blocks of the store's files are kept in, sealed as they are there; an eighth as much again holds what
    /// updates ask for of records that they replace.
    public var cacheByteCount = 64 << 20
    /// When compaction runs.
    public var compaction = CompactionPolicy.whenAsked
    /// Whether commits have their times, in a store that is created: for good. Whoever sees the files then sees when each was made.
    public var keepsCommitTimes = false
    /// Where this device's secret is: keys that are always open, or used on this device only, need it.
    public var deviceSecret = DeviceSecret.standard
    /// What is told of the store's events: opened, recovered, compacted, damaged, slow, closed. It is called with one event after another, in
    /// order, on a thread of its own, with none of the store's locks held; it may use the store. `close()` returns when the last event
    /// was told. Where a thousand wait already, further ones are counted alone (``StoreCounters/untoldEvents``).
    public var observer: (@Sendable (StoreEvent) -> Void)?
    /// From how long on a sync that commits, or closing, wait for is an event (``StoreEvent/slowSync(_:)``).
    public var slowSync = Duration.seconds(1)
    /// How much work a guess of the password costs, as the exponent of scrypt's *N*, from 14 to 18. With less than 16 the password
    /// is cheap to guess for whoever has the files, and nothing warns of that here: only for tests.
    public var passwordWork: UInt8 = 17

    /// The options that most apps want.
    public init() {}

    func journal(telling events: EventTeller?) -> JournalOptions {
      var options = JournalOptions()
      if let events { options.tell = { events.tell(StoreEvent($0)) } }
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
      if case .leased = writing { options.isLeased = true }
      options.patience = patience
      return options
    }
  }

  /// Creates a store in a folder that is missing or empty.
  ///
  /// - Parameters:
  ///   - path: The folder's path; `.notelog` is the usual ending.
  ///   - credential: What unlocks the store from now on.
  ///   - options: Options.
  /// - Returns: The store, unlocked.
  /// - Throws: `alreadyExists`, `busy`, `inputOutput`, `full`; `invalidArgument` where the folder that it should lie in does not exist, or the
  ///   path is a file's.
  public static func create(
    at path: String, unlocking credential: Credential, options: Options = Options()
  ) throws -> Store {
    try create(in: try folder(path), unlocking: credential, options: options)
  }

  /// Creates a store with what belongs into it from the start: its collections, for instance.
  ///
  /// A crash, or an error, leaves a folder in which a store can be created, and no store; but records that the closure has committed before a
  /// crash are kept, and what there is by then is a store.
  ///
  /// - Parameters:
  ///   - path: The folder's path.
  ///   - credential: What unlocks it from now on.
  ///   - options: Options.
  ///   - body: Writes what belongs into the store, durably.
  /// - Returns: The store, unlocked.
  /// - Throws: `alreadyExists`, `busy`, `inputOutput`, `full`; what the closure throws.
  public static func create(
    at path: String, unlocking credential: Credential, options: Options = Options(),
    filling body: (Store) throws -> Void
  ) throws -> Store {
    try create(in: try folder(path), unlocking: credential, options: options, filling: body)
  }

  /// A store's folder; made, if it is missing.
  static func folder(_ path: String) throws(NotelogError) -> SystemStorage {
    let storage = SystemStorage(path: path)
    do { try storage.makeStoreFolder() } catch {
      if let fault = FolderPath.fault(of: path, error.errno) { throw fault }
      guard error.errno == SystemErrno.exists else {
        throw NotelogError(storage: error, "creating the folder").naming(path)
      }
    }
    return storage
  }

  /// Opens a store, unlocked with a credential, or locked where none is given.
  ///
  /// A locked store lists, sorts, updates and deletes by its plain fields, compacts, verifies and is backed up.
  ///
  /// - Parameters:
  ///   - path: The folder's path.
  ///   - credential: What unlocks it; nil leaves it locked.
  ///   - options: Options.
  /// - Returns: The store.
  /// - Throws: `notFound`, `invalidArgument` where the path is a file's, `busy`, `wrongPassword`, `tampered`, `unsupportedVersion`; `schemaConflict` where one of ``Options/recordTypes``
  ///   doesn't fit what is stored; `damaged` where records are lost and nothing
  ///   says which, unless the options accept that. Damage that is known record by record keeps no store from being opened:
  ///   ``Store/damage`` says what it is.
  public static func open(
    at path: String, unlocking credential: Credential? = nil, options: Options = Options()
  ) throws -> Store {
    let storage = SystemStorage(path: path)
    return try about(storage) { () throws(NotelogError) in
      try open(in: storage, unlocking: credential, options: options)
    }
  }

  /// Opens a store once more, with the keys that another opening of this process has: no password is asked for, and none worked on.
  ///
  /// For a second opening that only reads, as a snapshot for another part of the app, or a copy that was restored. Each opening locks its own keys:
  /// who locks one locks the other too, where that is meant.
  ///
  /// - Parameters:
  ///   - path: The folder's path.
  ///   - other: An opening of the store, or of a copy of it, which is unlocked.
  ///   - options: Options; ``Options/isReadOnly`` where the other writes.
  /// - Returns: The store, unlocked.
  /// - Throws: `locked` where the other is locked; `invalidArgument` where it is another store; what `open(at:unlocking:options:)` throws.
  public static func open(
    at path: String, sharingKeysOf other: Store, options: Options = Options()
  ) throws -> Store {
    let storage = SystemStorage(path: path)
    return try about(storage) { () throws(NotelogError) in
      try open(in: storage, options: options) { store throws(NotelogError) in
        try store.unlock(withKeysOf: other)
      }
    }
  }

  static func create(
    in storage: any Storage, unlocking credential: Credential, options: Options,
    filling body: (Store) throws -> Void = { _ in }
  ) throws -> Store {
    let creation = try Creation.begin(in: storage)
    do {
      let store = try about(storage) { () throws(NotelogError) in
        try make(in: storage, unlocking: credential, options: options)
      }
      do { try body(store) } catch {
        // The error that stopped it is the one to report.
        try? store.close()
        throw error
      }
      try creation.finish()
      return store
    } catch {
      creation.abandon()
      throw error
    }
  }

  /// Makes keyring and journal.
  private static func make(
    in storage: any Storage, unlocking credential: Credential, options: Options
  ) throws(NotelogError) -> Store {
    let place = "creating the store"
    try credential.refuseEmpty(place)
    let id = RecordID()
    let vault = try credential.withSecret(place) { secret throws(CryptoError) in
      try Keyring.create(
        storeID: id.bytes, credential: secret, work: WorkFactor(logN: options.passwordWork),
        outside: OutsideFiles(storage: storage, storeID: id.bytes, device: options.deviceSecret))
    }
    // The keyring first: without it, what the journal holds could never be opened.
    try KeyringFiles(storage: storage).replace(with: vault.keyring.bytes)
    let events = options.observer.map(EventTeller.init)
    let journal = try journaling(
      at: storage.path,
      Journal.create(in: storage, storeID: id.bytes, options: options.journal(telling: events)))
    let store = Store(
      journal: journal, storage: storage, vault: vault, finding: .bothSound,
      schemas: try SchemaCopies(of: journal, and: .missing), events: events)
    store.trustSchemas(true)
    store.beginFollowing()
    store.beginSharing(options)
    events?.tell(.opened(wasClosed: true))
    return store
  }

  static func open(
    in storage: any Storage, unlocking credential: Credential?, options: Options
  ) throws(NotelogError) -> Store {
    try open(in: storage, options: options) { store throws(NotelogError) in
      if let credential { try store.unlock(credential, "unlocking the store") }
    }
  }

  private static func open(
    in storage: any Storage, options: Options, unlock: (Store) throws(NotelogError) -> Void
  ) throws(NotelogError) -> Store {
    let isFinished = try Creation.refuseUnfinished(in: storage)
    let events = options.observer.map(EventTeller.init)
    let journal = try journaling(
      at: storage.path, Journal.open(in: storage, options: options.journal(telling: events)))
    do {
      let storeID = journal.storeID
      let keyrings = KeyringFiles(storage: storage)
      let choice =
        try options.isReadOnly ? keyrings.loadForReading(storeID: storeID) : keyrings.load(storeID: storeID)
      let vault = Vault(
        choice, outside: OutsideFiles(storage: storage, storeID: storeID, device: options.deviceSecret))
      // The log is read before the file, which is then never older.
      let file = SchemaFile(storage: storage)
      let schemas = try SchemaCopies(of: journal, and: file.read(of: storeID))
      let store = Store(
        journal: journal, storage: storage, vault: vault, finding: choice.finding,
        schemas: schemas, events: events)
      store.beginFollowing()
      try unlock(store)
      try store.compareSchemas(of: options.recordTypes)
      if schemas.mend(journal, file, of: storeID) { store.noteSchemas() }
      store.finishKeyring()
      if journal.holdsLock, !isFinished { Creation.noteFinished(in: storage) }
      store.beginSharing(options)
      events?.tell(.opened(wasClosed: journal.report.wasClosed))
      return store
    } catch {
      // The error that stopped the opening is the one to report.
      try? journal.close()
      throw error
    }
  }

  /// Makes everything durable and closes the store; what is asked of it afterwards throws `closed`, and so do sealed fields of entries that
  /// were read before. Their plain fields are in the entries, and stay readable.
  ///
  /// A store that is not closed is recovered when it is opened next.
  public func close() throws { try finish() }

  func finish() throws(NotelogError) {
    countSchemas()
    vault.lock(.everything)
    sharingThread.withLock { $0 }?.stop()
    let wasClosed = journal.isClosed
    defer {
      hub.close()
      if journal.isClosed {
        vault.close()
        if !wasClosed { events?.tell(.closed) }
        events?.waitUntilTold()
      }
    }
    try journaling(at: journal.path, journal.close())
  }
}
