// The examples of the article "Changing schemas", line for line.

import Foundation
import Notelog
import Testing

private enum Before {
  struct Person: Record {
    var id = RecordID()
    var name = ""
    var nickname = ""
    static let schema = Schema<Person>("person") {
      Sealed("name", \.name)
      Plain("nickname", \.nickname)
    }
  }

  struct Member: Record {
    var id = RecordID()
    var age = ""
    static let schema = Schema<Member>("member") { Plain("age", \.age) }
  }
}

struct Person: Record {
  var id = RecordID()
  var fullName = ""
  var tags: [String] = []
  static let schema = Schema<Person>("person") {
    Sealed("fullName", \.fullName, formerly: "name")
    Plain("tags", json: \.tags)
    Retired("nickname")
  }
}

struct Member: Record {
  var id = RecordID()
  var years = 0
  static let schema = Schema<Member>("member") {
    Plain("years", \.years, indexed: true)
    Migrated("age") { old, member in
      if case .text(let age) = try old.value("age") { member.set(\.years, Int(age) ?? 0) }
    }
  }
}

private enum BeforeGuest {
  struct Guest: Record {
    var id = RecordID()
    var age = ""
    static let schema = Schema<Guest>("guest") { Plain("age", \.age) }
  }
}

private struct Guest: Record {
  struct NoNumber: Error {}

  var id = RecordID()
  var years = 0
  static let schema = Schema<Guest>("guest") {
    Plain("years", \.years)
    Migrated("age") { _, _ in throw NoNumber() }
  }
}

@Suite struct ChangingSchemasArticle {
  @Test func `a closure that throws is told with its record`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let guest = BeforeGuest.Guest(age: "old")
    try store.putAll([guest])
    var reported: [RecordID?] = []
    func report(_ message: String, _ record: RecordID?) {
      #expect(message.contains("NoNumber"))
      reported.append(record)
    }
    do {
      try store.migrate(Guest.self)
    } catch let error as NotelogError where error.code == .schemaConflict {
      report(error.message, error.record)
    }
    #expect(reported == [guest.id])
  }

  @Test func `the article's examples do what it says`() throws {
    let folder = try TemporaryFolder()
    let (path, credential) = (folder.path, TemporaryFolder.key)
    let (ada, bob) = (Before.Person(name: "Ada", nickname: "A"), Before.Member(age: "42"))
    let before = try folder.create()
    try before.write { tx in
      try tx.put(ada)
      try tx.put(bob)
    }
    try before.close()
    var options = Store.Options()
    options.recordTypes = [Person.self]
    let store = try Store.open(at: path, unlocking: credential, options: options)
    let summary = try store.migrate(Member.self)
    #expect(summary.recordCount == 1 && summary.findings.isEmpty)
    #expect(try store.get(Member.self, bob.id)?.years == 42)
    try store.write { tx in try tx.update(Person.self, ada.id) { $0.set(\.tags, ["first"]) } }
    #expect(try store.get(Person.self, ada.id)?.fullName == "Ada")
    #expect(try store.get(Before.Person.self, ada.id)?.nickname == "")
    try store.write { tx in try tx.put(Before.Person(id: ada.id, name: "Ada L.")) }
    #expect(try store.get(Person.self, ada.id)?.record().tags == ["first"])
    try store.write { tx in
      try tx.put(Member(years: 151))
      try tx.update(Person.self, ada.id) { $0.set(\.fullName, " Ada L. ") }
    }
    try store.migrate([
      Migration("nobody is older than 150") { tx in
        try tx.deleteAll(Member.self, where: .field(\.years, in: 151...))
        try tx.updateAll(Person.self) { $0.set(\.tags, ["checked"]) }
      },
      Migration("names without blanks around them", of: Person.self) { person in
        person.set(\.fullName, try person.fullName.trimmingCharacters(in: .whitespaces))
      },
    ])
    #expect(try store.query(Member.self).count() == 1)
    #expect(try store.get(Person.self, ada.id)?.record().fullName == "Ada L.")
    #expect(try store.get(Person.self, ada.id)?.tags == ["checked"])
  }
}
