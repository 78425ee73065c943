// Sealed values that no two records share: told by digests, under the values' own key (FORMAT.md 11.3).

import Foundation
@testable import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Testing

@testable import NotelogCrypto

private let locked = NotelogError(.locked, "")

@Suite struct SealedUniqueTests {
  private func store(_ folder: TemporaryFolder, _ count: Int = 40) throws -> (Store, [Colleague]) {
    let store = try folder.create()
    let people = (0..<count).map(colleague)
    try store.putAll(people)
    return (store, people)
  }

  private func isRefused(
    naming id: RecordID? = nil, _ field: String = "email", location: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
  ) {
    let error = #expect(throws: NotelogError.self, sourceLocation: location) { try body() }
    #expect(
      error?.code == .notUnique && error?.message.contains("the same \(field)") == true
        && id.map { error?.message.contains("\($0)") == true } ?? true, "\(error?.message ?? "")",
      sourceLocation: location)
  }

  @Test func `a sealed value that another record has is refused, whoever writes it, and the record is named`()
    throws
  {
    let folder = try TemporaryFolder()
    var (store, people) = try store(folder)
    let email = people[7].email
    isRefused(naming: people[7].id) {
      try store.write { tx in _ = try tx.put(Colleague(email: email, phone: 1)) }
    }
    isRefused(naming: people[7].id) { try store.putAll([colleague(100), Colleague(email: email, phone: 2)]) }
    isRefused(naming: people[7].id) {
      try store.write { tx in try tx.update(Colleague.self, people[3].id) { $0.set(\.email, email) } }
    }
    isRefused(naming: people[7].id, "phone") {
      try store.write { tx in
        let people = try store.collection("person")
        _ = try tx.put(in: people, RecordID(), ["email": .text("new"), "phone": .integer(1_007)])
      }
    }
    isRefused {
      try store.putAll([Colleague(email: "twice", phone: 3), Colleague(email: "twice", phone: 4)])
    }
    #expect(try store.query(Colleague.self).count() == 40)
    // nil is nobody's, and one's own value is one's own.
    try store.putAll([Colleague(phone: 5), Colleague(phone: 6), people[7]])
    try store.write { tx in try tx.update(Colleague.self, people[7].id) { $0.set(\.name, "other") } }
    try store.write { tx in try tx.update(Colleague.self, people[3].id) { $0.set(\.email, nil) } }
    try store.putAll([Colleague(email: people[3].email, phone: 7)])
    // Two exchange their values in one transaction.
    try store.write { tx in
      try tx.update(Colleague.self, people[0].id) { $0.set(\.email, people[1].email) }
      try tx.update(Colleague.self, people[1].id) { $0.set(\.email, people[0].email) }
    }
    try store.close()
    store = try folder.open()
    isRefused(naming: people[0].id) { try store.putAll([Colleague(email: people[1].email, phone: 8)]) }
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  @Test func `a condition on such a value opens the record that has it, and no other`() throws {
    let folder = try TemporaryFolder()
    let (store, people) = try store(folder)
    func opened(_ query: Query<Colleague>, _ expected: [RecordID]) throws -> Int {
      let before = store.metrics.fieldsOpened
      #expect(Set(try query.entries().map(\.id)) == Set(expected))
      return store.metrics.fieldsOpened - before
    }
    let query = store.query(Colleague.self)
    #expect(try opened(query.where(\.email, is: people[7].email), [people[7].id]) == 1)
    #expect(try opened(query.where(\.email, is: "nobody"), []) == 0)
    #expect(try opened(query.where(\.phone, is: 1_009), [people[9].id]) == 1)
    #expect(
      try opened(
        query.where(\.email, in: [people[1].email, people[2].email, "x"]), [people[1].id, people[2].id])
        == 2)
    #expect(try opened(query.where(\.phone, isNot: 1_009).limit(3), query.limit(3).entries().map(\.id)) >= 3)
    let plan = try query.where(\.email, is: people[7].email).explain()
    #expect(plan.indexes.map(\.fields) == [["digests of email"]] && plan.candidateCount == 1)
    #expect(!plan.description.contains("somebody"), "\(plan)")
    // An order by the field is none of digests.
    #expect(try query.sorted(by: \.phone).limit(2).entries().map(\.id) == [people[0].id, people[1].id])
    #expect(try query.where(\.phone, in: 1_005...1_006).count() == 2)
    // Whatever the digest says, the value decides.
    try store.write { tx in try tx.update(Colleague.self, people[7].id) { $0.set(\.email, "changed") } }
    #expect(try opened(query.where(\.email, is: people[7].email), []) == 0)
    store.lock()
    #expect(throws: locked) { try query.where(\.email, is: people[9].email).count() }
  }

  @Test func `digests are nobody's fields: they are not listed, dumped, read or written`() throws {
    let folder = try TemporaryFolder()
    let (store, people) = try store(folder)
    let collection = try store.collection("person")
    #expect(collection.fields.map(\.name) == ["name", "email", "phone"])
    #expect(collection.fields.map(\.revealsEquality) == [false, true, true])
    #expect(try collection.get(people[0].id)?.fields.map(\.name) == ["name", "email", "phone"])
    #expect(try storedDigests(store, "person", people[0].id).count == 2)
    for name in ["email#4", "phone#5"] {
      #expect(throws: NotelogError(.notFound, "")) { try collection.get(people[0].id)?.value(name) }
      #expect(throws: NotelogError(.notFound, "")) { try collection.add([name: .bytes([1])]) }
      #expect(throws: NotelogError(.schemaConflict, "")) {
        try store.createCollection("person", fields: [.plain(name, .bytes, optional: true)])
      }
    }
    // A type that leaves fields out carries both over.
    let before = try storedDigests(store, "person", people[0].id)
    try store.putAll([ColleagueName(id: people[0].id, name: "renamed")])
    #expect(try storedDigests(store, "person", people[0].id) == before)
    isRefused(naming: people[0].id) { try store.putAll([Colleague(email: people[0].email, phone: 1)]) }
  }

  @Test func `digests are equal where values are, in one field of one store, and nowhere else`() throws {
    let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
    var all: [[UInt8]] = []
    for folder in [folder, other] {
      let store = try folder.create()
      let people = [Colleague(email: "a", phone: 1), Colleague(email: "b", phone: 2)]
      let companies = [Company(email: "a", other: "b"), Company(email: "b", other: "a")]
      try store.putAll(people)
      try store.putAll(companies)
      for person in people { all += try storedDigests(store, "person", person.id).values }
      for company in companies { all += try storedDigests(store, "company", company.id).values }
      // The same value again: by another record, when the first has it no more; and compressed or not makes
      // no difference.
      let first = try storedDigests(store, "person", people[0].id)
      try store.write { tx in try tx.update(Colleague.self, people[0].id) { $0.set(\.email, "c") } }
      let second = Colleague(email: "a", phone: 3)
      try store.putAll([second])
      let number = try #require(first.keys.min())
      #expect(try storedDigests(store, "person", second.id)[number] == first[number])
      try store.close()
    }
    #expect(all.count == 16 && Set(all).count == 16 && all.allSatisfy { $0.count == 17 && $0[0] == 1 })
  }

  @Test func `while its key is locked a value is neither written nor looked for, and all else goes on`()
    throws
  {
    let folder = try TemporaryFolder()
    let (store, people) = try store(folder)
    store.lock()
    #expect(throws: locked) { try store.putAll([colleague(50)]) }
    #expect(throws: locked) { try store.write { tx in try tx.put(colleague(50)) } }
    #expect(throws: locked) {
      try store.write { tx in try tx.update(Colleague.self, people[1].id) { $0.set(\.email, "x") } }
    }
    try store.write { tx in try tx.update(Colleague.self, people[1].id) { $0.set(\.name, "renamed") } }
    try store.write { tx in try tx.put(ColleagueName(id: people[2].id, name: "kept")) }
    #expect(throws: locked) { try store.write { tx in try tx.put(Colleague(id: people[2].id)) } }
    try store.write { tx in _ = try tx.delete(Colleague.self, people[3].id) }
    try store.unlock(TemporaryFolder.key)
    #expect(try store.get(Colleague.self, people[2].id)?.email == people[2].email)
    isRefused(naming: people[1].id) { try store.putAll([Colleague(email: people[1].email, phone: 1)]) }
    isRefused(naming: people[2].id) { try store.putAll([Colleague(email: people[2].email, phone: 1)]) }
    try store.putAll([Colleague(email: people[3].email, phone: people[3].phone)])
  }

  @Test func `rotating the key makes the digests anew, and the old key tells no value`() throws {
    let folder = try TemporaryFolder()
    let (store, people) = try store(folder, 100)
    let old = try #require(store.info().keys.first { $0.name == "contacts" }).number
    let before = try people.map { try storedDigests(store, "person", $0.id) }
    // What whoever has the old key can tell.
    let plan = try #require(store.registry.withLock { $0.find("person")?.plan })
    let oldKey = try store.vault.sealingKey(KeyReference(rawValue: old))
    let source = try plan.index(of: "phone")
    var guess: [UInt8] = []
    guess.append(littleEndian: UInt64(1_007))
    let guessed = try plan.storedDigest(guess.rawSpan, source, under: oldKey)
    #expect(before[7].values.contains(guessed))
    var step = try store.rotate("contacts", .bytes(1))
    #expect(!step.isFinished)
    // Half-way: values are found, and refused, under either generation.
    for person in people {
      isRefused(naming: person.id) { try store.putAll([Colleague(email: person.email, phone: 1)]) }
      isRefused(naming: person.id, "phone") {
        try store.write { tx in _ = try tx.put(Colleague(phone: person.phone)) }
      }
      #expect(
        try store.query(Colleague.self).where(\.email, is: person.email).entries().map(\.id) == [person.id])
    }
    try store.write { tx in
      try tx.put(people[7])
      try tx.update(Colleague.self, people[8].id) { $0.set(\.email, people[9].email) }
      try tx.update(Colleague.self, people[9].id) { $0.set(\.email, people[8].email) }
    }
    for index in [1, 50, 98] {
      isRefused {
        try store.write { tx in
          // One new, one carried over, perhaps from before the rotation, in one transaction.
          try tx.update(Colleague.self, people[index].id) { $0.set(\.name, "touched") }
          try tx.put(Colleague(email: people[index].email, phone: 1))
        }
      }
    }
    store.lock()
    try store.write { tx in try tx.update(Colleague.self, people[20].id) { $0.set(\.name, "touched") } }
    try store.unlock(TemporaryFolder.key)
    while !step.isFinished { step = try store.rotate("contacts") }
    #expect(step.failedCount == 0)
    try store.purge()
    var after: Set<[UInt8]> = []
    for (index, person) in people.enumerated() {
      let now = try storedDigests(store, "person", person.id)
      #expect(now.count == 2 && Set(now.values).isDisjoint(with: before[index].values))
      after.formUnion(now.values)
      isRefused { try store.putAll([Colleague(email: person.email, phone: 1)]) }
    }
    #expect(!after.contains(guessed))
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  @Test func `a field that is given another key refuses values under the former one too`() throws {
    struct Moved: Record {
      var id = RecordID()
      var phone = 0
      static let schema = Schema<Moved>("person") {
        Sealed("phone", \.phone, key: "phones").revealingEquality()
        Unique(\.phone)
      }
    }
    let folder = try TemporaryFolder()
    let (store, people) = try store(folder)
    try store.createKey("phones", .afterFirstUnlock)
    try store.putAll([Moved(phone: 5)])
    isRefused(naming: people[7].id, "phone") { try store.putAll([Moved(phone: people[7].phone)]) }
    isRefused("phone") { try store.putAll([Moved(phone: 5)]) }
    #expect(
      try store.query(Moved.self).where(\.phone, is: people[7].phone).entries().map(\.id) == [people[7].id])
    // The former key is locked, and what is under it can't be told.
    store.lock()
    let error = #expect(throws: NotelogError.self) { try store.putAll([Moved(phone: 6)]) }
    #expect(error?.code == .locked)
    #expect(try store.query(Moved.self).count() == 41)
  }

  @Test func `a key that is shredded leaves digests that tell nothing, and stand in nobody's way`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.createKey("contacts", .whenUnlocked, isShreddable: true)
    let known = colleague(1)
    try store.putAll([known])
    try store.shredKey("contacts")
    #expect(throws: NotelogError(.missingKey, "")) {
      try store.query(Colleague.self).where(\.phone, is: 1_001).count()
    }
    #expect(throws: NotelogError(.missingKey, "")) { try store.putAll([colleague(1)]) }
    #expect(try storedDigests(store, "person", known.id).count == 2)
    #expect(try store.get(Colleague.self, known.id)?.name == "n1")
  }

  @Test func `a rule is for what is written from then on; without its line digests go`() throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let old = [
      LooseColleague(email: "a", phone: 1), LooseColleague(email: "a", phone: 1),
      LooseColleague(email: "b", phone: 2),
    ]
    try store.putAll(old)
    // Rotation makes no digests where there were none, and is not held to the rule.
    try store.putAll([Colleague(email: "c", phone: 3)])
    #expect(try store.rotate("contacts").isFinished)
    #expect(try storedDigests(store, "person", old[0].id).isEmpty)
    #expect(
      try Set(store.query(Colleague.self).where(\.email, is: "a").entries().map(\.id))
        == Set(old[..<2].map(\.id)))
    isRefused { try store.putAll([Colleague(email: "c", phone: 4)]) }
    try store.close()
    store = try folder.open()
    let found = try #require(try store.query(Colleague.self).where(\.email, is: "c").first())
    try store.putAll([
      LooseColleague(id: found.id, email: "c", phone: 3), LooseColleague(email: "c", phone: 3),
    ])
    #expect(try storedDigests(store, "person", found.id).isEmpty)
    #expect(try store.collection("person").fields.allSatisfy { !$0.revealsEquality })
    // And again: digests of a new field.
    try store.putAll([Colleague(email: "d", phone: 5)])
    isRefused { try store.putAll([Colleague(email: "d", phone: 6)]) }
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  /// INV-E4: somebody with the files alters a digest, under checksums that fit.
  @Test
  func
    `INV-E4 a digest that is not its value's is found by verify, and shows no record that lacks the value`()
    throws
  {
    let folder = try TemporaryFolder()
    let (store, people) = try store(folder)
    try forgeDigests(store, "person", people[3].id, storedDigests(store, "person", people[7].id))
    #expect(
      try store.query(Colleague.self).where(\.email, is: people[7].email).entries().map(\.id) == [
        people[7].id
      ])
    #expect(try store.get(Colleague.self, people[3].id)?.email == people[3].email)
    try store.close()
    let found = try Store.verify(at: folder.path, unlocking: TemporaryFolder.key)
    #expect(found.findings.count == 2 && found.findings.allSatisfy { $0.record == people[3].id })
    #expect(!found.isSound(.tags) && found.isSound(.structure) && found.isSound(.index))
    #expect(try Store.verify(at: folder.path).verdict == .sound)
  }

  @Test func `numbers that are equal are one value, and a long one is refused`() throws {
    struct Measure: Record {
      var id = RecordID()
      var ratio = 0.0
      var raw: [UInt8] = []
      static let schema = Schema<Measure>("measure") {
        Sealed("ratio", \.ratio, padded: true).revealingEquality()
        Sealed("raw", \.raw).revealingEquality()
        Unique(\.ratio)
        Unique(\.raw)
      }
    }
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll([Measure(ratio: 0, raw: [1])])
    isRefused("ratio") { try store.putAll([Measure(ratio: -0.0, raw: [2])]) }
    #expect(try store.query(Measure.self).where(\.ratio, is: -0.0).count() == 1)
    try store.putAll([Measure(ratio: 1, raw: [UInt8](repeating: 1, count: 4_096))])
    isRefused("raw") { try store.putAll([Measure(ratio: 2, raw: [UInt8](repeating: 1, count: 4_096))]) }
    let error = #expect(throws: NotelogError.self) {
      try store.putAll([Measure(ratio: 3, raw: [UInt8](repeating: 1, count: 4_097))])
    }
    #expect(error?.code == .limitExceeded && error?.message.contains("4096") == true)
    let id = try #require(try store.query(Measure.self).first()).id
    #expect(throws: NotelogError(.invalidArgument, "")) {
      try store.upload(to: \Measure.raw, of: id) { _ in 0 }
    }
  }

  @Test func `random writes, rotations and openings leave what a set would`() throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    var random = SeededGenerator(seed: 23)
    var held: [String: RecordID] = [:]
    var emails: [RecordID: String] = [:]
    for step in 0..<300 {
      let email = "an address of some length \(random.pick(0..<30))"
      let id =
        emails.isEmpty || random.oneIn(2)
        ? RecordID(high: random.next(), low: random.next())
        : emails.keys.sorted()[random.pick(0..<emails.count)]
      if random.oneIn(6) {
        try store.write { tx in _ = try tx.delete(Colleague.self, id) }
        if let old = emails.removeValue(forKey: id) { held[old] = nil }
        continue
      }
      if !emails.isEmpty, random.oneIn(5) {
        try store.rotate("contacts", .bytes(Int(random.pick(1..<2_000))))
      }
      let isFree = held[email] == nil || held[email] == id
      let person = Colleague(id: id, email: email, phone: Int(truncatingIfNeeded: random.next()))
      do {
        if step % 2 == 0 {
          try store.putAll([person])
        } else {
          try store.write { tx in _ = try tx.put(person) }
        }
        #expect(isFree, "step \(step)")
        if let old = emails.updateValue(email, forKey: id) { held[old] = nil }
        held[email] = id
      } catch let error as NotelogError {
        #expect(!isFree && error.code == .notUnique, "step \(step): \(error)")
      }
      let holder = try store.query(Colleague.self).where(\.email, is: email).entries().map(\.id)
      #expect(holder == held[email].map { [$0] } ?? [], "step \(step)")
      if random.oneIn(30) {
        try store.close()
        store = try folder.open()
      }
    }
    #expect(try Set(store.query(Colleague.self).entries().compactMap { try $0.email }) == Set(held.keys))
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  @Test func `a rule on what is sealed and reveals nothing, or can't, is a mistake`() {
    func mistake(_ field: FieldDescription, _ name: String = "a") -> String? {
      CollectionDescription(name: "c", fields: [.plain("k", .text), field], unique: [[name]]).mistake
    }
    #expect(mistake(.sealed("a", .text, revealingEquality: true)) == nil)
    #expect(mistake(.sealed("a", .text, revealingEquality: true, ignoringCase: true)) == nil)
    #expect(mistake(.sealed("a", .text))?.contains("has to be revealing equality") == true)
    #expect(mistake(.plain("a", .text))?.contains("has to be indexed") == true)
    #expect(mistake(.sealed("a", .text, revealingEquality: true), "")?.contains("no field") == true)
    #expect(mistake(.sealed("a", .json, revealingEquality: true))?.contains("JSON") == true)
    let chosen = FieldDescription.sealed("a", .text, keyFrom: "k", among: ["x"], revealingEquality: true)
    #expect(mistake(chosen)?.contains("records name") == true)
    var plain = FieldDescription.plain("a", .text, indexed: true)
    plain.revealsEquality = true
    #expect(mistake(plain)?.contains("plain") == true)
    let number = FieldDescription.sealed("a", .integer, revealingEquality: true, ignoringCase: true)
    #expect(mistake(number)?.contains("not text") == true)
    #expect(mistake(.sealed("a", .text, ignoringCase: true))?.contains("doesn't reveal") == true)
  }
}
