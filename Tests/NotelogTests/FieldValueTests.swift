// Values become bytes and come back (FORMAT.md 7.3).

@testable import NotelogBase
import Foundation
@testable import Notelog
import NotelogTestSupport
import Testing

private func bytes(_ value: some StoredValue) -> [UInt8] {
  var bytes = [UInt8](repeating: 0xEE, count: value._storedByteCount)
  bytes.withBytes(in: 0..<bytes.count) { value._store(into: &$0) }
  return bytes
}

private func sortKey<Value: SortableValue>(_ value: Value) -> [UInt8] {
  let stored = bytes(value)
  var key = [UInt8](repeating: 0xEE, count: SortKey.byteCount(ofValue: stored.count))
  key.withBytes(in: 0..<key.count) { key in
    SortKey.write(Value.fieldType, isOptional: Value.isOptional, stored.rawSpan, into: &key)
  }
  return key
}

private func load<Value: StoredValue>(_ type: Value.Type, _ bytes: [UInt8]) throws -> Value {
  try Value(_loading: bytes.rawSpan)
}

private func expectReturns<Value: FieldValue & Equatable>(_ value: Value) throws {
  let back = try load(Value.Stored.self, bytes(try value.stored))
  #expect(try Value(stored: back) == value)
}

/// A value that can't be encoded, as its error says, the value in it.
private struct Unsayable: Codable, FieldValue {
  var text = ""
  func encode(to encoder: any Encoder) throws {
    throw EncodingError.invalidValue(
      text, EncodingError.Context(codingPath: [], debugDescription: "\(text) is unsayable"))
  }
}

private struct Unsent: Record {
  var id = RecordID()
  var words = Unsayable()
  static let schema = Schema<Unsent>("unsent") { Sealed("words", \.words) }
}

@Suite struct FieldValueTests {
  @Test func `every kind of value comes back as it was`() throws {
    try expectReturns(true)
    try expectReturns(Int.min)
    try expectReturns(Int8(-128))
    try expectReturns(UInt64.max)
    try expectReturns(UInt8(255))
    try expectReturns(-0.1)
    try expectReturns(Float(0.1))
    try expectReturns("Zürich 🗝️\u{0}")
    try expectReturns([0, 255, 7] as [UInt8])
    try expectReturns(Data([1, 2, 3]))
    try expectReturns(UUID())
    try expectReturns(RecordID())
    try expectReturns(RecordID() as RecordID?)
    try expectReturns(try #require(URL(string: "https://example.org/a?b=c#d")))
    try expectReturns(Address(street: "Rue de l'Église", number: 4))
    try expectReturns(Colour(red: 1, green: 2, blue: 255))
    try expectReturns("" as String?)
    try expectReturns(nil as String?)
    try expectReturns(nil as Address?)
  }

  @Test func `a date loses nothing, not even its last bit`() throws {
    var generator = SeededGenerator(seed: 1)
    for _ in 0..<1_000 {
      let date = Date(timeIntervalSinceReferenceDate: Double.random(in: -1e11...1e11, using: &generator))
      let back = try load(Date.self, bytes(date))
      #expect(
        back.timeIntervalSinceReferenceDate.bitPattern == date.timeIntervalSinceReferenceDate.bitPattern)
    }
    try expectReturns(Date.distantFuture)
    try expectReturns(Date.distantPast)
  }

  @Test func `the bytes are the format's`() throws {
    #expect(bytes(true) == [1])
    #expect(bytes(Int64(-2)) == [0xFE, 255, 255, 255, 255, 255, 255, 255])
    #expect(bytes(UInt64(258)) == [2, 1, 0, 0, 0, 0, 0, 0])
    #expect(bytes(1.0) == [0, 0, 0, 0, 0, 0, 0xF0, 0x3F])
    #expect(bytes(Date(timeIntervalSinceReferenceDate: 1)) == [0, 0, 0, 0, 0, 0, 0xF0, 0x3F])
    #expect(bytes("é") == [0xC3, 0xA9])
    #expect(bytes("é" as String?) == [1, 0xC3, 0xA9])
    #expect(bytes(nil as Int64?) == [0])
    let uuid = try #require(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF"))
    #expect(bytes(uuid) == (0..<16).map { UInt8($0 * 0x11) })
    #expect(bytes(RecordID(uuid)) == bytes(uuid))
    #expect(
      String(decoding: bytes(try Address(street: "A/B", number: 1).stored), as: UTF8.self)
        == #"{"number":1,"street":"A/B"}"#)
  }

