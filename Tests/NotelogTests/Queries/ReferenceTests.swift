// Records that refer to others: none to one that is not there.

import Foundation
import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog

private struct Account: Record {
  var id = RecordID()
  var name = ""
  static let schema = Schema<Account>("account") { Sealed("name", \.name) }
}

/// Goes with its account.
private struct SignIn: Record {
  var id = RecordID()
  var account = RecordID()
  var user = ""
  static let schema = Schema<SignIn>("login") {
    Plain("account", \.account, indexed: true).referring(to: Account.self, whenDeleted: .cascade)
    Sealed("user", \.user)
  }
}

/// Goes with its login, or the comment that it is an answer to.
private struct Comment: Record {
  var id = RecordID()
  var login: RecordID?
  var comment: UUID?
  static let schema = Schema<Comment>("comment") {
    Plain("login", \.login, indexed: true).referring(to: SignIn.self, whenDeleted: .cascade)
    Plain("comment", \.comment, indexed: true).referring(to: Comment.self, whenDeleted: .cascade)
  }
}

/// Outlives its account.
private struct Photo: Record {
  var id = RecordID()
  var account: RecordID?
  var text = ""
  static let schema = Schema<Photo>("photo") {
    Plain("account", \.account, indexed: true).referring(to: Account.self, whenDeleted: .nullify)
    Sealed("text", \.text)
  }
}

/// Keeps its login.
private struct Bill: Record {
  var id = RecordID()
  var login = RecordID()
  static let schema = Schema<Bill>("bill") {
    Plain("login", \.login, indexed: true).referring(to: SignIn.self, whenDeleted: .refuse)
  }
}

/// What a store must hold, and does it by hand.
private struct ReferenceModel {
  var accounts: Set<RecordID> = []
  var logins: [RecordID: RecordID] = [:]
  var comments: [RecordID: (login: RecordID?, comment: RecordID?)] = [:]
  var photos: [RecordID: RecordID?] = [:]
  var bills: [RecordID: RecordID] = [:]

  /// Whether every record refers to one that is there, once what is to go with others has gone.
  mutating func settle(_ gone: Set<RecordID>) -> Bool {
    var gone = gone
    while true {
      let more =
        logins.filter { gone.contains($0.value) }.map(\.key)
        + comments.filter { [$0.value.login, $0.value.comment].contains { $0.map(gone.contains) == true } }
        .map(\.key)
      for id in more { (logins[id], comments[id]) = (nil, nil) }
      if more.isEmpty { break }
      gone.formUnion(more)
    }
    for (id, account) in photos where account.map(gone.contains) == true { photos[id] = .some(nil) }
    return logins.values.allSatisfy(accounts.contains) && bills.values.allSatisfy { logins[$0] != nil }
      && photos.values.allSatisfy { $0.map(accounts.contains) ?? true }
      && comments.values.allSatisfy {
        ($0.login.map { logins[$0] != nil } ?? true) && ($0.comment.map { comments[$0] != nil } ?? true)
      }
  }
}

@Suite struct ReferenceTests {
  private static func broken() -> NotelogError { NotelogError(.brokenReference, "") }

