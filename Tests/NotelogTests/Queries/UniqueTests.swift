// What no two records share: refused when it is written, whoever writes it.

import Foundation
import NotelogTestSupport
import Testing

@testable import Notelog

private struct Account: Record {
  var id = RecordID()
  var email = ""
  var site = ""
  var user = 0
  var alias: String?
  var secret = ""
  static let schema = Schema<Account>("account") {
    Plain("email", \.email, indexed: true)
    Plain("site", \.site, indexed: true)
    Plain("user", \.user, indexed: true)
    Plain("alias", \.alias, indexed: true)
    Sealed("secret", \.secret)
    Unique(\.email)
    Unique(\.site, \.user)
    Unique(\.alias)
  }
}

private struct LooseAccount: Record {
  var id = RecordID()
  var email = ""
  static let schema = Schema<LooseAccount>("account") { Plain("email", \.email, indexed: true) }
}

private struct StrictAccount: Record {
  var id = RecordID()
  var email = ""
  static let schema = Schema<StrictAccount>("account") {
    Plain("email", \.email, indexed: true)
    Unique(\.email)
  }
}

@Suite struct UniqueTests {
  private static func account(_ number: Int) -> Account {
    Account(email: "somebody with a long name \(number)", site: "site \(number % 3)", user: number)
  }

  private func store(in folder: TemporaryFolder) throws -> (Store, [Account]) {
    let store = try folder.create()
    let accounts = (0..<20).map { Self.account($0) }
    try store.putAll(accounts)
    return (store, accounts)
  }

  @Test func `an empty batch writes nothing, whatever it would be checked for`() throws {
    let folder = try TemporaryFolder()
    let (store, _) = try store(in: folder)
    let (commits, revision) = (store.counters.commits, store.snapshot().revision)
    for durability in [Durability.durable, .flushed, .buffered] {
      var batch = try store.batch(of: Account.self)
      #expect(try batch.commit(durability) == revision)
    }
    #expect(store.counters.commits == commits && store.snapshot().revision == revision)
  }

