// Creating, opening and closing a store.

import NotelogStorage
import NotelogBase
import NotelogCrypto

extension Store {
  /// Creates a store in a folder that is missing or empty, with what belongs into it from the start: its
  /// collections, for instance.
  ///
  /// A crash, or an error, leaves a folder in which a store can be created, and no store; but records that
  /// the closure has committed before a crash are kept, and what there is by then is a store.
  ///
  /// - Parameters:
  ///   - path: The folder's path; `.notelog` is the usual ending.
  ///   - credential: What unlocks the store from now on.
  ///   - options: Options.
  ///   - body: Writes what belongs into the store, durably.
  /// - Returns: The store, unlocked.
  /// - Throws: `alreadyExists`, `busy`, `inputOutput`, `full`; `invalidArgument` where the folder that it
  ///   should lie in does not exist, or the path is a file's; what the closure throws.
  public static func create(
    at path: String, unlocking credential: Credential, options: Options = Options(),
    filling body: (Store) throws -> Void = { _ in }
  ) throws -> Store {
    try create(in: try folder(path), unlocking: credential, options: options, filling: body)
  }

  /// A store's folder; made, if it is missing.
  static func folder(_ path: String) throws(NotelogError) -> SystemStorage {
    let storage = SystemStorage(path: path)
    do { try storage.makeStoreFolder() } catch {
      if let fault = FolderPath.fault(of: path, error.errno) { throw fault }
      guard error.errno == SystemErrno.exists else {
        throw NotelogError(error, "creating the folder").naming(path)
      }
    }
    return storage
  }

  /// A folder that is there.
  static func present(_ path: String) throws(NotelogError) -> SystemStorage {
    let storage = SystemStorage(path: path)
    do { _ = try storage.names(in: "") } catch {
      guard error.errno == SystemErrno.notFound else {
        throw NotelogError(error, "reading the folder").naming(path)
      }
      throw NotelogError(.notFound, "there is no such folder").naming(path)
    }
    return storage
  }

  /// Opens a store, unlocked with a credential, or locked where none is given.
  ///
  /// A locked store lists, sorts, updates and deletes by its plain fields, compacts, verifies and is backed
  /// up.
  ///
  /// - Parameters:
  ///   - path: The folder's path.
  ///   - credential: What unlocks it; nil leaves it locked.
  ///   - options: Options.
  /// - Returns: The store.
  /// - Throws: `notFound`, `invalidArgument` where the path is a file's, `busy`, `wrongPassword`, `tampered`,
  ///   `unsupportedVersion`; `schemaConflict` where one of ``Options/recordTypes`` doesn't fit what is
  ///   stored; `damaged` where records are lost and nothing says which, unless the options accept that.
  ///   Damage that is known record by record keeps no store from being opened: ``Store/damage`` says what it
  ///   is.
  public static func open(
    at path: String, unlocking credential: Credential? = nil, options: Options = Options()
  ) throws -> Store {
    let storage = SystemStorage(path: path)
    return try about(storage, open(in: storage, unlocking: credential, options: options))
  }

  /// Opens a store, or creates it where there is none, with what belongs into it from the start.
  ///
  /// Of several processes that do so at once, one creates the store. The others wait for it as long as
  /// ``Store/Options/lockTimeout`` says, or throw `busy`, and open it. With `isReadOnly` none is created. A store
  /// is created where `create` does so, and nowhere else: never in the place of a damaged one, nor beside other
  /// files.
  ///
  /// - Parameters:
  ///   - path: The folder's path; `.notelog` is the usual ending.
  ///   - credential: What unlocks the store, also from now on where it is created.
  ///   - options: Options.
  ///   - body: Writes what belongs into a store that was created, durably. It isn't called where one is
  ///     opened.
  /// - Returns: The store, unlocked.
  /// - Throws: What `open` throws, and `create`: `alreadyExists` where the folder holds something else, or
  ///   what is left of a store.
  public static func openOrCreate(
    at path: String, unlocking credential: Credential, options: Options = Options(),
    filling body: (Store) throws -> Void = { _ in }
  ) throws -> Store {
    if options.isReadOnly { return try open(at: path, unlocking: credential, options: options) }
    let storage = SystemStorage(path: path)
    // Where the folder is there, nobody needs the one above it.
    if (try? storage.names(in: "")) == nil { _ = try folder(path) }
    return try create(
      in: storage, unlocking: credential, options: options, opensExisting: true, filling: body)
  }