  @Test func `records refer to those that there are, whatever is written`() throws {
    var allRefused = 0
    for seed in TestEffort.seeds(30, of: 2_000, orOnly: "NOTELOG_REFERENCE_SEED") {
      var random = SeededGenerator(mixing: seed)
      let disk = SimulatedDisk()
      let key = TemporaryFolder.key
      var store = try Store.create(in: disk, unlocking: key, options: Store.Options())
      // Locked, no type is new.
      try store.write { tx in
        let (account, login) = (Account(), SignIn(account: RecordID()))
        try tx.put(account)
        try tx.put(SignIn(id: login.id, account: account.id))
        for id in [try tx.put(Comment()), try tx.put(Photo()), try tx.put(Bill(login: login.id))] {
          _ = try tx.delete(Comment.self, id) || tx.delete(Photo.self, id) || tx.delete(Bill.self, id)
        }
        try tx.delete(Account.self, account.id)
      }
      var model = ReferenceModel()
      var refused = 0
      func some(_ ids: some Collection<RecordID>) -> RecordID {
        ids.sorted().randomElement(using: &random) ?? RecordID()
      }
      for _ in 0..<40 {
        if random.oneIn(10) {
          try store.close()
          store = try Store.open(in: disk, unlocking: random.oneIn(3) ? nil : key, options: Store.Options())
        }
        var next = model
        var gone: Set<RecordID> = []
        let mayPut = store.isUnlocked
        func write(_ tx: inout Transaction) throws {
          for _ in 0..<random.pick(1..<6) {
            let id = RecordID(high: random.next(), low: random.next())
            // One that is not there now and then.
            let isWrong = random.oneIn(20)
            switch random.pick(mayPut ? 0..<10 : 6..<9) {
            case 0, 1:
              try tx.put(Account(id: id))
              next.accounts.insert(id)
            case 2:
              next.logins[id] = isWrong ? id : some(next.accounts)
              try tx.put(SignIn(id: id, account: next.logins[id]!, user: "user"))
            case 3:
              next.comments[id] = (
                random.oneIn(2) ? some(next.logins.keys) : nil,
                random.oneIn(2) ? some(next.comments.keys) : nil
              )
              try tx.put(
                Comment(id: id, login: next.comments[id]!.login, comment: next.comments[id]!.comment?.uuid))
            case 4:
              next.photos[id] = random.oneIn(3) ? .some(nil) : isWrong ? id : some(next.accounts)
              try tx.put(Photo(id: id, account: next.photos[id]!, text: "text"))
            case 5:
              next.bills[id] = some(next.logins.keys)
              try tx.put(Bill(id: id, login: next.bills[id]!))
            case 6:
              let id = some(next.accounts)
              if try tx.delete(Account.self, id) { gone.insert(id) }
              next.accounts.remove(id)
            case 7:
              let id = some(next.logins.keys)
              if try tx.delete(SignIn.self, id) { gone.insert(id) }
              next.logins[id] = nil
            case 8:
              let id = some(next.bills.keys)
              try tx.delete(Bill.self, id)
              next.bills[id] = nil
            default:
              let id = some(next.photos.keys)
              guard next.photos[id] != nil else { continue }
              next.photos[id] = some(next.accounts)
              try tx.update(Photo.self, id) { $0.set(\.account, next.photos[id]!) }
            }
          }
        }
        let isRight: Bool
        do {
          try store.write { tx in try write(&tx) }
          isRight = next.settle(gone)
          model = next
        } catch let error as NotelogError where error.code == .brokenReference {
          refused += 1
          isRight = !next.settle(gone)
        }
        #expect(isRight, "seed \(seed)")
        #expect(try Set(store.query(Account.self).entries().map(\.id)) == model.accounts)
        #expect(try Self.pairs(store.query(SignIn.self)) { try $0.account } == model.logins)
        #expect(try Self.pairs(store.query(Bill.self)) { try $0.login } == model.bills)
        #expect(try Self.pairs(store.query(Photo.self)) { try $0.account } == model.photos)
        #expect(
          try Set(store.query(Comment.self).entries().map(\.id)) == Set(model.comments.keys), "seed \(seed)")
        guard isRight else { return }
      }
      allRefused += refused
      if store.isUnlocked {
        for id in model.photos.keys { #expect(try store.get(Photo.self, id)?.text == "text") }
      }
      try store.close()
    }
    #expect(allRefused > 0)
  }

  private struct Renamed: Record {
    var id = RecordID()
    static let schema = Schema<Renamed>("customer", formerly: "user", "account") {
      Kept("name")
    }
  }

  private struct RenamedOnce: Record {
    var id = RecordID()
    static let schema = Schema<RenamedOnce>("user", formerly: "account") { Kept("name") }
  }

