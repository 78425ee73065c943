// Everything that the vault asks of its store.

import Foundation
import Notelog

struct Vault: Sendable {
  static let types: [any Record.Type] = [
    Folder.self, Account.self, FormerPassword.self, Card.self, Note.self, SyncState.self,
  ]

  let store: Store

  /// Takes a store that is open and unlocked, and brings it up to date.
  init(_ store: Store) throws {
    self.store = store
    try Self.migrate(store)
  }

  /// Opens the vault, or makes one.
  init(at path: String, password: String) throws {
    var options = Store.Options()
    options.recordTypes = Self.types
    // Another process may write, too: each has the lock for as long as it does.
    options.writing = .leased(idle: .milliseconds(20))
    options.lockTimeout = .seconds(5)
    try self.init(Store.openOrCreate(at: path, unlocking: .password(password), options: options))
  }

  // MARK: - Reading

  /// The accounts of a domain: those are opened, and no others.
  func accounts(at domain: String) throws -> [Entry<Account>] {
    try store.query(Account.self).where(\.domain, is: domain, ignoringCase: true).entries()
  }

  /// The accounts whose titles have a text in them, whatever its case and accents; all without one.
  func accounts(titled text: String = "") throws -> [Entry<Account>] {
    let all = store.query(Account.self).sorted(by: \.title)
    return try (text.isEmpty ? all : all.where(\.title, contains: text, ignoringCaseAndAccents: true))
      .entries()
  }

  /// An account with what is shown beside it, now and after each change. While the vault is locked it throws,
  /// and goes on.
  func pages(of id: RecordID) -> some AsyncSequence<AccountPage?, any Error> & Sendable {
    store.updates { moment in try AccountPage(of: id, in: moment) }
  }

  // MARK: - Writing

  /// Keeps an item, and tells the server later. The password that an account had stays.
  func save<I: Item>(_ item: I) throws {
    try store.write { tx in
      if let new = item as? Account, let old = try tx.get(Account.self, new.id) {
        let password = try old.password
        if password != new.password {
          try tx.put(FormerPassword(account: new.id, until: Date(), password: password))
        }
      }
      try tx.put(item)
      try tx.touch(I.self, item.id)
    }
  }

  /// Makes a folder, or finds the one of a name.
  func folder(named name: String) throws -> RecordID {
    try store.write { tx in
      try tx.query(Folder.self).where(\.name, is: name).first()?.id ?? tx.put(Folder(name: name))
    }
  }

  /// Deletes a folder and all that is in it. It works while the vault is locked, as any deletion does.
  func deleteFolder(_ id: RecordID) throws { try store.write { tx in try tx.delete(Folder.self, id) } }

  // MARK: - Synchronizing

  /// What the server has to be told.
  func unsent() throws -> [SyncState] {
    try store.query(SyncState.self).where(SyncState.unsent).sorted(by: \.changed).entries().map {
      try $0.record()
    }
  }

  /// Notes that the server was told; what has changed or gone meanwhile is told once more.
  func markSent(_ states: [SyncState]) throws {
    try store.write { tx in
      for state in states where try tx.get(SyncState.self, state.id)?.record() == state {
        if state.isGone {
          try tx.delete(SyncState.self, state.id)
        } else {
          try tx.update(SyncState.self, state.id) { $0.set(\.isSent, true) }
        }
      }
    }
  }
}

extension Transaction {
  /// Has an item sent.
  mutating func touch<I: Item>(_ type: I.Type, _ id: RecordID) throws {
    var state = SyncState(id: try SyncState.id(of: id), changed: Date())
    state[keyPath: I.statePath] = id
    try put(state)
  }
}

/// An account and what is shown beside it, of one moment.
struct AccountPage: Sendable, Equatable {
  var title: String
  var userName: String
  var folder: String?
  var formerPasswords: [String]
  var isSent: Bool

  /// Reads from a store, a snapshot or a transaction; nil where the account is gone.
  init?(of id: RecordID, in source: borrowing some RecordSource & ~Copyable) throws {
    guard let account = try source.get(Account.self, id) else { return nil }
    (title, userName) = (try account.title, try account.userName)
    folder = try account.folder.flatMap { try source.get(Folder.self, $0)?.name }
    let former = try source.query(FormerPassword.self).where(\.account, is: id).sorted(
      by: \.until, .descending)
    formerPasswords = try former.entries().map { try $0.password }
    isSent = try source.get(SyncState.self, SyncState.id(of: id))?.isSent ?? false
  }
}
