// Fields whose key each record names, in a plain field of its own (FORMAT.md 9.1, 21.3).

import Foundation
@testable import NotelogBase
import NotelogCrypto
@testable import Notelog
import NotelogTestSupport
import Testing

/// Items by an app that has a text where others have cases.
private struct LooseBelonging: Record {
  var id = RecordID()
  var shelter = "home"
  var secret = ""
  static let schema = Schema<LooseBelonging>("loose") {
    Sealed("secret", \.secret).key(from: \.shelter, among: ["home", "work"])
    Plain("shelter", \.shelter)
  }
}

/// The items' part that is in the clear.
private struct Cover: Record {
  var id = RecordID()
  var title = ""
  var shelter = Shelter.home
  static let schema = Schema<Cover>("item") {
    Plain("title", \.title, indexed: true)
    Plain("shelter", \.shelter, indexed: true)
  }
}

private let locked = NotelogError(.locked, "")

@Suite struct ChosenKeyTests {
  @Test func `each record's values are under the key that it names, and open as that key's class says`()
    throws
  {
    let folder = try TemporaryFolder()
    let store = try Shelter.makeStore(folder)
    let home = Belonging(title: "h", name: "Ada", shelter: .home, secret: "at home", scan: noise(100_000))
    let work = Belonging(title: "w", shelter: .work, secret: "at work", remark: "fixed")
    try store.write { tx in
      try tx.put(home)
      try tx.put(work)
    }
    #expect(try Shelter.counts(store) == ["home": 3, "work": 3, "default": 2])
    #expect(try store.query(Belonging.self).where(\.secret, is: "at work").count() == 1)
    store.lock()
    let entry = try #require(try store.get(Belonging.self, home.id))
    #expect(try entry.title == "h" && entry.shelter == .home)
    #expect(throws: locked) { try entry.secret }
    #expect(throws: locked) { try entry.name }
    #expect(throws: locked) { try entry.content(of: \.scan)?.read(0..<1) }
    #expect(throws: locked) { try entry.record() }
    let other = try #require(try store.get(Belonging.self, work.id))
    #expect(try other.secret == "at work" && other.name == nil && other.scan == nil)
    #expect(throws: locked) { try other.remark }
    // Queries: what is in the clear goes first, and decides which records are opened.
    let query = store.query(Belonging.self)
    #expect(throws: locked) { try query.where(\.secret, is: "at work").count() }
    let asked = query.where(.field(\.shelter, is: .work) && .field(\.secret, is: "at work"))
    #expect(try asked.entries().map(\.id) == [work.id])
    let field = try store.field(\Belonging.secret)
    var buffer = ValueBuffer()
    #expect(try store.get(field, of: work.id, using: &buffer) == "at work")
    #expect(throws: locked) { try store.get(field, of: home.id, using: &buffer) }
    try store.close()
    let again = try folder.open()
    #expect(try again.get(Belonging.self, home.id)?.record() == home)
    #expect(try again.get(Belonging.self, work.id)?.record() == work)
    try again.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
    #expect(try Store.verify(at: folder.path).verdict == .sound)
  }

  @Test func `naming another key seals the record's values under that, and nobody else's`() throws {
    let folder = try TemporaryFolder()
    let store = try Shelter.makeStore(folder)
    var item = Belonging(title: "t", name: "Ada", secret: "s", scan: noise(200_000), remark: "r")
    let other = Belonging(secret: "other")
    try store.putAll([item, other])
    #expect(try Shelter.counts(store) == ["home": 6, "default": 2])
    try store.write { tx in try tx.update(Belonging.self, item.id) { $0.set(\.shelter, .work) } }
    item.shelter = .work
    #expect(try Shelter.counts(store) == ["home": 3, "work": 3, "default": 2])
    #expect(try store.get(Belonging.self, item.id)?.record() == item)
    // By whoever knows the plain fields only, whole or by name; and twice in one transaction.
    try store.write { tx in try tx.put(Cover(id: item.id, title: "u", shelter: .away)) }
    (item.title, item.shelter) = ("u", .away)
    #expect(try store.get(Belonging.self, item.id)?.record() == item)
    try store.write { tx in
      let collection = try store.collection("item")
      try tx.update(in: collection, item.id, ["shelter": .text("home")])
      try tx.update(Belonging.self, item.id) { $0.set(\.shelter, .work) }
      try tx.update(Belonging.self, item.id) { $0.set(\.secret, "new") }
    }
    (item.shelter, item.secret) = (.work, "new")
    #expect(try store.get(Belonging.self, item.id)?.record() == item)
    #expect(try Shelter.counts(store) == ["home": 3, "work": 3, "default": 2])
    #expect(try store.query(Belonging.self).where(\.shelter, is: .work).count() == 1)
    try store.compact()
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
    #expect(try folder.open().get(Belonging.self, item.id)?.record() == item)
  }

