// Secrets by identifier and group, as a keychain has them, over a store.

import Notelog

/// What a secret is known by.
struct Name: Hashable {
  var group: String
  var identifier: String
}

/// A secret, sealed with all that says what it is for under the key that has its protection's name and class.
/// The protection alone is in the clear.
struct Entry: Record {
  var id = RecordID()
  var protection = KeyClass.whenUnlocked
  var group = ""
  var identifier = ""
  var secret = ""
  static let schema = Schema<Entry>("secret") {
    Plain("protection", \.protection, indexed: true)
    Sealed("group", \.group, padded: true).key(from: \.protection)
    Sealed("identifier", \.identifier, padded: true).key(from: \.protection)
    Sealed("secret", \.secret, padded: true).key(from: \.protection)
  }

  /// What has a name under a protection: entries under others stay sealed.
  static func named(_ name: Name, _ protection: KeyClass) -> QueryCondition<Entry> {
    .field(\.protection, is: protection) && .field(\.group, is: name.group)
      && .field(\.identifier, is: name.identifier)
  }
}

/// The secrets of one store, one object for all who use it.
@MainActor
final class PasswordManager {
  let store: Store
  /// What was read, to be had without opening it again.
  private var cache: [Name: String] = [:]

  /// The one instance, once it is opened.
  private(set) static var shared: PasswordManager?

  /// Opens the shared instance, locked; makes the store where there is none, with the password asked for.
  static func open(
    at path: String, deviceSecret: DeviceSecret = .standard, newPassword: () -> String
  ) throws -> PasswordManager {
    if let shared { return shared }
    var options = Store.Options()
    options.deviceSecret = deviceSecret
    let manager: PasswordManager
    do { manager = PasswordManager(try Store.open(at: path, options: options), options) } catch let error
      as NotelogError
      where error.code == .notFound
    { manager = try PasswordManager(creatingAt: path, password: newPassword(), options) }
    shared = manager
    return manager
  }

  private let options: Store.Options

  private init(_ store: Store, _ options: Store.Options) { (self.store, self.options) = (store, options) }

  private convenience init(creatingAt path: String, password: String, _ options: Store.Options) throws {
    let store = try Store.create(at: path, unlocking: .password(password), options: options) { store in
      for protection in KeyClass.allCases {
        try store.createKey(protection.rawValue, protection)
      }
    }
    self.init(store, options)
  }

  /// Keeps a secret, in the place of what had its name.
  func register(_ secret: String, as name: Name, _ protection: KeyClass) throws {
    let entry = Entry(
      protection: protection, group: name.group, identifier: name.identifier, secret: secret)
    try store.write { tx in
      _ = try Self.delete(name, &tx)
      try tx.put(entry)
    }
    cache[name] = secret
  }

  /// Whether a name's secret is this one; without one, whether there is any.
  func check(_ secret: String? = nil, of name: Name) throws -> Bool {
    guard let known = try self.secret(of: name) else { return false }
    return secret == nil || secret == known
  }

  /// Forgets a secret.
  ///
  /// - Returns: Whether there was one.
  func delete(_ name: Name) throws -> Bool {
    cache[name] = nil
    return try store.write { tx in try Self.delete(name, &tx) }
  }

  /// Empties the memory of what was read.
  func purge() { cache = [:] }

  /// Wipes the keys of what is there while unlocked only, and what was read.
  func lock() {
    purge()
    store.lock()
  }

  /// Copies what may leave this device into a new store.
  ///
  /// - Returns: How many secrets that are.
  func export(to path: String, password: String) throws -> Int {
    let target = try PasswordManager(creatingAt: path, password: password, options)
    let migratable = KeyClass.allCases.filter(\.isMigratable)
    let entries = try store.query(Entry.self).where(\.protection, in: migratable).entries()
    try target.store.putAll(try entries.map { try $0.record() })
    try target.store.close()
    return entries.count
  }

  /// Forgets what stayed on another device, and begins its protections anew on this one; until then nothing
  /// can be registered under them here.
  ///
  /// - Returns: How many secrets that were.
  func adopt() throws -> Int {
    let stayed = store.info().keys.filter { $0.state == .elsewhere }.compactMap(\.name)
    let protections = stayed.compactMap(KeyClass.init(rawValue:))
    let count = try store.write { tx in
      try tx.deleteAll(Entry.self, where: .field(\.protection, in: protections))
    }
    for key in stayed { try store.beginRotation(of: key) }
    return count
  }

  /// How many secrets there are under a protection: that is in the clear.
  func count(_ protection: KeyClass) throws -> Int {
    try store.query(Entry.self).where(\.protection, is: protection).count()
  }

  /// A name's secret. What is under a locked key, or another device's, is passed over if it is found under
  /// another.
  private func secret(of name: Name) throws -> String? {
    var refusal: (any Error)?
    for protection in KeyClass.allCases where cache[name] == nil {
      do {
        cache[name] = try store.query(Entry.self).where(Entry.named(name, protection)).first()?.secret
      } catch let error as NotelogError where error.code == .locked || error.code == .missingKey {
        refusal = error
      }
    }
    if cache[name] == nil, let refusal { throw refusal }
    return cache[name]
  }

  /// Deletes whatever has a name; where some is locked, that is thrown and nothing is deleted. What another
  /// device's key holds is let be.
  private static func delete(_ name: Name, _ tx: inout Transaction) throws -> Bool {
    var count = 0
    for protection in KeyClass.allCases {
      do { count += try tx.deleteAll(Entry.self, where: Entry.named(name, protection)) } catch let error
        as NotelogError
        where error.code == .missingKey && !protection.isMigratable
      { continue }
    }
    return count > 0
  }
}
