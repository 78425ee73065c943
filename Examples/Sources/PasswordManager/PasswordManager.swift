// Secrets by identifier and group, as a keychain has them, over a store.

import Notelog

/// What a secret is known by.
struct Name: Hashable {
  var group: String
  var identifier: String
}

/// A secret under one protection: how many there are under each is in the clear, and nothing else.
struct Entry<P: Protection>: Record {
  var id = RecordID()
  var group = ""
  var identifier = ""
  var secret = ""
  static var schema: Schema<Entry> {
    Schema(P.name) {
      Sealed("group", \.group, key: P.name, padded: true)
      Sealed("identifier", \.identifier, key: P.name, padded: true)
      Sealed("secret", \.secret, key: P.name, padded: true)
    }
  }

  static func named(_ name: Name) -> QueryCondition<Entry> {
    .field(\.group, is: name.group) && .field(\.identifier, is: name.identifier)
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
      for protection in protections { try store.createKey(protection.name, protection.keyClass) }
    }
    self.init(store, options)
  }

  /// Keeps a secret, in the place of what had its name.
  func register<P: Protection>(_ secret: String, as name: Name, _: P.Type) throws {
    let entry = Entry<P>(group: name.group, identifier: name.identifier, secret: secret)
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
    func copy<P: Protection>(_: P.Type) throws -> Int {
      let entries = try store.query(Entry<P>.self).entries()
      try target.store.putAll(try entries.map { try $0.record() })
      return entries.count
    }
    let count = try protections.filter { $0.isMigratable }.reduce(0) { try $0 + copy($1) }
    try target.store.close()
    return count
  }

  /// Forgets what stayed on another device, and begins its protections anew on this one; until then nothing can be registered under them here.
  ///
  /// - Returns: How many secrets that were.
  func adopt() throws -> Int {
    let stayed = store.info.keys.filter { $0.state == .elsewhere }.compactMap(\.name)
    func forget<P: Protection>(_: P.Type) throws -> Int {
      let ids = try store.query(Entry<P>.self).entries().map(\.id)
      try store.write { tx in for id in ids { try tx.delete(Entry<P>.self, id) } }
      try store.beginRotation(of: P.name)
      return ids.count
    }
    return try protections.filter { stayed.contains($0.name) }.reduce(0) { try $0 + forget($1) }
  }

  /// How many secrets there are under a protection: that is in the clear.
  func count<P: Protection>(_: P.Type) throws -> Int { try store.query(Entry<P>.self).count() }

  /// A name's secret. What is under a locked key, or another device's, is passed over if it is found under another.
  private func secret(of name: Name) throws -> String? {
    if let known = cache[name] { return known }
    func find<P: Protection>(_: P.Type) throws -> String? {
      try store.query(Entry<P>.self).where(Entry<P>.named(name)).first()?.secret
    }
    var refusal: (any Error)?
    for protection in protections {
      do { cache[name] = try cache[name] ?? find(protection) } catch let error as NotelogError
        where error.code == .locked || error.code == .missingKey
      { refusal = error }
    }
    if cache[name] == nil, let refusal { throw refusal }
    return cache[name]
  }

  /// Deletes whatever has a name; where some is locked, that is thrown and nothing is deleted. What another device's key holds is let be.
  private static func delete(_ name: Name, _ tx: inout Transaction) throws -> Bool {
    func delete<P: Protection>(_: P.Type, _ tx: inout Transaction) throws -> Int {
      do { return try tx.deleteAll(Entry<P>.self, where: Entry<P>.named(name)) } catch let error
        as NotelogError
        where error.code == .missingKey && !P.isMigratable
      { return 0 }
    }
    return try protections.reduce(0) { try $0 + delete($1, &tx) } > 0
  }
}
