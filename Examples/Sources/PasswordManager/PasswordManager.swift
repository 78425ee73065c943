// Register, check and delete secrets by identifier and group.

import Notelog

/// The secrets of one store. What was read is kept in memory until `purge`.
final class PasswordManager {
  private let store: Store
  private var cache: [String: String] = [:]

  /// Opens the store, or makes it.
  init(at path: String, password: String) throws {
    do {
      store = try Store.open(at: path, unlocking: .password(password))
    } catch let error as NotelogError where error.code == .notFound {
      store = try Store.create(at: path, unlocking: .password(password)) { store in
        for (_, type) in protections { try store.createKey(type.key, type.keyClass) }
      }
    }
  }

  /// Keeps a secret, in the place of the one that had the same identifier and group.
  func register<P: Protection>(
    _ secret: String, _ identifier: String, in group: String, as protection: P.Type, isMigratable: Bool
  ) throws {
    try delete(identifier, in: group)
    let entry = Entry<P>(isMigratable: isMigratable, group: group, identifier: identifier, secret: secret)
    try store.write { tx in try tx.put(entry) }
    cache[group + "\0" + identifier] = secret
  }

  /// Whether there is such a secret, and, where one is given, whether it is that.
  func check(_ secret: String?, _ identifier: String, in group: String) throws -> Bool {
    let known = try cache[group + "\0" + identifier] ?? read(identifier, in: group)
    guard let known else { return false }
    cache[group + "\0" + identifier] = known
    return secret == nil || secret == known
  }

  /// Forgets a secret.
  ///
  /// - Returns: Whether there was one.
  @discardableResult
  func delete(_ identifier: String, in group: String) throws -> Bool {
    cache[group + "\0" + identifier] = nil
    func delete<P: Protection>(_ type: P.Type) throws -> Int {
      try store.write { tx in
        try tx.deleteAll(
          Entry<P>.self, where: .field(\.group, is: group) && .field(\.identifier, is: identifier))
      }
    }
    return try protections.reduce(0) { try $0 + delete($1.type) } > 0
  }

  /// Empties the memory of what was read.
  func purge() { cache = [:] }

  /// Wipes the keys of secrets that are readable while unlocked only.
  func lock() {
    purge()
    store.lock()
  }

  /// Makes a new store with the secrets that may leave this one.
  ///
  /// - Returns: How many there are.
  func export(to path: String, password: String) throws -> Int {
    let target = try PasswordManager(at: path, password: password)
    func copy<P: Protection>(_ type: P.Type) throws -> Int {
      let entries = try store.query(Entry<P>.self).where(\.isMigratable, is: true).entries()
      try target.store.putAll(try entries.map { try $0.record() })
      return entries.count
    }
    let count = try protections.reduce(0) { try $0 + copy($1.type) }
    try target.close()
    return count
  }

  func close() throws { try store.close() }

  private func read(_ identifier: String, in group: String) throws -> String? {
    func find<P: Protection>(_ type: P.Type) throws -> String? {
      try store.query(Entry<P>.self)
        .where(.field(\.group, is: group) && .field(\.identifier, is: identifier)).first()?.secret
    }
    for (_, type) in protections { if let secret = try find(type) { return secret } }
    return nil
  }
}