  /// Runs `body`, which is refused, and returns whether the conflict names a record.
  private func isRefused(
    naming id: RecordID? = nil, _ body: () throws -> Void, location: SourceLocation = #_sourceLocation
  ) {
    do {
      try body()
      Issue.record("nothing was refused", sourceLocation: location)
    } catch let error as NotelogError {
      #expect(
        error.code == .notUnique && id.map { error.message.contains("\($0)") } ?? true, "\(error)",
        sourceLocation: location)
    } catch { Issue.record(error, sourceLocation: location) }
  }

  @Test func `a user is told that there is another one, and by which fields`() throws {
    let folder = try TemporaryFolder()
    let (store, accounts) = try store(in: folder)
    defer { try? store.close() }
    let error = #expect(throws: NotelogError(.notUnique, "")) {
      try store.write { tx in
        try tx.put(Account(email: "new", site: accounts[3].site, user: accounts[3].user))
      }
    }
    #expect(error?.localizedDescription == "There is another one with the same site and user.")
  }

  @Test func `a value that another record has is refused, and the record is named`() throws {
    let folder = try TemporaryFolder()
    let (store, accounts) = try store(in: folder)
    let other = Self.account(100)
    func put(_ change: (inout Account) -> Void) throws {
      var account = other
      change(&account)
      try store.write { tx in try tx.put(account) }
    }
    isRefused(naming: accounts[7].id) { try put { $0.email = accounts[7].email } }
    isRefused(naming: accounts[7].id) { try put { ($0.site, $0.user) = (accounts[7].site, 7) } }
    isRefused(naming: accounts[7].id) {
      try store.write { tx in
        try tx.update(Account.self, accounts[3].id) { $0.set(\.email, accounts[7].email) }
      }
    }
    isRefused(naming: accounts[7].id) { try store.putAll([Self.account(200), Self.account(7)]) }
    isRefused(naming: accounts[7].id) {
      try store.write { tx in
        let accounts = try store.collection("account")
        _ = try tx.put(in: accounts, RecordID(), ["email": .text("somebody with a long name 7")])
      }
    }
    #expect(try store.query(Account.self).count() == 20)
    // One of the two is no conflict, and neither are nil and one's own value.
    try put { ($0.site, $0.user) = ("site 9", 7) }
    try put { ($0.site, $0.user) = (accounts[7].site, 900) }
    try store.write { tx in try tx.put(accounts[7]) }
    try store.write { tx in try tx.update(Account.self, accounts[7].id) { $0.set(\.secret, "changed") } }
    try put { $0.alias = "alias" }
    let alias = try #require(try store.query(Account.self).where(\.alias, is: "alias").first()).id
    isRefused(naming: alias) {
      try store.write { tx in try tx.update(Account.self, accounts[2].id) { $0.set(\.alias, "alias") } }
    }
  }

  @Test func `a transaction is asked before its end, and may go on after a conflict`() throws {
    let folder = try TemporaryFolder()
    let (store, accounts) = try store(in: folder)
    var account = Self.account(100)
    account.email = accounts[7].email
    try store.write { tx in
      try tx.checkUnique()
      try tx.put(account)
      isRefused(naming: accounts[7].id) { try tx.checkUnique() }
      // As it was written, and not as it was: the record is still in the transaction.
      #expect(try tx.get(Account.self, account.id)?.email == accounts[7].email)
      isRefused(naming: accounts[7].id) { try tx.checkUnique() }
      try tx.update(Account.self, account.id) { $0.set(\.email, "free") }
      try tx.checkUnique()
      let other = Self.account(100)
      try tx.put(other)
      isRefused { try tx.checkUnique() }
      try tx.delete(Account.self, other.id)
      // What another record of the transaction gives up is free.
      try tx.update(Account.self, accounts[7].id) { $0.set(\.email, "given up") }
      try tx.update(Account.self, account.id) { $0.set(\.email, accounts[7].email) }
      try tx.checkUnique()
    }
    #expect(try store.get(Account.self, account.id)?.email == accounts[7].email)
    // Who doesn't ask is told at the end, and who asks and goes on all the same, too.
    isRefused {
      try store.write { tx in
        try tx.put(Self.account(3))
        isRefused { try tx.checkUnique() }
      }
    }
    #expect(try store.query(Account.self).count() == 21)
  }

  @Test func `a transaction is looked at as it is in the end`() throws {
    let folder = try TemporaryFolder()
    let (store, accounts) = try store(in: folder)
    // Two exchange their values, and a deleted record has none.
    try store.write { tx in
      try tx.update(Account.self, accounts[0].id) { $0.set(\.email, accounts[1].email) }
      try tx.update(Account.self, accounts[1].id) { $0.set(\.email, accounts[0].email) }
      try tx.delete(Account.self, accounts[2].id)
      var new = Self.account(300)
      new.email = accounts[2].email
      try tx.put(new)
      new.email = "another"
      try tx.put(new)
      var next = Self.account(301)
      next.email = accounts[2].email
      try tx.put(next)
    }
    #expect(try store.get(Account.self, accounts[0].id)?.email == accounts[1].email)
    isRefused { try store.putAll([Self.account(400), Self.account(401), Self.account(400)]) }
    isRefused {
      try store.write { tx in
        for _ in 0..<2 { try tx.put(Self.account(500)) }
      }
    }
    // All or nothing, and the store goes on.
    #expect(try store.query(Account.self).where(\.user, in: 400...).count() == 0)
    try store.putAll([Self.account(400), Self.account(500)])
  }

  @Test func `a batch that is refused is still there`() throws {
    let folder = try TemporaryFolder()
    let (store, accounts) = try store(in: folder)
    var batch = try store.batch(of: Account.self)
    try batch.put(Self.account(30))
    try batch.put(Self.account(7))
    do {
      try batch.commit()
      Issue.record("nothing was refused")
    } catch let error as NotelogError { #expect(error.code == .notUnique) }
    #expect(batch.count == 2)
    try store.write { tx in _ = try tx.delete(Account.self, accounts[7].id) }
    try batch.commit()
    #expect(try store.query(Account.self).count() == 21 && batch.count == 0)
  }

  @Test func `it holds in later openings, after a kill, in a restored backup and in another process' writes`()
    throws
  {
    let folder = try TemporaryFolder()
    var (store, accounts) = try store(in: folder)
    try store.close()
    store = try folder.open()
    isRefused(naming: accounts[7].id) { try store.putAll([Self.account(7)]) }
    let (backup, restored) = (try TemporaryFolder(), try TemporaryFolder())
    _ = try store.ship(to: backup.archive)
    _ = try Store.restore(from: backup.archive, to: restored.path)
    try store.close()
    let again = try restored.open()
    isRefused(naming: accounts[7].id) { try again.putAll([Self.account(7)]) }
    try again.close()
    // Two that take the lock in turn, with an index in each that was made before the other wrote.
    var options = Store.Options()
    options.writing = .leased(idle: .milliseconds(100))
    options.lockTimeout = .seconds(600)
    let one = try Store.open(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    isRefused { try one.putAll([Self.account(7)]) }
    let other = try Store.open(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    let new = Self.account(70)
    try other.putAll([new])
    isRefused(naming: new.id) { try one.putAll([Self.account(70)]) }
    try other.write { tx in _ = try tx.delete(Account.self, new.id) }
    try one.putAll([Self.account(70)])
    try one.close()
    try other.close()
  }

  @Test func `of many threads that write one value, one has it`() async throws {
    let folder = try TemporaryFolder()
    let (store, _) = try store(in: folder)
    let wins = await withTaskGroup(of: Int.self) { group in
      for thread in 0..<8 {
        group.addTask {
          var wins = 0
          for number in 0..<30 {
            var account = Self.account(1_000 + number)
            account.user = number * 8 + thread + 10_000
            do {
              if thread % 2 == 0 {
                try store.putAll([account], .flushed)
              } else {
                try store.write(.flushed) { [account] tx in _ = try tx.put(account) }
              }
              wins += 1
            } catch {}
          }
          return wins
        }
      }
      return await group.reduce(0, +)
    }
    #expect(wins == 30)
    #expect(
      try store.query(Account.self).where(\.email, hasPrefix: "somebody with a long name 10").count()
        == 31)
  }

  @Test func `random writes leave what a set would`() throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    var random = SeededGenerator(seed: 17)
    var held: [String: RecordID] = [:]
    var emails: [RecordID: String] = [:]
    for step in 0..<400 {
      let email = "an address of some length \(random.pick(0..<40))"
      let id =
        emails.isEmpty || random.oneIn(2)
        ? RecordID(high: random.next(), low: random.next())
        : emails.keys.sorted()[random.pick(0..<emails.count)]
      if random.oneIn(4) {
        try store.write { tx in _ = try tx.delete(StrictAccount.self, id) }
        if let old = emails.removeValue(forKey: id) { held[old] = nil }
        continue
      }
      let isFree = held[email] == nil || held[email] == id
      do {
        if step % 2 == 0 {
          try store.putAll([StrictAccount(id: id, email: email)])
        } else {
          try store.write { tx in _ = try tx.put(StrictAccount(id: id, email: email)) }
        }
        #expect(isFree, "step \(step)")
        if let old = emails.updateValue(email, forKey: id) { held[old] = nil }
        held[email] = id
      } catch let error as NotelogError {
        #expect(!isFree && error.code == .notUnique, "step \(step): \(error)")
      }
      if random.oneIn(40) {
        try store.close()
        store = try folder.open()
      }
    }
    #expect(try Set(store.query(StrictAccount.self).entries().map { try $0.email }) == Set(held.keys))
  }

  @Test func `a rule is for what is written from then on, and goes with its line of the schema`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll([LooseAccount(email: "a"), LooseAccount(email: "a"), LooseAccount(email: "b")])
    isRefused { try store.putAll([StrictAccount(email: "b")]) }
    try store.putAll([StrictAccount(email: "c")])
    // Tools that know no rules don't take them away.
    try store.createCollection("account", fields: [.plain("note", .text)])
    isRefused {
      try store.write { tx in
        _ = try tx.put(in: store.collection("account"), RecordID(), ["email": .text("c")])
      }
    }
    try store.putAll([LooseAccount(email: "c")])
    #expect(try store.query(LooseAccount.self).count() == 5)
  }

  @Test func `a rule on what is not indexed is a mistake, which is named`() async {
    await #expect(processExitsWith: .failure) {
      _ = Schema<Note>("note") {
        Plain("time", \.time)
        Unique(\.time)
      }
    }
    await #expect(processExitsWith: .failure) {
      _ = Schema<Note>("note") {
        Plain("time", \.time, indexed: true)
        Unique(\.title)
      }
    }
  }

  @Test func `a batch that was begun before there was a rule does not get around it`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var batch = try store.batch(of: LooseAccount.self)
    try batch.put(LooseAccount(email: "ada"))
    try store.putAll([StrictAccount(email: "ada")])
    do {
      try batch.commit()
      Issue.record("the rule was not kept to")
    } catch let error as NotelogError { #expect(error.code == .conflict) }
    batch.removeAll()
    try batch.put(LooseAccount(email: "eve"))
    try batch.commit()
    #expect(try store.query(StrictAccount.self).count() == 2)
  }
}
