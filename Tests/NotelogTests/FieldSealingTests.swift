// Fields are sealed into their place in a record, and open there and nowhere else (FORMAT.md 7, 11).

@testable import NotelogBase
import NotelogFormat
import NotelogStorage
import Foundation
import NotelogCrypto
@testable import Notelog
import NotelogTestSupport
import Testing

/// Everything between a record and the journal.
private struct Bench {
  let vault: Vault
  let opener: FieldOpener
  let everything: RecordPlan<Everything>
  let note: RecordPlan<Note>

  init(storeID: ID16 = ID16(low: 1, high: 2)) throws {
    vault = try Keyring.create(
      storeID: storeID, credential: .rawKey(Secret(copying: [UInt8](repeating: 7, count: 32).rawSpan)))
    for name in ["default", "personal"] {
      vault.adopt(
        try vault.changing { change throws(CryptoError) in
          try change.addKey(named: name, class: .whenUnlocked)
        })
    }
    let journal = try Journal.create(in: SimulatedDisk(), storeID: ID16(low: 1, high: 2))
    opener = FieldOpener(vault: vault, metrics: FieldMetrics(), journal: journal)
    let keys = vault
    func plan<R: Record>(_ type: R.Type, _ number: UInt16) throws -> RecordPlan<R> {
      let schema = try StoredSchema(declaring: R.schema.description, collection: number) {
        name throws(NotelogError) in
        try naming("", keys.namedKey(name).current.rawValue)
      }
      return try RecordPlan(R.schema, CollectionPlan(schema, storeID: storeID))
    }
    everything = try plan(Everything.self, 1)
    note = try plan(Note.self, 2)
  }

  func body<R: Record>(_ record: R, _ plan: RecordPlan<R>) throws -> [UInt8] {
    var encoder = RecordEncoder()
    encoder.begin()
    for slot in plan.slots {
      try encoder.add(slot.index, of: plan.collection) { try slot.definition.access.encode(record, &$0) }
    }
    var bytes = [UInt8](repeating: 0xEE, count: encoder.bodyByteCount)
    var keys = SealingKeys(vault, Flag(true), for: plan.collection)
    var nonces = NonceRun()
    try bytes.withBytes(in: 0..<bytes.count) { (bytes: inout MutableRawSpan) throws(NotelogError) in
      try encoder.write(record.id, of: plan.collection, keys: &keys, nonces: &nonces, into: &bytes)
    }
    return bytes
  }

  func entry<R: Record>(_ body: [UInt8], _ id: RecordID, _ plan: RecordPlan<R>) throws -> Entry<R> {
    Entry(
      stored: try OwnedRecord(id: id, revision: 1, collection: 1, copying: body.rawSpan),
      reader: RecordReader(plan: plan, opener: opener))
  }
}

private func sample() throws -> Everything {
  Everything(
    flag: true, count: -5, small: -300, mask: .max, ratio: .pi, narrow: 1.5, name: "Ada", raw: [1, 2, 3],
    data: Data([4, 5]), moment: Date(timeIntervalSinceReferenceDate: 0.1), uuid: UUID(),
    link: try #require(URL(string: "https://example.org")),
    address: Address(street: String(repeating: "Long Street ", count: 40), number: 1),
    colour: Colour(red: 1, green: 2, blue: 3), perhaps: nil, secret: Date(timeIntervalSinceReferenceDate: 99))
}

