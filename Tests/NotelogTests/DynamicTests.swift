// Records by field name, as the tool uses them.

@testable import NotelogFormat
import NotelogBase
import Foundation
import NotelogTestSupport
import Testing

@testable import Notelog

private let noteFields: [FieldDescription] = [
  .plain("time", .date, indexed: true), .sealed("title", .text), .sealed("body", .text),
]

private struct Mood: Record {
  var id = RecordID()
  var mood: Int?
  var number = 0
  static let schema = Schema<Mood>("mood") {
    Plain("mood", \.mood)
    Plain("number", \.number)
  }
}

@Suite struct DynamicTests {
  @Test func `records are added, read, updated and removed by field name`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let notes = try store.createCollection("note", fields: noteFields)
    let time = Date(timeIntervalSinceReferenceDate: 5)
    let id = try notes.add(["time": .date(time), "title": .text("Clark")])
    var entry = try #require(try notes.get(id))
    #expect(entry.fields.map(\.name) == ["time", "title"])
    #expect(entry.fields.map(\.isSealed) == [false, true])
    #expect(try entry.value("title") == .text("Clark"))
    #expect(try entry.value("body") == .missing)
    #expect(throws: NotelogError(.notFound, "")) { try entry.value("colour") }
    try notes.update(id, ["body": .text("…")])
    entry = try #require(try notes.get(id))
    #expect(try entry.value("body") == .text("…"))
    #expect(try entry.value("time") == .date(time))
    #expect(try notes.remove(id))
    #expect(try !notes.remove(id))
    #expect(try notes.get(id) == nil)
  }

  /// The bug: a field that was declared again without its index, padding or compression lost them.
  @Test func `a collection is brought up to date, and what is not said stays as it is`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let fields: [FieldDescription] = [
      .plain("time", .date, indexed: true), .sealed("pin", .text, key: "pins", compressed: true),
      .plain("old", .integer),
    ]
    try store.createCollection("note", fields: fields)
    try store.createCollection(
      "note", fields: [.plain("time", .date), .sealed("pin", .text, key: "pins"), .plain("new", .bytes)],
      retiring: ["old"])
    let notes = try store.collection("note")
    #expect(notes.fields.map(\.name) == ["time", "pin", "old", "new"])
    #expect(notes.fields.map(\.isIndexed) == [true, false, false, false])
    #expect(notes.fields[1].isPadded && notes.fields[1].isCompressed)
    #expect(notes.fields.map(\.isRetired) == [false, false, true, false])
    // What was declared as it is, is as it was.
    let revision = notes.plan.schema.revision
    let known = notes.fields.filter { !$0.isRetired }.map { FieldDescription($0) }
    try store.createCollection("note", fields: known)
    #expect(try store.collection("note").plan.schema.revision == revision)
  }

  @Test func `collections and fields are renamed, their records unread, and again`() throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let id = try store.createCollection("note", fields: noteFields).add(["title": .text("Clark")])
    for (former, collection, old, new) in [
      ("note", "letter", "title", "subject"), ("letter", "memo", "subject", "about"),
      ("memo", "note", "about", "title"), ("note", "last", "title", "end"),
    ] {
      try store.createCollection(collection, formerly: former, fields: [])
      var field = FieldDescription(
        try #require(try store.collection(collection).fields.first { $0.name == old }))
      field.name = new
      try store.createCollection(collection, fields: [field])
    }
    try store.close()
    store = try folder.open()
    #expect(store.collections.map(\.name) == ["last"])
    #expect(try store.collection("last").get(id)?.value("end") == .text("Clark"))
    #expect(throws: NotelogError(.schemaConflict, "")) {
      var field = FieldDescription(try store.collection("last").fields[0])
      field.name = "body"
      try store.createCollection("last", fields: [field])
    }
  }

  @Test func `records of all collections are counted together`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let names = ["a", "b", "c"]
    try store.createCollections(names.map { ($0, noteFields) })
    for (count, name) in names.enumerated() {
      let notes = try store.collection(name)
      let ids = try (0..<2 * count).map { _ in try notes.add(["title": .text(name)]) }
      for id in ids.prefix(count) { #expect(try notes.remove(id)) }
    }
    let counted = try store.countRecords()
    #expect(counted.map(\.collection.name) == names && counted.map(\.recordCount) == [0, 1, 2])
    #expect(try counted.map { try $0.collection.count } == [0, 1, 2])
  }

  /// The bug: only the first 64 bytes were compared, as many as a sort key of the format has.
  @Test func `texts that begin alike are sorted by what follows`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let notes = try store.createCollection("note", fields: noteFields)
    let titles = ["z", "e\u{301}", "\u{E9}", "a"].map { String(repeating: "same ", count: 20) + $0 }
    for title in titles { try notes.add(["title": .text(title)]) }
    let ascending = try notes.query().sorted(by: "title").entries().map { try $0.value("title") }
    #expect(ascending == [titles[3], titles[1], titles[0], titles[2]].map { .text($0) })
    #expect(
      try notes.query().sorted(by: "title", .descending).entries().map { try $0.value("title") }
        == ascending.reversed())
  }

  @Test func `wrong names, wrong types and missing values are refused`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let notes = try store.createCollection("note", fields: noteFields)
    #expect(throws: NotelogError(.notFound, "")) { try notes.add(["colour": .text("red")]) }
    #expect(throws: NotelogError(.typeMismatch, "")) { try notes.add(["title": .integer(1)]) }
    #expect(throws: NotelogError(.invalidArgument, "")) { try notes.add(["title": .missing]) }
    #expect(throws: NotelogError(.notFound, "")) { try notes.update(RecordID(), ["title": .text("")]) }
    #expect(throws: NotelogError(.notFound, "")) { try store.collection("diary") }
    #expect(throws: NotelogError(.invalidArgument, "")) {
      try store.createCollection("x", fields: [.plain("a", .text), .plain("a", .text)])
    }
    #expect(try notes.count == 0)
  }

  @Test func `records are listed by any field, sealed ones too`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let notes = try store.createCollection("note", fields: noteFields)
    try notes.add(
      ["b", "c", "a"].enumerated().map { index, title in
        ["time": .date(Date(timeIntervalSinceReferenceDate: -Double(index))), "title": .text(title)]
      })
    func titles(_ query: Query<DynamicEntry>) throws -> [DynamicValue] {
      try query.entries().map { try $0.value("title") }
    }
    let byTime = notes.query().sorted(by: "time")
    #expect(try titles(notes.query().sorted(by: "title")) == [.text("a"), .text("b"), .text("c")])
    #expect(try titles(byTime.limit(1)) == [.text("a")])
    #expect(
      try titles(notes.query().sorted(by: "time", .descending).limit(2)) == [.text("b"), .text("c")])
    #expect(try notes.query().limit(2).entries().count == 2)
    store.lock()
    #expect(try byTime.entries().count == 3)
    #expect(throws: NotelogError(.locked, "")) { try notes.query().sorted(by: "title").entries() }
  }

  /// The bug: all records were opened and kept, however few were asked for.
  @Test(arguments: [SortDirection.ascending, .descending])
  func `a limit and a condition give what a sorted list of all begins with`(direction: SortDirection) throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let notes = try store.createCollection("note", fields: noteFields)
    var random = SeededGenerator(seed: 5)
    try notes.add(
      (0..<300).map { number in
        // Some lack the field, and many have the same value.
        let time = Date(timeIntervalSinceReferenceDate: Double(Int.random(in: -20...20, using: &random)))
        return number % 7 == 0
          ? ["title": .text("\(number)")] : ["time": .date(time), "title": .text("\(number)")]
      })
    for field in ["time", "title"] {
      let sorted = notes.query().sorted(by: field, direction)
      let all = try sorted.entries()
      let keys = try all.map { try $0.value(field).description }
      #expect(all.count == 300 && Set(all.map(\.id)).count == 300 && Set(keys).count > 30)
      for limit in [0, 1, 2, 17, 299, 300, 1000, Int.max] {
        let first = try sorted.limit(limit).entries()
        #expect(first.map(\.id) == all.prefix(limit).map(\.id), "\(field), \(limit)")
        let isOdd: @Sendable (DynamicValue) -> Bool = { $0.description.hasSuffix("1") }
        let found = try sorted.where(.field("title", satisfies: isOdd)).limit(limit).entries()
        let odd = try all.filter { isOdd(try $0.value("title")) }
        #expect(found.map(\.id) == odd.prefix(limit).map(\.id), "\(field), \(limit)")
      }
    }
    let byID = try notes.query().entries().map(\.id)
    #expect(Set(byID).count == 300)
    #expect(byID == byID.sorted())
    #expect(try notes.query().limit(9).entries().map(\.id) == Array(byID.prefix(9)))
    #expect(try notes.count == 300)
  }

  /// The bug: what an app had stored as nil came behind what had been added without the field, whatever the
  /// next field said.
  @Test func `a record without an optional field ties with one that has nil there`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll(stride(from: 1, to: 10, by: 2).map { Mood(number: $0) } + [Mood(mood: 7, number: 10)])
    let moods = try store.collection("mood")
    try moods.add(stride(from: 0, to: 10, by: 2).map { ["number": .integer(Int64($0))] })
    for isDescending in [false, true] {
      let query = moods.query().sorted(by: "mood", isDescending ? .descending : .ascending)
      let numbers = try query.sorted(by: "number").entries().map { try $0.value("number") }
      let expected = isDescending ? [10] + Array(0..<10) : Array(0...10)
      #expect(numbers == expected.map { .integer(Int64($0)) })
    }
  }

  /// The bug: one record that did not check, and no list of its collection could be had.
  @Test(arguments: [Layout.frameHeaderByteCount + 20, 8])
  func `records that are damaged are handed over by id, and the others are listed`(place: Int) throws {
    let disk = SimulatedDisk()
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    var store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    let added = try store.createCollection("note", fields: noteFields).add(
      (0..<400).map {
        ["time": .date(Date(timeIntervalSinceReferenceDate: Double($0))), "title": .text("\($0)")]
      })
    try store.createCollection("other", fields: [.plain("bytes", .bytes)]).add(
      (0..<20).map { _ in ["bytes": .bytes([UInt8](repeating: 1, count: 2000))] })
    let harmed = [added[3], added[200]]
    let places = try harmed.map { try #require(try store.journal.catalog.location(of: $0.bytes)) }
    try store.close()
    for location in places {
      let name = FileName.segment(location.segment)
      var bytes = try #require(disk.contents(name))
      bytes[Int(location.offset) + place] ^= 1
      disk.replace(name, with: bytes)
    }
    options.isReadOnly = true
    store = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: options)
    let notes = try store.collection("note")
    #expect(try notes.count == 400)
    let sound = added.filter { !harmed.contains($0) }
    for field in ["time", "title", nil] {
      let said = Lock<[RecordID]>([])
      var query = notes.query()
      if let field { query = query.sorted(by: field) }
      if field == "time" { query = query.limit(300) }
      let found = try query.onDamage { finding in
        #expect(NotelogError(finding).code == .damaged)
        said.withLock { $0 += [finding.record].compactMap(\.self) }
      }.entries()
      #expect(said.withLock { $0 }.sorted() == harmed.sorted())
      if field == "time" { #expect(found.map(\.id) == Array(sound.prefix(300))) }
      #expect(Set(found.map(\.id)).isSubset(of: Set(sound)) && found.count == (field == "time" ? 300 : 398))
      // Where nobody says what to do about it, it is an error.
      #expect(throws: NotelogError(.damaged, "")) { try query.entries() }
    }
    // Going on no further is an answer too.
    let calls = Lock(0)
    #expect(throws: CancellationError.self) {
      try notes.query().sorted(by: "time").onDamage { _ in
        calls.withLock { $0 += 1 }
        throw CancellationError()
      }.entries()
    }
    #expect(calls.withLock { $0 } == 1)
  }

  @Test func `a typed record and the tool see the same`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let record = Everything(
      flag: true, count: -7, small: 3, ratio: 0.5, name: "Ada", raw: [1, 255],
      address: Address(street: "s", number: 2),
      perhaps: "so", secret: nil)
    try store.write { tx in try tx.put(record) }
    let collection = try store.collection("everything")
    let entry = try #require(try collection.get(record.id))
    #expect(try entry.value("count") == .integer(-7))
    #expect(try entry.value("raw") == .bytes([1, 255]))
    #expect(try entry.value("perhaps") == .text("so"))
    #expect(try entry.value("secret") == .missing)
    #expect(try entry.value("address").description == #"{"number":2,"street":"s"}"#)
    try collection.update(record.id, ["small": .integer(4), "perhaps": .missing])
    let back = try #require(try store.get(Everything.self, record.id))
    #expect(try back.small == 4 && back.perhaps == nil && back.name == "Ada")
    try collection.update(record.id, ["small": .integer(40_000)])
    #expect(throws: NotelogError(.typeMismatch, "")) { try store.get(Everything.self, record.id)?.small }
  }

  @Test func `nothing is written by field name before the schema was checked`() throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let id = try store.createCollection("note", fields: noteFields).add(["title": .text("x")])
    try store.close()
    store = try folder.open(nil)
    let notes = try store.collection("note")
    #expect(notes.fields.map(\.keyName) == [nil, nil, nil])
    #expect(throws: NotelogError(.locked, "")) { try notes.update(id, ["time": .date(Date())]) }
    #expect(throws: NotelogError(.locked, "")) { try notes.add(["time": .date(Date())]) }
    #expect(throws: NotelogError(.locked, "")) { try store.createCollection("other", fields: []) }
    #expect(try notes.get(id)?.fields.count == 1)
    try store.unlock(TemporaryFolder.key)
    try notes.update(id, ["time": .date(Date())])
    #expect(notes.fields.map(\.keyName) == [nil, "default", "default"])
  }

  @Test func `values are shown as text`() throws {
    let id = "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"
    let cases: [(DynamicValue, String)] = [
      (.missing, ""), (.boolean(true), "true"), (.integer(-12), "-12"),
      (.unsigned(.max), "18446744073709551615"), (.double(0.1), "0.1"), (.text("any text"), "any text"),
      (.bytes([0, 0xFF, 0x10]), "00ff10"),
      (.date(Date(timeIntervalSinceReferenceDate: 791_542_800.25)), "2026-01-31T09:00:00.250Z"),
      (.uuid(try #require(UUID(uuidString: id))), id),
      (.url(try #require(URL(string: "https://example.org/"))), "https://example.org/"),
      (.json(Array(#"{"a":[1,2]}"#.utf8)), #"{"a":[1,2]}"#),
    ]
    for (value, text) in cases { #expect(value.description == text) }
  }
}