  @Test(arguments: [Shelter.home, .work])
  func `naming another key needs the old and the new one, and where one is locked nothing is written`(
    _ old: Shelter
  ) throws {
    let folder = try TemporaryFolder()
    let store = try Shelter.makeStore(folder)
    let item = Belonging(title: "t", shelter: old, secret: "s", scan: noise(70_000))
    try store.putAll([item])
    let revision = try store.get(Belonging.self, item.id)?.revision
    store.lock()
    let new: Shelter = old == .home ? .work : .home
    #expect(throws: locked) {
      try store.write { tx in try tx.update(Belonging.self, item.id) { $0.set(\.shelter, new) } }
    }
    #expect(throws: locked) { try store.write { tx in try tx.put(Cover(id: item.id, shelter: new)) } }
    #expect(throws: locked) { try store.write { tx in try tx.put(Belonging(id: item.id, shelter: new)) } }
    #expect(throws: locked) { try store.putAll([Belonging(id: item.id, shelter: new)]) }
    try store.unlock(TemporaryFolder.key)
    #expect(try store.get(Belonging.self, item.id)?.revision == revision)
    #expect(try store.get(Belonging.self, item.id)?.record() == item)
  }

  @Test(arguments: [false, true])
  func `a whole record is put if the key is open that it names, whatever was named before`(
    isBatched: Bool
  ) throws {
    let folder = try TemporaryFolder()
    let store = try Shelter.makeStore(folder)
    let home = LooseBelonging(secret: "s")
    let (other, work) = (LooseBelonging(secret: "s"), LooseBelonging(shelter: "work", secret: "s"))
    try store.putAll([home, other, work])
    store.lock()
    func put(_ id: RecordID, _ shelter: String, _ secret: String) throws {
      let loose = LooseBelonging(id: id, shelter: shelter, secret: secret)
      if isBatched { try store.putAll([loose]) } else { try store.write { tx in try tx.put(loose) } }
    }
    // As it is with both keys open: what the record has takes the place of what there was, also where it has
    // nothing.
    try put(work.id, "work", "s2")
    try put(other.id, "work", "")
    for (id, secret) in [(home.id, "s2"), (home.id, ""), (work.id, ""), (RecordID(), "")] {
      #expect(throws: locked) { try put(id, "home", secret) }
    }
    try store.unlock(TemporaryFolder.key)
    for (id, shelter, secret) in [(home.id, "home", "s"), (other.id, "work", ""), (work.id, "work", "s2")] {
      let record = try #require(try store.get(LooseBelonging.self, id)).record()
      #expect(record.shelter == shelter && record.secret == secret)
    }
  }

  @Test func `a record that names no key, or none of the field's, is refused when it is put`() throws {
    let folder = try TemporaryFolder()
    let store = try Shelter.makeStore(folder)
    let loose = LooseBelonging(secret: "s")
    try store.putAll([loose])
    func refusal(_ body: () throws -> Void) -> String {
      #expect(throws: NotelogError(.invalidArgument, "")) { try body() }?.message ?? ""
    }
    for name in ["", "hom", "homes", "away", "default"] {
      let new = LooseBelonging(shelter: name, secret: "s")
      let message = refusal { _ = try store.write { tx in try tx.put(new) } }
      #expect(message.contains("loose.shelter") && message.contains("home, work"), "\(message)")
      let batched = refusal { _ = try store.putAll([LooseBelonging(shelter: name)]) }
      let updated = refusal {
        try store.write { tx in try tx.update(LooseBelonging.self, loose.id) { $0.set(\.shelter, name) } }
      }
      #expect(batched == message && updated == message)
    }
    let collection = try store.collection("loose")
    let message = refusal { _ = try collection.add(["secret": .text("s")]) }
    #expect(message.contains("lacks shelter"), "\(message)")
    try collection.add(["shelter": .text("nobody's")])
    let other = refusal { _ = try collection.add(["shelter": .text("away"), "secret": .text("s")]) }
    #expect(other.contains("home, work"))
    let id = try collection.add(["shelter": .text("work"), "secret": .text("s")])
    #expect(try collection.get(id)?.value("secret") == .text("s"))
    #expect(try Shelter.counts(store) == ["home": 1, "work": 1])
  }

  @Test func `a record from before there was a field that names its key gets that with its first value`()
    throws
  {
    let folder = try TemporaryFolder()
    let store = try Shelter.makeStore(folder)
    try store.putAll([Belonging()])
    let id = try store.collection("item").add(["title": .text("t")])
    #expect(try store.get(Belonging.self, id)?.record() == Belonging(id: id, title: "t"))
    try store.write { tx in try tx.update(Belonging.self, id) { $0.set(\.secret, "s") } }
    #expect(try store.get(Belonging.self, id)?.record() == Belonging(id: id, title: "t", secret: "s"))
    #expect(try store.query(Belonging.self).where(\.shelter, is: .home).count() == 2)
  }
}
