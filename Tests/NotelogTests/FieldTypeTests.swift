// Enumerations and Codable types as fields: what an app writes, and nothing by hand.

import Foundation
import Testing

import Notelog

private enum Mood: String, FieldValue { case calm, cross }
private enum Level: Int, Codable, FieldValue { case low = 1, high = 3 }
private struct Tags: OptionSet, FieldValue {
  let rawValue: Int
  static let urgent = Tags(rawValue: 1)
  static let shared = Tags(rawValue: 2)
}
private enum Shape: Codable, Equatable, FieldValue { case circle(Double), square(side: Double) }

private struct Diary: Record, Equatable {
  var id = RecordID()
  var mood = Mood.calm
  var level = Level.low
  var tags: Tags = []
  var shape = Shape.circle(1)
  var before: Mood?
  var words: [String] = []
  var prices: [String: Decimal] = [:]
  var note: [Int]?
  static let schema = Schema<Diary>("diary") {
    Plain("mood", \.mood, indexed: true)
    Sealed("level", \.level)
    Plain("tags", \.tags)
    Sealed("shape", \.shape)
    Plain("before", \.before)
    Plain("words", json: \.words)
    Sealed("prices", json: \.prices, compressed: true)
    Sealed("note", json: \.note)
  }
}

/// The same collection, as a newer version of the app would have it: one mood more.
private struct NewerDiary: Record {
  enum Mood: String, FieldValue { case calm, cross, glad }
  var id = RecordID()
  var mood = Mood.calm
  static let schema = Schema<NewerDiary>("diary") { Plain("mood", \.mood, indexed: true) }
}

/// A tree as deep as the document says.
private struct Deep: Codable, FieldValue { var inner: [Deep] = [] }
private struct Pit: Record {
  var id = RecordID()
  var deep = Deep()
  static let schema = Schema<Pit>("pit") { Plain("deep", \.deep) }
}

@Suite struct FieldTypeTests {
  private static let full = Diary(
    mood: .cross, level: .high, tags: [.shared, .urgent], shape: .square(side: 2), before: .calm,
    words: ["b", "a"], prices: ["tea": 3.5, "cake": 4], note: [1, 2])

  @Test func `enumerations are kept as their raw values, Codable types as JSON`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let (full, empty) = (Self.full, Diary())
    try store.write { tx in
      try tx.put(full)
      try tx.put(empty)
    }
    try store.close()
    let reopened = try folder.open()
    #expect(try reopened.get(Diary.self, full.id)?.record() == full)
    #expect(try reopened.get(Diary.self, empty.id)?.record() == empty)
    let entry = try #require(try reopened.collection("diary").get(full.id))
    #expect(try entry.value("mood") == .text("cross") && entry.value("level") == .integer(3))
    #expect(try entry.value("tags") == .integer(3) && entry.value("before") == .text("calm"))
    #expect(try entry.value("words") == .json(Array(#"["b","a"]"#.utf8)))
    #expect(try entry.value("prices") == .json(Array(#"{"cake":4,"tea":3.5}"#.utf8)))
    #expect(try entry.value("note") == .json(Array("[1,2]".utf8)))
    #expect(try reopened.collection("diary").get(empty.id)?.value("note") == .missing)
  }

  @Test func `an indexed enumeration is asked for by its index`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll((0..<100).map { Diary(mood: $0 == 50 ? .cross : .calm, words: ["\($0)"]) })
    let query = store.query(Diary.self).where(\.mood, is: .cross)
    #expect(try query.entries().map { try $0.words } == [["50"]])
    #expect(try query.explain().indexes.first?.fields == ["mood"])
    #expect(try store.query(Diary.self).filter(\.words) { $0.contains("7") }.count() == 1)
  }

  @Test func `fields of all these types are updated and read alone`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let full = Self.full
    try store.write { tx in try tx.put(full) }
    try store.write { tx in
      try tx.update(Diary.self, full.id) {
        $0.set(\.words, ["c"])
        $0.set(\.note, nil)
        $0.set(\.before, nil)
      }
    }
    let entry = try #require(try store.get(Diary.self, full.id))
    #expect(try entry.words == ["c"] && entry.note == nil && entry.before == nil && entry.level == .high)
    var buffer = ValueBuffer()
    let mood = try store.field(\Diary.mood)
    #expect(try store.get(mood, of: full.id, using: &buffer) == .cross)
  }

  @Test func `a raw value that this version doesn't know is a type mismatch, and is not quoted`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let full = Self.full
    try store.write { tx in try tx.put(full) }
    try store.write { tx in try tx.update(NewerDiary.self, full.id) { $0.set(\.mood, .glad) } }
    let entry = try #require(try store.get(Diary.self, full.id))
    let error = #expect(throws: NotelogError.self) { try entry.mood }
    #expect(error?.code == .typeMismatch && error?.message.contains("glad") == false)
    #expect(try entry.level == .high)
  }

  @Test func `a document that is nested too deeply is refused`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let pit = Pit()
    try store.write { tx in try tx.put(pit) }
    let deep = String(repeating: #"{"inner":["#, count: 200_000) + String(repeating: "]}", count: 200_000)
    try store.collection("pit").update(pit.id, ["deep": .json(Array(deep.utf8))])
    let entry = try #require(try store.get(Pit.self, pit.id))
    #expect(throws: NotelogError(.typeMismatch, "")) { try entry.deep }
  }
}