@Suite struct FieldSealingTests {
  /// Read is the process's own memory at the places where the values were: what has been given back may be
  /// somebody else's by now, or gone, but holds none of them. (Linux shows it as a file.)
  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/mem")))
  func `an encoder that grows, packs, is wiped or goes leaves no value in the memory that it had`() throws {
    let bench = try Bench()
    let plan = bench.note.collection
    let (title, body) = (try plan.index(of: "title"), try plan.index(of: "body"))
    let (titlePart, bodyPart) = ("a title nobody sees; ", "what nobody is to read; ")
    let titleByteCount = 20 * titlePart.utf8.count
    let memory = try SystemStorage(path: "/proc/self").openFile("mem", .read)
    defer { memory.close() }
    // Not at the start, where the allocator notes down what it was given back.
    func holds(_ part: String, _ number: Int, at place: Int) -> Bool {
      let count = part.utf8.count
      return (try? memory.read(count, at: place + number * count)) == Array(part.utf8)
    }
    func place(of encoder: borrowing RecordEncoder) -> Int {
      // SAFETY: the address is a number here: nothing is read by it but through the file.
      unsafe encoder.scratch.bytes.withUnsafeBytes { Int(bitPattern: $0.baseAddress) }
    }
    let last: Int
    do {
      var encoder = RecordEncoder()
      encoder.begin()
      try encoder.add(title, of: plan) { $0.append(String(repeating: titlePart, count: 20)) }
      let first = place(of: encoder)
      #expect(holds(titlePart, 10, at: first))
      // Looked at before anything else takes the memory.
      try encoder.add(body, of: plan) { scratch in
        let text = String(repeating: bodyPart, count: 300)
        scratch.append(text)
        let isLeft = holds(titlePart, 10, at: first)
        #expect(!isLeft, "left behind when it grew")
      }
      last = place(of: encoder)
      #expect(first != last && holds(titlePart, 10, at: last))
      let byteCount = encoder.scratch.count
      #expect(byteCount < titleByteCount + 150 * bodyPart.utf8.count, "the body is compressed")
      #expect(!holds(bodyPart, 200, at: last + titleByteCount), "left behind when it packed")
      encoder.wipe()
      #expect(!holds(titlePart, 10, at: last), "left behind when it was wiped")
      try encoder.add(title, of: plan) { $0.append(String(repeating: titlePart, count: 20)) }
      let again = place(of: encoder)
      #expect(again == last && holds(titlePart, 10, at: last))
    }
    #expect(!holds(titlePart, 10, at: last), "left behind when it went")
  }

  @Test func `a record with every kind of field comes back whole`() throws {
    let bench = try Bench()
    let record = try sample()
    let entry = try bench.entry(try bench.body(record, bench.everything), record.id, bench.everything)
    #expect(try entry.record() == record)
    #expect(try entry.secret == record.secret)
    #expect(try entry.address == record.address)
  }

  @Test func `one field is opened and no other`() throws {
    let bench = try Bench()
    let note = Note(title: "Clark", body: String(repeating: "x", count: 10_000))
    let entry = try bench.entry(try bench.body(note, bench.note), note.id, bench.note)
    #expect(try entry.title == "Clark")
    #expect(bench.opener.metrics.fieldsOpened == 1)
    #expect(bench.opener.metrics.bytesOpened == 5)
    #expect(try entry.time == note.time)
    #expect(bench.opener.metrics.fieldsOpened == 1)
  }

  @Test func `nothing sealed stands in the body`() throws {
    let bench = try Bench()
    let body = try bench.body(Note(title: "Kryptonite", body: "Kryptonite"), bench.note)
    #expect(!String(decoding: body, as: UTF8.self).contains("Krypt"))
  }

  @Test func `compression makes a long text short, and leaves one that won't shrink as it is`() throws {
    let bench = try Bench()
    for text in ["", "x", String(repeating: "all work and no play ", count: 500)] {
      let note = Note(title: "", body: text)
      let body = try bench.body(note, bench.note)
      #expect(body.count < 400)
      let entry = try bench.entry(body, note.id, bench.note)
      let flags = try #require(try entry.stored.find(3)).flags
      #expect(flags.contains(.compressed) == (text.count > 100) && flags.contains(.padded))
      #expect(try entry.body == text)
    }
  }

