// Creating, opening and closing a store.

import NotelogCrypto
import NotelogJournal

extension Store {
  /// What may be chosen when a store is created or opened.
  public struct Options: Sendable {
    /// Whether nothing may be written; no lock is then taken.
    public var isReadOnly = false
    /// The size of a segment in bytes; chosen by what the store holds where nothing is said.
    public var segmentByteCount: Int?
    /// The most memory that blocks of the store's files are kept in, sealed as they are there.
    public var cacheByteCount = 64 << 20
    /// How much work a guess of the password costs, as the exponent of scrypt's *N*; less than 16 only in tests.
    public var passwordWork: UInt8 = 17

    /// The options that most apps want.
    public init() {}

    var journal: JournalOptions {
      var options = JournalOptions()
      options.isReadOnly = isReadOnly
      options.segmentByteCount = segmentByteCount
      options.cacheByteCount = cacheByteCount
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
  /// - Throws: `alreadyExists`, `inputOutput`, `full`.
  public static func create(
    at path: String, unlocking credential: Credential, options: Options = Options()
  ) throws(NotelogError) -> Store {
    let storage = SystemStorage(path: path)
    do { try storage.makeStoreFolder() } catch {
      guard error.errno == SystemErrno.exists else { throw NotelogError(storage: error, "creating \(path)") }
    }
    return try create(in: storage, unlocking: credential, options: options)
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
  /// - Throws: `notFound`, `busy`, `wrongPassword`, `tampered`, `damaged`, `unsupportedVersion`.
  public static func open(
    at path: String, unlocking credential: Credential? = nil, options: Options = Options()
  ) throws(NotelogError) -> Store {
    try open(in: SystemStorage(path: path), unlocking: credential, options: options)
  }

  static func create(
    in storage: any Storage, unlocking credential: Credential, options: Options
  ) throws(NotelogError) -> Store {
    let names: [String]
    do { names = try storage.names(in: "") } catch {
      throw NotelogError(storage: error, "reading the folder")
    }
    guard names.allSatisfy({ $0.hasSuffix(".partial") || $0.hasPrefix(".") }) else {
      throw NotelogError(.alreadyExists, "the folder is not empty: a store is created in one of its own")
    }
    let place = "creating the store"
    let nonces = try naming(place) { () throws(CryptoError) in try NonceSource() }
    let id = RecordID()
    let vault = try credential.withSecret(place) { secret throws(CryptoError) in
      try Keyring.create(
        storeID: id.bytes16, credential: secret, work: WorkFactor(logN: options.passwordWork), nonces: nonces)
    }
    // The keyring first: without it, what the journal holds could never be opened.
    try KeyringFiles(storage: storage).replace(with: vault.keyring.bytes)
    let journal = try journaling { () throws(JournalError) in
      try Journal.create(in: storage, storeID: id.key, options: options.journal)
    }
    let store = try Store(
      journal: journal, storage: storage, vault: vault, nonces: nonces, finding: .bothSound)
    try store.verifySchemas()
    return store
  }

  static func open(
    in storage: any Storage, unlocking credential: Credential?, options: Options
  ) throws(NotelogError) -> Store {
    let journal = try journaling { () throws(JournalError) in
      try Journal.open(in: storage, options: options.journal)
    }
    do {
      let storeID = Bytes16(low: journal.storeID.low, high: journal.storeID.high)
      let choice = try KeyringFiles(storage: storage).load(storeID: storeID)
      let nonces = try naming("opening the store") { () throws(CryptoError) in try NonceSource() }
      let vault = Vault(choice, nonces: nonces)
      let store = try Store(
        journal: journal, storage: storage, vault: vault, nonces: nonces, finding: choice.finding)
      if let credential { try store.unlock(credential) }
      return store
    } catch {
      // The error that stopped the opening is the one to report.
      try? journal.close()
      throw error
    }
  }

  /// Makes everything durable and closes the store; what is asked of it afterwards throws `closed`.
  ///
  /// A store that is not closed is recovered when it is opened next.
  public func close() throws(NotelogError) {
    vault.lock(.everything)
    defer { hub.close() }
    try journaling { () throws(JournalError) in try journal.close() }
  }
}

extension RecordID {
  /// The id as the journal takes it.
  var key: RecordKey { RecordKey(low: high.byteSwapped, high: low.byteSwapped) }

  init(_ key: RecordKey) { self.init(high: key.low.byteSwapped, low: key.high.byteSwapped) }
}