  static func create(
    in storage: any Storage, unlocking credential: Credential, options: Options,
    opensExisting: Bool = false, filling body: (Store) throws -> Void = { _ in }
  ) throws -> Store {
    let creation: Creation
    do throws(NotelogError) {
      creation = try about(storage, Creation.begin(in: storage, waiting: options.lockTimeout))
    } catch {
      guard opensExisting, error.code == .alreadyExists else { throw error }
      do throws(NotelogError) {
        return try about(storage, open(in: storage, unlocking: credential, options: options))
      } catch let failure { throw failure.code == .notFound ? error : failure }
    }
    do {
      let store = try about(storage, make(in: storage, unlocking: credential, options: options))
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

  /// Creates a store that is in memory alone: for previews and for tests.
  ///
  /// It is a store as any other, down to its sealed bytes, but nothing of it is on a disk. It is gone when the
  /// last reference to it goes; snapshots, queries and observers have one. A backup of it is a folder, as of
  /// every store.
  ///
  /// - Parameters:
  ///   - credential: What unlocks the store; nil for a random key, which nobody has: once it is locked, only
  ///     its ``Store/unlockRoot()`` from before unlocks it.
  ///   - options: Options. There is no other process to share the store with, and unless one is given, the
  ///     device's secret is a random one in memory, too.
  /// - Returns: The store, unlocked.
  /// - Throws: `invalidArgument` for a credential that is none.
  public static func inMemory(
    unlocking credential: Credential? = nil, options: Options = Options()
  ) throws -> Store {
    func random() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: .min ... .max) } }
    var options = options
    (options.writing, options.followsOtherProcesses) = (.held, false)
    let secret = random()
    if case .standard = options.deviceSecret { options.deviceSecret = .kept { _ in secret } }
    return try create(in: MemoryStorage(), unlocking: credential ?? .key(random()), options: options)
  }

  /// Makes keyring and journal.
  private static func make(
    in storage: any Storage, unlocking credential: Credential, options: Options
  ) throws(NotelogError) -> Store {
    let place = "creating the store"
    try credential.refuseEmpty(place)
    let id = RecordID()
    let secret = try credential.secret(place)
    let vault = try naming(
      place,
      Keyring.create(
        storeID: id.bytes, credential: secret, work: options.passwordWork,
        outside: OutsideFiles(storage: storage, storeID: id.bytes, device: options.deviceSecret)))
    // The keyring first: without it, what the journal holds could never be opened.
    try KeyringFiles(storage: storage).replace(with: vault.keyring.bytes)
    let events = options.observer.map(EventTeller.init)
    let journal = try Journal.create(
      in: storage, storeID: id.bytes, options: options.journal(telling: events))
    let store = Store(
      journal: journal, storage: storage, vault: vault, finding: TwinFinding(),
      schemas: try SchemaCopies(of: journal, and: SchemaFile(storage: storage)), events: events)
    store.trustSchemas(true)
    if options.keepsEvidence { try store.makeEvidence() }
    store.beginFollowing()
    store.beginSharing(options)
    events?.tell(.opened(wasClosed: true))
    return store
  }

  static func open(
    in storage: any Storage, unlocking credential: Credential?, options: Options
  ) throws(NotelogError) -> Store {
    let isFinished = try Creation.refuseUnfinished(in: storage)
    let events = options.observer.map(EventTeller.init)
    let journal = try Journal.open(in: storage, options: options.journal(telling: events))
    do {
      let storeID = journal.storeID
      let found = try KeyringFiles(storage: storage).load(of: storeID, forReading: options.isReadOnly)
      let vault = Vault(
        found.keyring, other: found.other,
        outside: OutsideFiles(storage: storage, storeID: storeID, device: options.deviceSecret))
      let file = SchemaFile(storage: storage)
      let schemas = try SchemaCopies(of: journal, and: file, vault)
      let store = Store(
        journal: journal, storage: storage, vault: vault, finding: found.finding,
        schemas: schemas, head: options.head, events: events)
      store.beginFollowing()
      if let credential { try store.unlock(credential, "unlocking the store") }
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

  /// Makes everything durable and closes the store; what is asked of it afterwards throws `closed`, and so do
  /// sealed fields of entries that were read before. Their plain fields are in the entries, and stay
  /// readable.
  ///
  /// A store that is not closed is recovered when it is opened next.
  public func close() throws { try finish() }

  func finish() throws(NotelogError) {
    countSchemas()
    vault.lock(everything: true)
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
    try journal.close()
  }
}