  /// INV-E2: the key fits, and what it opens can't be unpacked.
  @Test(arguments: [[0], [0x80], [9, 0, 0, 0, 1, 2, 3, 0x80]] as [[UInt8]])
  func `a value that opens and can't be unpacked leaves no plaintext`(_ start: [UInt8]) throws {
    let bench = try Bench()
    let plan = bench.note.collection
    let note = Note(title: "", body: String(repeating: "all work and no play ", count: 500))
    var body = try bench.body(note, bench.note)
    let entry = try #require(try RecordBody(checking: body.rawSpan).find(3))
    let index = try #require(plan.index(of: 3))
    let key = try bench.opener.vault.sealingKey(KeyReference(rawValue: entry.keyReference))
    let count = entry.range.count - RecordBody.sealOverhead
    let broken = start + [UInt8](repeating: 0, count: count - start.count)
    let data = plan.additionalData(entry, index, note.id)
    var nonces = NonceRun()
    try body.withBytes(in: entry.range) { span throws(CryptoError) in
      try key.seal(broken.rawSpan, additionalData: data.bytes, nonces: &nonces, into: &span)
    }
    var opening = Opening()
    #expect(throws: NotelogError.self) {
      try opening.load(entry, in: body.rawSpan, of: note.id, index, plan, bench.opener)
    }
    let isEmpty = opening.bytes.isEmpty
    #expect(isEmpty)
  }

  @Test func `every bit of a sealed value, of its flags, type and key is authenticated`() throws {
    let bench = try Bench()
    let note = Note(title: "Clark", body: "secret identity")
    let body = try bench.body(note, bench.note)
    let title = try #require(try bench.entry(body, note.id, bench.note).stored.find(2)).range
    // The directory's second entry but for its number and length, then the value.
    let bytes = Array(18..<24) + Array(title)
    for bit in bytes.flatMap({ byte in (0..<8).map { byte * 8 + $0 } }) {
      var damaged = body
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(throws: NotelogError.self, "bit \(bit)") {
        _ = try bench.entry(damaged, note.id, bench.note).title
      }
    }
  }

  @Test func `a value moved to another record, field, collection or store is refused`() throws {
    let bench = try Bench()
    let note = Note(title: "same", body: "")
    let body = try bench.body(note, bench.note)
    // Another record.
    #expect(throws: NotelogError(.tampered, "")) { try bench.entry(body, RecordID(), bench.note).title }
    // Another field: name and colour change places in what the plan says of the numbers.
    let swapped = try RecordPlan(
      Note.schema, CollectionPlan(swap(bench.note.collection.schema), storeID: bench.note.collection.storeID))
    #expect(throws: NotelogError(.tampered, "")) { try bench.entry(body, note.id, swapped).title }
    // Another collection.
    var renamed = bench.note.collection.schema
    renamed = StoredSchema(
      collection: 2, revision: 1, firstName: "diary", name: "note", fields: renamed.fields)
    let other = try RecordPlan(Note.schema, CollectionPlan(renamed, storeID: bench.note.collection.storeID))
    #expect(throws: NotelogError(.tampered, "")) { try bench.entry(body, note.id, other).title }
    // Another store.
    let stranger = try RecordPlan(Note.schema, CollectionPlan(bench.note.collection.schema, storeID: .zero))
    #expect(throws: NotelogError(.tampered, "")) { try bench.entry(body, note.id, stranger).title }
    #expect(try bench.entry(body, note.id, bench.note).title == "same")
  }

  /// What a value may be moved along. The plan permits what the directory then says, so that it is the seal
  /// that refuses it.
  enum Axis: CaseIterable {
    case record, field, collection, type, flags, key, store
  }

  @Test(arguments: Axis.allCases)
  func `a value moved along one axis, which the schema permits, is refused by its seal`(axis: Axis) throws {
    let bench = try Bench()
    let note = Note(title: "same", body: "")
    var body = try bench.body(note, bench.note)
    var schema = bench.note.collection.schema
    var storeID = bench.note.collection.storeID
    var id = note.id
    let title = schema.fields[1]
    // The title's entry in the directory: its type is at 18, its flags at 19, its key at 20.
    func changed(
      type: FieldType = .text, firstName: String = "title", keys: [UInt32]? = nil, flags: FieldFlags = .sealed
    )
      -> StoredField
    {
      StoredField(
        number: 2, type: type, firstName: firstName, name: "title", flags: flags,
        keys: keys ?? title.keys)
    }
    func setKey(_ key: UInt32) {
      for index in 0..<4 { body[20 + index] = UInt8(truncatingIfNeeded: key >> (8 * UInt32(index))) }
    }
    switch axis {
    case .record: id = RecordID()
    case .field: schema.fields[1] = changed(firstName: "heading")
    case .collection:
      schema = StoredSchema(
        collection: 2, revision: 1, firstName: "diary", name: "note", fields: schema.fields)
    case .type:
      schema.fields[1] = changed(type: .bytes)
      body[18] = FieldType.bytes.rawValue
    case .flags:
      schema.fields[1] = changed(flags: [.sealed, .optional])
      body[19] |= FieldFlags.optional.rawValue
    case .key:
      let other = try #require(schema.fields[2].keys.last)
      schema.fields[1] = changed(keys: title.keys + [other])
      setKey(other)
    case .store: storeID = .zero
    }
    let collection = try CollectionPlan(schema, storeID: storeID)
    let index = try collection.index(of: "title")
    let stored = try OwnedRecord(id: id, revision: 1, collection: 2, copying: body.rawSpan)
    let entry = try #require(try stored.find(2))
    #expect(throws: NotelogError(.tampered, "")) {
      try bench.opener.open(entry, in: stored.body.rawSpan, of: id, index, collection) { $0.byteCount }
    }
    // Where nothing was moved, it opens the same way.
    let unmoved = try bench.body(note, bench.note)
    let own = try OwnedRecord(
      id: note.id, revision: 1, collection: 2, copying: unmoved.rawSpan)
    let count = try bench.opener.open(
      try #require(try own.find(2)), in: own.body.rawSpan, of: note.id, index, bench.note.collection
    ) { $0.byteCount }
    #expect(count == 4)
  }

  /// The schema with the first names of the fields numbered 2 and 3 exchanged, and one key for both.
  private func swap(_ schema: StoredSchema) throws -> StoredSchema {
    var swapped = schema
    let fields = schema.fields
    swapped.fields[1] = StoredField(
      number: 2, type: .text, firstName: fields[2].firstName, name: "title", flags: fields[1].flags,
      keys: fields[1].keys)
    return swapped
  }

  @Test func `a locked key throws locked, and plain fields are still read`() throws {
    let bench = try Bench()
    let note = Note(title: "Clark", body: "x")
    let entry = try bench.entry(try bench.body(note, bench.note), note.id, bench.note)
    bench.vault.lock()
    #expect(throws: NotelogError(.locked, "")) { try entry.title }
    #expect(try entry.time == note.time)
    #expect(throws: NotelogError(.locked, "")) { try bench.body(note, bench.note) }
  }

  @Test func `a plain value where a sealed one belongs is refused`() throws {
    let bench = try Bench()
    let note = Note(title: "Clark", body: "x")
    var body = try bench.body(note, bench.note)
    // The title's entry: flags and key reference gone, so that its bytes pass for plain text.
    for offset in 19..<24 { body[offset] = 0 }
    #expect(throws: NotelogError(.tampered, "")) { try bench.entry(body, note.id, bench.note).title }
  }

  @Test func `INV-M3 a key that the field never had doesn't open it`() throws {
    let bench = try Bench()
    let note = Note(title: "Clark", body: "")
    let body = try bench.body(note, bench.note)
    var schema = bench.note.collection.schema
    // The keyring has the key, and it sealed the value: the schema is what says no.
    schema.fields[1].keys = [999]
    let plan = try RecordPlan(Note.schema, CollectionPlan(schema, storeID: bench.note.collection.storeID))
    #expect(throws: NotelogError(.tampered, "")) { try bench.entry(body, note.id, plan).title }
    schema.fields[1].keys = bench.note.collection.schema.fields[1].keys + [999]
    let wider = try RecordPlan(Note.schema, CollectionPlan(schema, storeID: bench.note.collection.storeID))
    #expect(try bench.entry(body, note.id, wider).title == "Clark")
  }
}
