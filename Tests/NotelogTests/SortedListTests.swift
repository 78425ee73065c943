// Lists of records whose type is not known: in order, whatever way leads to them, and no more of them read
// than are wanted.

import Foundation
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct SortedListTests {
  private static let fields: [FieldDescription] = [
    .plain("time", .date, indexed: true), .plain("flag", .boolean, optional: true),
    .plain("name", .text, indexed: true), .sealed("title", .text, optional: true), .plain("number", .uuid),
  ]

  /// Fills a collection with values of which many are equal, and long texts that begin alike.
  private static func fill(_ notes: DynamicCollection, count: Int) throws {
    var random = SeededGenerator(seed: 11)
    func text(_ number: Int) -> DynamicValue {
      .text(String(repeating: "x", count: number % 40) + "\(number % 9)")
    }
    try notes.add(
      (0..<count).map { number in
        var values: [String: DynamicValue] = [
          "time": .date(Date(timeIntervalSinceReferenceDate: Double(Int.random(in: -9...9, using: &random)))),
          "name": text(Int.random(in: 0...200, using: &random)),
          "number": .uuid(
            UUID(uuid: (UInt8(number % 3), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number % 5)))),
        ]
        if number % 3 > 0 { values["title"] = text(Int.random(in: 0...200, using: &random)) }
        if number % 5 > 1 { values["flag"] = number % 5 == 2 ? .missing : .boolean(number % 5 == 3) }
        return values
      })
  }

  @Test(arguments: [SortDirection.ascending, .descending])
  func `every field's order is that of its values, then of ids`(direction: SortDirection) throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let notes = try store.createCollection("note", fields: Self.fields)
    try Self.fill(notes, count: 400)
    // What changed since an index was made is found where it is now.
    _ = try notes.query().sorted(by: "time").first()
    let changed = try notes.query().limit(3).entries()
    for entry in changed {
      try notes.update(entry.id, ["time": .date(Date(timeIntervalSinceReferenceDate: 50))])
    }
    func rank(_ value: DynamicValue) -> (Int, Double, [UInt8]) {
      switch value {
      case .boolean(let value): (1, value ? 1 : 0, [])
      case .date(let value): (1, value.timeIntervalSinceReferenceDate, [])
      case .text(let value): (1, 0, Array(value.utf8))
      case .uuid(let value): (1, 0, Array(value.uuidString.utf8))
      // Whether nil is stored or the field is not there is the same.
      default: (0, 0, [])
      }
    }
    let all = try notes.query().entries()
    for field in Self.fields.map(\.name) {
      let ranked = try all.map { entry in
        (rank(try entry.value(field)), entry.id)
      }
      let expected = ranked.sorted { left, right in
        let (one, other) = (left.0, right.0)
        if one.0 != other.0 { return (one.0 < other.0) == (direction == .ascending) }
        if one.1 != other.1 { return (one.1 < other.1) == (direction == .ascending) }
        if one.2 != other.2 { return one.2.lexicographicallyPrecedes(other.2) == (direction == .ascending) }
        return left.1 < right.1
      }.map(\.1)
      for limit in [nil, 1, 7, 399, 400] as [Int?] {
        let wanted = Array(expected.prefix(limit ?? .max))
        let sorted = notes.query().sorted(by: field, direction)
        let page = limit.map { sorted.limit($0) } ?? sorted
        for query in [page, page.where(.field("name") { _ in true }), page.parallel(3)] {
          #expect(try query.entries().map(\.id) == wanted, "\(field)")
          var seen: [RecordID] = []
          try query.forEach { entry in
            seen.append(entry.id)
            return true
          }
          #expect(seen == wanted, "\(field)")
        }
      }
    }
  }

  /// The bug: all records were read for the first ten by an indexed field.
  @Test func `the first by an indexed field are found without reading the others`() throws {
    let disk = SimulatedDisk()
    var options = Store.Options()
    options.segmentByteCount = 64 << 10
    var store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    let notes = try store.createCollection("note", fields: Self.fields)
    try Self.fill(notes, count: 5000)
    // Leaves the index to the next opening.
    _ = try notes.query().sorted(by: "time").first()
    try store.close()
    options.isReadOnly = true
    store = try Store.open(in: disk, unlocking: nil, options: options)
    let collection = try store.collection("note")
    var start = disk.callCount
    let byTime = collection.query().sorted(by: "time")
    #expect(try byTime.where(.field("time") { _ in true }).entries().count == 5000)
    let all = disk.callCount - start
    #expect(store.indexes.index(OrderName(collection: collection.plan.number, field: 1)) == nil)
    start = disk.callCount
    #expect(try byTime.limit(10).entries().count == 10)
    let first = disk.callCount - start
    #expect(first < 40 && all > 2 * first, "\(first) of \(all)")
    try store.close()
  }

  /// The bug: each was a transaction of its own, which wrote all schemas that were there before it.
  @Test func `several collections are made at once, all of them or none`() throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let revision = store.info().nextRevision
    let names = (0..<300).map { "collection \($0)" }
    try store.createCollections(names.map { ($0, [.plain("name", .text)]) })
    #expect(store.info().nextRevision == revision + 1)
    #expect(store.collections.map(\.name) == names)
    #expect(throws: NotelogError(.schemaConflict, "")) {
      try store.createCollections([("new", []), (names[3], [.plain("name", .integer)])])
    }
    #expect(throws: NotelogError(.invalidArgument, "")) {
      try store.createCollections([("new", []), ("", [])])
    }
    #expect(store.collections.count == 300)
    try store.close()
    store = try folder.open()
    #expect(store.collections.map(\.name) == names)
    try store.close()
  }
}
