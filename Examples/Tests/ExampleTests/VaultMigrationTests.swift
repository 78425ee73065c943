// The vault from each of its versions to the last one.

import Foundation
import Notelog
import Synchronization
import Testing

@testable import Vault

@Suite struct VaultMigrationTests {
  private static let count = 300
  private struct Killed: Error {}

  let bench: Bench
  init() throws { bench = try Bench() }

  /// Opens a store as today's app does.
  private func open() throws -> Store {
    try Store.openOrCreate(at: bench.path("my.vault"), unlocking: .key([UInt8](repeating: 7, count: 32)))
  }

  private typealias Row = (
    versions: ClosedRange<Int>, collection: String, field: FieldDescription, value: DynamicValue
  )

  /// What each version's fields were, and what is in them in the record of a number.
  private func rows(_ number: Int, _ version: Int, folder: UUID, account: UUID) -> [Row] {
    func texts(_ versions: ClosedRange<Int>, _ collection: String, _ values: [String: String]) -> [Row] {
      values.map { (versions, collection, .sealed($0.key, .text), .text($0.value)) }
    }
    func referring(_ to: String, _ rule: DeleteRule) -> FieldDescription {
      var field = FieldDescription.plain(to, .uuid, indexed: true, optional: true)
      (field.target, field.deleteRule) = (to, rule)
      return field
    }
    let host = "Host\(number % 100).example.org"
    let equality = FieldDescription.sealed("domain", .text, revealingEquality: true, ignoringCase: true)
    let login = version < 2 ? "login" : "account"
    let kind = number == 0 ? "card" : "note"
    let item = ["title": kind, "text": "words", "number": "4111 1111", "expiry": "07/29"]
    let all: [[Row]] = [
      texts(0...13, login, ["title": "Title \(number)", "password": "p"]),
      texts(0...1, login, ["user": "ada"]), texts(2...13, login, ["userName": "ada"]),
      texts(0...2, login, ["url": "https://\(host)/login"]), texts(3...6, login, ["domain": host]),
      texts(1...13, login, ["notes": ""]), texts(0...3, "item", item),
      texts(4...13, "card", ["title": "card"]), texts(4...8, "card", ["expiry": "07/29"]),
      texts(4...11, "card", ["number": "4111 1111"]), texts(12...13, "card", ["number": "41111111"]),
      texts(4...13, "note", ["title": "note", "text": "words"]),
      texts(8...13, "folder", ["name": "Personal"]),
      texts(10...13, "formerPassword", ["password": "old"]),
      [login, "card", "note"].map { (8...13, $0, referring("folder", .cascade), .uuid(folder)) },
      [login, "card", "note"].map {
        (11...13, "syncState", referring($0, version < 13 ? .cascade : .nullify), .missing)
      },
      [
        (0...13, login, .plain("created", .date, indexed: true), .date(.now)),
        (0...3, "item", .plain("kind", .text), .text(kind)),
        (5...13, login, .plain("lastUsed", .date, optional: true), .missing),
        (6...13, login, .plain("isFavourite", .boolean, indexed: true), .boolean(false)),
        (7...13, login, equality, .text(host)), (9...13, "card", .sealed("month", .integer), .integer(7)),
        (9...13, "card", .sealed("year", .integer), .integer(2029)),
        (10...13, "formerPassword", .plain("account", .uuid, indexed: true), .uuid(account)),
        (11...13, "syncState", .plain("changed", .date, indexed: true), .date(.now)),
        (11...13, "syncState", .plain("isSent", .boolean, indexed: true), .boolean(false)),
      ],
    ]
    return all.joined().filter { $0.versions.contains(version) }
  }