  @Test func `wrong lengths, wrong bytes and numbers that don't fit are refused`() throws {
    #expect(throws: NotelogError(.damaged, "")) { try load(Int64.self, [0, 1]) }
    #expect(throws: NotelogError(.damaged, "")) { try load(Bool.self, [2]) }
    #expect(throws: NotelogError(.damaged, "")) { try load(String.self, [0xC3]) }
    #expect(throws: NotelogError(.damaged, "")) { try load(String?.self, []) }
    #expect(throws: NotelogError(.damaged, "")) { try load(String?.self, [0, 65]) }
    #expect(throws: NotelogError(.damaged, "")) { try load(UUID.self, [0]) }
    #expect(throws: NotelogError(.damaged, "")) { try load(RecordID.self, [UInt8](repeating: 0, count: 17)) }
    #expect(throws: NotelogError(.typeMismatch, "")) { try Int8(stored: Int64(128)) }
    #expect(throws: NotelogError(.typeMismatch, "")) { try Float(stored: 0.1) }
    #expect(throws: NotelogError(.typeMismatch, "")) { try Address(stored: EncodedJSON(utf8: [0x7B, 0x7D])) }
  }

  @Test func `sort keys order as the values do`() {
    func expectOrder<Value: SortableValue>(_ values: [Value]) {
      for (left, right) in zip(values, values.dropFirst()) {
        #expect(sortKey(left).lexicographicallyPrecedes(sortKey(right)), "\(left) before \(right)")
      }
    }
    expectOrder([Int64.min, -256, -1, 0, 1, 255, 256, .max])
    expectOrder([0, 1, 255, 256, UInt64.max])
    expectOrder([-Double.infinity, -1e300, -1, -1e-300, 0, 1e-300, 1, 2, .infinity, .nan])
    expectOrder([false, true])
    expectOrder(["", "A", "AB", "B", "a", "é"])
    expectOrder([nil, "", "a"] as [String?])
    expectOrder(
      [nil, Date.distantPast, Date(timeIntervalSinceReferenceDate: 0), Date.distantFuture] as [Date?])
    #expect(sortKey(-0.0) == sortKey(0.0))
    #expect(sortKey(String(repeating: "x", count: 1_000)).count == Limits.sortKeyBytes)
  }

  @Test func `a record id reads back from its text and from its UUID`() throws {
    let id = RecordID()
    #expect(RecordID(id.description) == id)
    #expect(RecordID(id.uuid) == id)
    #expect(RecordID(id.uuid.uuidString) == id)
    #expect(RecordID("12") == nil)
    #expect(RecordID(String(repeating: "0", count: 33)) == nil)
    #expect(RecordID(String(repeating: "g", count: 32)) == nil)
  }

  /// The bug: a number that did not fit, and what a decoder said of a JSON document, stood in the error's
  /// message, though both may have been sealed.
  @Test func `no message of a value that doesn't fit its property holds the value`() throws {
    var messages: [String] = []
    do { _ = try Int8(stored: 31_415) } catch { messages.append("\(error)") }
    do { _ = try UInt8(stored: 27_182) } catch { messages.append("\(error)") }
    do { _ = try Float(stored: 1.41421) } catch { messages.append("\(error)") }
    let json = try EncodedJSON(utf8: Array(#"{"street":"secret lane","number":"16180"}"#.utf8))
    do { _ = try Address(stored: json) } catch { messages.append("\(error)") }
    #expect(messages.count == 4)
    for secret in ["31415", "27182", "1.41421", "16180", "secret lane"] {
      #expect(!messages.contains { $0.contains(secret) })
    }
  }

  /// The bug: what an app's encoder said of a value that it could not encode stood in the error's message,
  /// and such an error names the value, which may be one to be sealed.
  @Test func `no message of a value that can't be stored holds the value`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let letter = Unsent(words: Unsayable(text: "secret lane"))
    var messages: [String] = []
    do { try store.write { tx in try tx.put(letter) } } catch { messages.append("\(error)") }
    do { try store.putAll([letter]) } catch { messages.append("\(error)") }
    #expect(messages.count == 2)
    for message in messages {
      #expect(message.contains("unsent.words") && message.contains("EncodingError"))
      #expect(!message.contains("secret lane"))
    }
  }
}
