// Sealed values that several records may share: found by digests, with their case or without (FORMAT.md 11.3).

import Foundation
@testable import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Testing

private let locked = NotelogError(.locked, "")

/// What a vault keeps: many of a domain.
private struct VaultLogin: Record, Equatable {
  var id = RecordID()
  var domain = ""
  var user: String?
  var note = ""
  static let schema = Schema<VaultLogin>("login") {
    Sealed("domain", \.domain, key: "vault", padded: true).revealingEquality()
    Sealed("user", \.user, key: "vault").revealingEquality(ignoringCase: true)
    Plain("note", \.note)
  }
}

/// The same, with the choices exchanged.
private struct FoldedLogin: Record {
  var id = RecordID()
  var domain = ""
  var user: String?
  var note = ""
  static let schema = Schema<FoldedLogin>("login") {
    Sealed("domain", \.domain, key: "vault", padded: true).revealingEquality(ignoringCase: true)
    Sealed("user", \.user, key: "vault").revealingEquality()
    Plain("note", \.note)
  }
}

/// The same, revealing nothing.
private struct LooseLogin: Record {
  var id = RecordID()
  var domain = ""
  var user: String?
  static let schema = Schema<LooseLogin>("login") {
    Sealed("domain", \.domain, key: "vault", padded: true)
    Sealed("user", \.user, key: "vault")
  }
}

/// What is in the clear.
private struct LoginNote: Record {
  var id = RecordID()
  var note = ""
  static let schema = Schema<LoginNote>("login") { Plain("note", \.note) }
}

/// In the clear, with an index and without.
private struct PlainLogin: Record {
  var id = RecordID()
  var domain = ""
  var user: String?
  static let schema = Schema<PlainLogin>("plain") {
    Plain("domain", \.domain, indexed: true)
    Plain("user", \.user)
  }
}

@Suite struct EqualityTests {
  /// Fifty logins of ten domains, and a hundred of one.
  private func store(_ folder: TemporaryFolder) throws -> (Store, [VaultLogin]) {
    let store = try folder.create()
    let logins = (0..<150).map { number in
      VaultLogin(
        domain: number < 50 ? "\(number % 10).example.org" : "example.com",
        user: number % 3 == 0 ? nil : "Somebody \(number % 4)")
    }
    try store.putAll(logins)
    return (store, logins)
  }

  /// Asks, and compares what is found, and how many fields are opened for it.
  private func ask<R>(
    _ store: Store, _ query: Query<R>, opens count: Int, finds expected: [RecordID],
    location: SourceLocation = #_sourceLocation
  ) throws {
    let before = store.metrics.fieldsOpened
    #expect(try query.search().ids().sorted() == expected.sorted(), sourceLocation: location)
    #expect(store.metrics.fieldsOpened - before == count, sourceLocation: location)
  }

  private func ids(_ logins: [VaultLogin], _ holds: (VaultLogin) -> Bool) -> [RecordID] {
    logins.filter(holds).map(\.id)
  }