  /// Makes a store as a version of the app left it: its fields, its records, and the names of the changes that
  /// it has gone through.
  private func fill(_ store: Store, version: Int) throws {
    let (folder, account) = (RecordID(), RecordID())
    func records(_ number: Int) -> [String: [Row]] {
      let rows = rows(number, version, folder: folder.uuid, account: account.uuid)
      return Dictionary(grouping: rows, by: \.collection)
    }
    try store.createCollections(records(0).map { (name: $0.key, fields: $0.value.map(\.field)) })
    try store.write { tx in
      for number in 0..<Self.count {
        for (name, rows) in records(number) where name != "syncState" {
          let isOne = number == 0 || ["login", "account"].contains(name) || name == "item" && number == 1
          guard isOne else { continue }
          let id = number > 0 ? RecordID() : ["folder": folder, "account": account][name] ?? RecordID()
          let values = rows.map { ($0.field.name, $0.value) }
          try tx.put(in: store.collection(name), id, Dictionary(uniqueKeysWithValues: values))
          guard version >= 11, ["account", "card", "note"].contains(name) else { continue }
          let state: [String: DynamicValue] = ["changed": .date(.now), "isSent": .boolean(false)]
          try tx.put(
            in: store.collection("syncState"), SyncState.id(of: id),
            state.merging([name: .uuid(id.uuid)]) { $1 })
        }
      }
    }
    try store.migrate(Self.changes.filter { $0.version <= version }.map { Migration($0.name) { _ in } })
  }

  private static let changes = Vault.changes.map {
    (version: Int($0.name.prefix { $0.isNumber }) ?? 0, name: $0.name)
  }

  /// What there has to be, whatever version it was made by.
  private func check(_ store: Store, version: Int) throws {
    let vault = try Vault(store)
    #expect(try store.query(Account.self).count() == Self.count)
    let found = try vault.accounts(at: "host17.example.org").map { try $0.record() }
    #expect(Set(found.map(\.title)) == ["Title 17", "Title 117", "Title 217"])
    #expect(found.allSatisfy { $0.userName == "ada" && $0.domain == "Host17.example.org" })
    let cards = try store.query(Card.self).entries().map { try $0.record() }
    #expect(
      cards.map { [$0.title, $0.number, "\($0.month)/\($0.year)"] } == [["card", "41111111", "7/2029"]])
    #expect(try store.query(Note.self).entries().map { try $0.text } == ["words"])
    #expect(
      try store.query(FormerPassword.self).entries().map { try $0.password } == (version < 10 ? [] : ["old"]))
    #expect(try vault.unsent().count == Self.count + 2)
    let folders = try store.query(Folder.self).entries()
    #expect(try folders.map { try $0.name } == ["Personal"])
    // The rule of the last version holds.
    try vault.deleteFolder(folders[0].id)
    let gone = try vault.unsent()
    #expect(gone.count == Self.count + 2 && gone.allSatisfy(\.isGone))
    #expect(try store.query(FormerPassword.self).count() == 0)
  }

  @Test(arguments: 0...13) func `each version's store becomes the last one's`(version: Int) throws {
    let store = try Store.inMemory()
    try fill(store, version: version)
    try check(store, version: version)
    #expect(try store.migrate(Vault.changes).recordCount == 0)
  }

  @Test(arguments: 0...13) func `interrupted after each change, and in the middle of one, it goes on`(
    version: Int
  ) throws {
    try fill(open(), version: version)
    for (index, change) in Vault.changes.enumerated() {
      let rest = Array(Vault.changes[..<index])
      let calls = Mutex(0)
      let killed = Migration(change.name, of: Account.self) { account in
        if calls.withLock({
          $0 += 1; return $0 > 280
        }) {
          throw Killed()
        }
        account.set(\.domain, try account.domain)
      }
      let isDue = Self.changes[index].version > version && change.name.hasPrefix("7")
      // Each time, the process ends, and another one opens the store.
      if isDue { #expect(throws: Killed.self) { try Vault.migrate(open(), rest + [killed]) } }
      let summary = try Vault.migrate(open(), rest + [change])
      if isDue { #expect(summary.recordCount == Self.count - 256) }
    }
    let vault = try Vault(open())
    let before = vault.store.metrics.fieldsOpened
    #expect(try vault.accounts(at: "host17.example.org").count == 3)
    #expect(vault.store.metrics.fieldsOpened - before == 3)
    try check(vault.store, version: version)
  }
}