  /// The rule was kept under the name that the collection had in between.
  @Test func `a collection that is renamed twice is still referred to, and by no declaration without a type`()
    throws
  {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    struct Access: Record {
      var id = RecordID()
      var account = RecordID()
      var user = ""
      static let schema = Schema<Access>("login") {
        Plain("account", \.account, indexed: true).referring(to: RenamedOnce.self, whenDeleted: .cascade)
        Sealed("user", \.user)
      }
    }
    let account = Account(name: "bank")
    try store.write { tx in
      try tx.put(account)
      try tx.put(Access(account: account.id))
    }
    try store.write { tx in try tx.update(RenamedOnce.self, account.id) { _ in } }
    try store.write { tx in try tx.update(Renamed.self, account.id) { _ in } }
    // Fields are added, nothing is taken away.
    try store.createCollection(
      "login", fields: [.plain("account", .uuid, indexed: true), .plain("more", .text, optional: true)])
    #expect(throws: Self.broken()) {
      try store.collection("login").add(["account": .uuid(UUID()), "user": .text("u")])
    }
    try store.write { tx in try tx.delete(Renamed.self, account.id) }
    #expect(try store.collection("login").count == 0)
    try store.close()
  }

  /// A body of two bytes, with the checksum that fits.
  @Test func `a forged record is no word on what it referred to before`() throws {
    let store = try Store.create(
      in: SimulatedDisk(), unlocking: TemporaryFolder.key, options: Store.Options())
    let account = Account(name: "bank")
    let login = SignIn(account: account.id, user: "ada")
    try store.write { tx in
      try tx.put(account)
      try tx.put(login)
    }
    var buffer = ReadBuffer()
    let found = try #require(try store.journal.records.read(login.id.bytes, into: &buffer))
    for body: [UInt8] in [[255, 255], [], [UInt8](repeating: 255, count: 40)] {
      var batch = Batch()
      batch.put(login.id.bytes, collection: found.collection, bodyByteCount: body.count) {
        $0.copy(body.rawSpan, at: 0)
      }
      try store.journal.commit(&batch, .buffered)
      #expect(throws: Self.broken()) {
        try store.putAll([SignIn(id: login.id, account: RecordID(), user: "ada")])
      }
    }
    try store.putAll([login])
    try store.close()
  }

  private static func pairs<R: Record, Value>(
    _ query: Query<R>, _ value: (Entry<R>) throws -> Value
  ) throws -> [RecordID: Value] {
    Dictionary(uniqueKeysWithValues: try query.entries().map { ($0.id, try value($0)) })
  }

  @Test func `both are written in any order, by any way`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let account = Account(name: "bank")
    let login = SignIn(account: account.id, user: "ada")
    // The type that is referred to is not known yet.
    let error = #expect(throws: Self.broken()) { try store.write { tx in try tx.put(login) } }
    #expect(error?.record == login.id && error?.message.contains("login.account") == true)
    try store.write { tx in
      try tx.put(login)
      try tx.put(account)
    }
    #expect(throws: Self.broken()) { try store.putAll([SignIn(account: RecordID(), user: "bob")]) }
    #expect(throws: Self.broken()) { try store.putAll([SignIn(account: login.id, user: "bob")]) }
    try store.putAll([SignIn(account: account.id, user: "bob")])
    let logins = try store.collection("login")
    #expect(throws: Self.broken()) {
      try logins.add(["account": .uuid(UUID()), "user": .text("cleo")])
    }
    try logins.add(["account": .uuid(account.id.uuid), "user": .text("cleo")])
    #expect(throws: Self.broken()) { try logins.update(login.id, ["account": .uuid(UUID())]) }
    #expect(try store.query(SignIn.self).count() == 3)
    // In one transaction it goes and another comes.
    let other = Account(name: "shop")
    try store.write { tx in
      try tx.delete(Account.self, account.id)
      try tx.put(other)
      try tx.update(SignIn.self, login.id) { $0.set(\.account, other.id) }
    }
    #expect(try store.query(SignIn.self).entries().map(\.id) == [login.id])
    #expect(try store.collection("account").remove(other.id))
    #expect(try store.query(SignIn.self).count() == 0)
    let info = try #require(logins.fields.first { $0.name == "account" })
    #expect(info.target == "account" && info.deleteRule == .cascade)
    try store.close()
  }

  @Test func `many are deleted with what refers to them, and a refusal leaves all`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let accounts = (0..<3_000).map { Account(name: "\($0)") }
    let logins = accounts.map { SignIn(account: $0.id, user: "u") }
    let bill = Bill(login: logins[1_234].id)
    try store.putAll(accounts)
    try store.putAll(logins)
    try store.putAll(logins.map { Comment(login: $0.id) })
    try store.putAll([bill])
    let error = #expect(throws: Self.broken()) { try store.write { tx in try tx.deleteAll(Account.self) } }
    #expect(error?.record == bill.id)
    #expect(try store.query(Comment.self).count() == 3_000)
    store.lock()
    try store.write { tx in
      try tx.deleteAll(Account.self)
      try tx.delete(Bill.self, bill.id)
    }
    #expect(try store.query(SignIn.self).count() == 0 && store.query(Comment.self).count() == 0)
    try store.close()
  }

  /// The record that is referred to is lost with its segment's bytes.
  @Test func `what refers to something that was lost stays, and can be changed`() throws {
    let folder = try TemporaryFolder()
    let before = try folder.create()
    struct Free: Record {
      var id = RecordID()
      var account = RecordID()
      var user = ""
      static let schema = Schema<Free>("login") {
        Plain("account", \.account, indexed: true)
        Sealed("user", \.user)
      }
    }
    let lost = Free(account: RecordID(), user: "ada")
    try before.putAll([lost])
    try before.write { tx in try tx.update(SignIn.self, lost.id) { $0.set(\.user, "bob") } }
    #expect(throws: Self.broken()) {
      try before.write { tx in try tx.update(SignIn.self, lost.id) { $0.set(\.account, RecordID()) } }
    }
    #expect(try before.get(SignIn.self, lost.id)?.user == "bob")
    // The rule goes when a type declares the field without it.
    try before.write { tx in try tx.put(Free(account: RecordID())) }
    #expect(try before.query(SignIn.self).count() == 2)
    try before.close()
  }

  /// A rule was stored with the first write of its type. A type that nobody wrote after an update of the app was
  /// under its former rule, or none: what referred to a deleted record stayed, or went where it was to stay.
  @Test func `a rule that is new, or another, holds once its type is migrated`() throws {
    struct Before: Record {
      var id = RecordID()
      var account: RecordID?
      static let schema = Schema<Before>("photo") {
        Plain("account", \.account, indexed: true).referring(to: Account.self, whenDeleted: .cascade)
      }
    }
    struct Unbound: Record {
      var id = RecordID()
      var account = RecordID()
      static let schema = Schema<Unbound>("login") { Plain("account", \.account, indexed: true) }
    }
    let folder = try TemporaryFolder()
    let (account, photo) = (Account(name: "bank"), RecordID())
    let before = try folder.create()
    try before.write { tx in
      try tx.put(account)
      try tx.put(Before(id: photo, account: account.id))
      try tx.put(Unbound(account: account.id))
    }
    try before.close()
    let store = try folder.open()
    #expect(try store.migrate(SignIn.self).recordCount == 0 && store.migrate(Photo.self).recordCount == 0)
    let revision = store.info().nextRevision
    try store.migrate(Photo.self)
    #expect(store.info().nextRevision == revision)
    try store.write { tx in try tx.delete(Account.self, account.id) }
    #expect(try store.get(Photo.self, photo)?.account == .some(nil))
    #expect(try store.query(SignIn.self).count() == 0)
    try store.close()
  }

  @Test func `a schema that can't refer as it says is none`() {
    func mistake(_ field: FieldDescription, _ rule: DeleteRule, target: String = "account") -> String? {
      var field = field
      (field.target, field.deleteRule) = (target, rule)
      return CollectionDescription(name: "c", fields: [field]).mistake
    }
    let id = FieldDescription.plain("id", .uuid, indexed: true)
    #expect(mistake(id, .cascade) == nil && mistake(id, .refuse) == nil)
    #expect(mistake(.plain("id", .uuid, indexed: true, optional: true), .nullify) == nil)
    #expect(mistake(id, .nullify) != nil && mistake(id, .refuse, target: "") != nil)
    #expect(mistake(id, .refuse, target: "a\nb") != nil)
    #expect(mistake(.plain("id", .uuid), .refuse) != nil && mistake(.sealed("id", .uuid), .refuse) != nil)
    #expect(mistake(.plain("id", .text, indexed: true), .refuse) != nil)
  }

  @Test func `a record and those that refer to it are observed as one value`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let account = Account(name: "bank")
    _ = try await store.run { try $0.putAll([account]) }
    var updates = store.updates { moment in
      (
        try moment.get(Account.self, account.id)?.name,
        try moment.query(SignIn.self).where(\.account, is: account.id).count()
      )
    }.makeAsyncIterator()
    var value = try await updates.next()
    #expect(value?.0 == "bank" && value?.1 == 0)
    try await store.write { tx in
      try tx.put(SignIn(account: account.id, user: "ada"))
      try tx.put(Account(id: account.id, name: "shop"))
    }
    value = try await updates.next()
    #expect(value?.0 == "shop" && value?.1 == 1)
    try await store.write { tx in try tx.delete(Account.self, account.id) }
    value = try await updates.next()
    #expect(value?.0 == nil && value?.1 == 0)
    try await store.close()
    #expect(try await updates.next() == nil)
  }
}