  @Test func `all records that share a value are found, and no other is opened`() throws {
    let folder = try TemporaryFolder()
    var (store, logins) = try store(folder)
    for isAgain in [false, true] {
      let query = store.query(VaultLogin.self)
      func of(_ domain: String) -> [RecordID] { ids(logins) { $0.domain == domain } }
      try ask(store, query.where(\.domain, is: "3.example.org"), opens: 5, finds: of("3.example.org"))
      // However many there are.
      try ask(store, query.where(\.domain, is: "example.com"), opens: 100, finds: of("example.com"))
      try ask(store, query.where(\.domain, is: "nowhere"), opens: 0, finds: [])
      try ask(store, query.where(\.domain, is: "EXAMPLE.COM"), opens: 0, finds: [])
      let several = ["1.example.org", "2.example.org", "nowhere"]
      try ask(
        store, query.where(\.domain, in: several), opens: 10, finds: several.flatMap(of))
      try ask(
        store, query.where(.field(\.domain, is: several[0]) || .field(\.user, is: "Somebody 9")), opens: 5,
        finds: of(several[0]))
      #expect(
        try query.where(\.domain, is: "3.example.org").explain().description
          == "index on digests of domain from one value; 5 candidates; 1 condition; opens domain")
      if isAgain { break }
      try store.close()
      store = try folder.open()
    }
    // One is another's by now, one is gone, and one is new.
    logins[3].domain = "4.example.org"
    try store.write { [logins] tx in
      try tx.update(VaultLogin.self, logins[3].id) { $0.set(\.domain, logins[3].domain) }
      _ = try tx.delete(VaultLogin.self, logins[13].id)
    }
    logins.remove(at: 13)
    logins.append(VaultLogin(domain: "3.example.org"))
    try store.putAll([logins[149]])
    for domain in ["3.example.org", "4.example.org"] {
      let expected = ids(logins) { $0.domain == domain }
      try ask(
        store, store.query(VaultLogin.self).where(\.domain, is: domain), opens: expected.count,
        finds: expected)
    }
    store.lock()
    #expect(throws: locked) { try store.query(VaultLogin.self).where(\.domain, is: "3.example.org").count() }
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  @Test func `values are found while their key is rotated, and afterwards`() throws {
    let folder = try TemporaryFolder()
    let (store, logins) = try store(folder)
    let before = try storedDigests(store, "login", logins[4].id)
    var step = try store.rotate("vault", .bytes(1))
    #expect(!step.isFinished)
    while true {
      for domain in ["3.example.org", "example.com"] {
        let expected = ids(logins) { $0.domain == domain }
        try ask(
          store, store.query(VaultLogin.self).where(\.domain, is: domain), opens: expected.count,
          finds: expected)
      }
      let users = ids(logins) { $0.user == "Somebody 1" }
      try ask(
        store, store.query(VaultLogin.self).where(\.user, is: "SOMEBODY 1", ignoringCase: true),
        opens: users.count, finds: users)
      if step.isFinished { break }
      while !step.isFinished { step = try store.rotate("vault") }
    }
    #expect(Set(before.values).isDisjoint(with: try storedDigests(store, "login", logins[4].id).values))
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  /// The same texts in all kinds of fields, of which some differ in case only, and some in what is no case of
  /// an ASCII letter.
  @Test func `case is that of ASCII letters, wherever a text is looked for`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let texts = [
      "Example.com", "example.COM", "example.com", "example.com.", "[@Z^_]", "{@z^_]", "[`z^_]", "[@z^_]",
      "Ä", "ä",
      "K",
      "k", "\u{212A}", "", "example",
    ]
    let logins = texts.map { VaultLogin(domain: $0, user: $0) } + [VaultLogin(domain: "other", user: nil)]
    try store.putAll(logins)
    try store.putAll(logins.map { PlainLogin(id: RecordID(), domain: $0.domain, user: $0.user) })
    func folded(_ text: String?) -> [UInt8]? {
      text.map { $0.utf8.map { (65...90).contains($0) ? $0 + 32 : $0 } }
    }
    for text in texts + ["EXAMPLE.COM", "ÄÖ", "nothing"] {
      let same = ids(logins) { folded($0.domain) == folded(text) }
      let users = ids(logins) { folded($0.user) == folded(text) }
      let query = store.query(VaultLogin.self)
      try ask(store, query.where(\.user, is: text, ignoringCase: true), opens: users.count, finds: users)
      // All that differ in case only are opened, and one is found, byte by byte.
      let exact = ids(logins) { $0.user.map { Array($0.utf8) } == Array(text.utf8) }
      try ask(store, query.where(\.user, is: text), opens: users.count, finds: exact)
      try ask(store, query.where(\.user, in: [text]), opens: users.count, finds: exact)
      try ask(store, query.where(\.user, is: text, ignoringCase: false), opens: users.count, finds: exact)
      // Digests that are not of folded texts lead nowhere.
      try ask(store, query.where(\.domain, is: text, ignoringCase: true), opens: logins.count, finds: same)
      try ask(store, query.where(\.domain, is: text, ignoringCase: false), opens: exact.count, finds: exact)
      let rest = ids(logins) { folded($0.user) != folded(text) }
      try ask(
        store, query.where(!.field(\.user, is: text, ignoringCase: true)), opens: logins.count, finds: rest)
      let plain = store.query(PlainLogin.self)
      #expect(try plain.where(\.domain, is: text, ignoringCase: true).count() == same.count)
      #expect(try plain.where(\.user, is: text, ignoringCase: true).count() == users.count)
      #expect(try plain.where(\.domain, is: text, ignoringCase: false).count() == exact.count)
      let byName = try store.collection("login").query()
      try ask(
        store, byName.where(.field("user", is: text, ignoringCase: true)), opens: users.count, finds: users)
    }
    #expect(throws: NotelogError(.typeMismatch, "")) {
      try store.createCollection("number", fields: [.plain("n", .integer)]).query()
        .where(.field("n", is: "1", ignoringCase: true)).entries()
    }
  }

  @Test func `who ignores case and is unique refuses what differs in case only`() throws {
    struct Account: Record {
      var id = RecordID()
      var name: String?
      static let schema = Schema<Account>("account") {
        Sealed("name", \.name).revealingEquality(ignoringCase: true)
        Unique(\.name)
      }
    }
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let ada = Account(name: "Ada")
    try store.putAll([ada, Account(name: "Ädä"), Account(name: "ädä"), Account(), Account()])
    for name in ["ada", "ADA", "Ada"] {
      let error = #expect(throws: NotelogError.self) { try store.putAll([Account(name: name)]) }
      #expect(error?.code == .notUnique && error?.record == ada.id)
    }
    #expect(throws: NotelogError(.notUnique, "")) {
      try store.putAll([Account(name: "bob"), Account(name: "Bob")])
    }
    // One's own name in another case is one's own.
    try store.putAll([Account(id: ada.id, name: "ADA")])
    #expect(try store.query(Account.self).where(\.name, is: "Ada").count() == 0)
    #expect(try store.query(Account.self).where(\.name, is: "Ada", ignoringCase: true).count() == 1)
  }

  @Test func `records from before have no digest, are opened, and found`() throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let old = (0..<20).map { LooseLogin(domain: $0 < 4 ? "Old.example" : "\($0)", user: "u") }
    try store.putAll(old)
    let new = VaultLogin(domain: "Old.example", user: "U")
    try store.putAll([new])
    let expected = old[..<4].map(\.id) + [new.id]
    try ask(
      store, store.query(VaultLogin.self).where(\.domain, is: "Old.example"), opens: 21, finds: expected)
    #expect(try storedDigests(store, "login", old[0].id).isEmpty)
    #expect(try storedDigests(store, "login", new.id).count == 2)
    // Each gets one when its value is set again; from the next opening on an index leads to all.
    try store.write { tx in
      for login in old { try tx.update(VaultLogin.self, login.id) { $0.set(\.domain, login.domain) } }
    }
    try store.close()
    store = try folder.open()
    try ask(store, store.query(VaultLogin.self).where(\.domain, is: "Old.example"), opens: 5, finds: expected)
    #expect(try store.collection("login").fields.map(\.revealsEquality) == [true, true, false])
    #expect(try store.collection("login").fields.map(\.ignoresCase) == [false, true, false])
    // Read with the other choice, nothing is stored, and the digests there are lead nowhere.
    let folded = store.query(FoldedLogin.self)
    try ask(store, folded.where(\.domain, is: "OLD.example", ignoringCase: true), opens: 21, finds: expected)
    try ask(store, folded.where(\.domain, is: "Old.example"), opens: 21, finds: expected)
    // Written with it, the field of digests is another.
    try store.putAll(old.map { FoldedLogin(id: $0.id, domain: $0.domain, user: $0.user) })
    #expect(try store.collection("login").fields.map(\.ignoresCase) == [true, false, false])
    try ask(store, folded.where(\.domain, is: "OLD.example", ignoringCase: true), opens: 21, finds: expected)
    try store.putAll([FoldedLogin(id: new.id, domain: "old.EXAMPLE")])
    try store.close()
    store = try folder.open()
    let again = store.query(FoldedLogin.self)
    try ask(store, again.where(\.domain, is: "OLD.example", ignoringCase: true), opens: 5, finds: expected)
    try ask(store, again.where(\.domain, is: "Old.example"), opens: 5, finds: old[..<4].map(\.id))
    // A type that leaves the fields out leaves the digests; one that declares them without has none.
    let digests = try storedDigests(store, "login", new.id)
    try store.putAll([LoginNote(id: new.id, note: "n")])
    #expect(try storedDigests(store, "login", new.id) == digests)
    try store.putAll([LooseLogin(id: new.id, domain: "Old.example")])
    #expect(try storedDigests(store, "login", new.id).isEmpty)
    #expect(try store.collection("login").fields.allSatisfy { !$0.revealsEquality && !$0.ignoresCase })
    let loose = store.query(LooseLogin.self)
    try ask(store, loose.where(\.domain, is: "Old.example"), opens: 21, finds: expected)
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  @Test func `INV-E4 a forged digest hides its record from a condition, shows no other, and verify finds it`()
    throws
  {
    let folder = try TemporaryFolder()
    let (store, logins) = try store(folder)
    let digests = try storedDigests(store, "login", logins[4].id)
    try forgeDigests(store, "login", logins[7].id, digests)
    let query = store.query(VaultLogin.self)
    let right = ids(logins) { $0.domain == logins[4].domain }
    try ask(store, query.where(\.domain, is: logins[4].domain), opens: right.count + 1, finds: right)
    let rest = ids(logins) { $0.domain == logins[7].domain && $0.id != logins[7].id }
    try ask(store, query.where(\.domain, is: logins[7].domain), opens: rest.count, finds: rest)
    try store.close()
    let found = try Store.verify(at: folder.path, unlocking: TemporaryFolder.key)
    #expect(found.findings.count == 2 && found.findings.allSatisfy { $0.record == logins[7].id })
    #expect(!found.isSound(.tags))
  }

  @Test func `without a record type a field is declared so too, and what was declared is not taken away`()
    throws
  {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let field = FieldDescription.sealed("name", .text, revealingEquality: true)
    func flags() throws -> [Bool] {
      try store.collection("c").fields.flatMap { [$0.revealsEquality, $0.ignoresCase] }
    }
    let collection = try store.createCollection("c", fields: [field])
    #expect(try flags() == [true, false])
    let ids = try collection.add([["name": .text("a")], ["name": .text("A")], ["name": .text("a")]])
    try ask(
      store, collection.query().where(.field("name", .equal, .text("a"))), opens: 2, finds: [ids[0], ids[2]])
    try store.createCollection("c", fields: [.sealed("name", .text), .plain("time", .date, optional: true)])
    #expect(try flags() == [true, false, false, false])
    try store.createCollection(
      "c", fields: [.sealed("name", .text, revealingEquality: true, ignoringCase: true)])
    #expect(try flags() == [true, true, false, false])
    #expect(throws: NotelogError(.invalidArgument, "")) {
      try store.createCollection(
        "d", fields: [.sealed("n", .integer, revealingEquality: true, ignoringCase: true)])
    }
  }

  @Test func `a stored schema says of digests that they ignore case, and nothing of what has none`() throws {
    let schema = try StoredSchema(declaring: VaultLogin.schema.description, collection: 3) {
      _ throws(NotelogError) in 1
    }
    func parse(_ change: (inout StoredSchema) -> Void) throws -> StoredSchema {
      var changed = schema
      change(&changed)
      return try StoredSchema(parsing: changed.encoded().rawSpan)
    }
    #expect(try parse { _ in } == schema)
    #expect(schema.fields.map(\.ignoresCase) == [false, false, false, false, true])
    let mistakes: [(inout StoredSchema) -> Void] = [
      { $0.fields[1].ignoresCase = true },
      { $0.fields[4].digestOf = 0 },
      { $0.fields[4].digestOf = 3 },
    ]
    for mistake in mistakes { #expect(throws: NotelogError(.damaged, "")) { try parse(mistake) } }
    let number = try StoredSchema(
      declaring: CollectionDescription(
        name: "n", fields: [.sealed("n", .integer, revealingEquality: true)]), collection: 3
    ) { _ throws(NotelogError) in 1 }
    var folded = number
    folded.fields[1].ignoresCase = true
    #expect(try StoredSchema(parsing: number.encoded().rawSpan) == number)
    #expect(throws: NotelogError(.damaged, "")) {
      try StoredSchema(parsing: folded.encoded().rawSpan)
    }
  }
}
