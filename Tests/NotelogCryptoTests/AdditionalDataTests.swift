// Additional data: its bytes, and that a value moved along any axis does not open (FORMAT.md 11.2).

import NotelogBase
import Testing

@testable import NotelogCrypto

@Suite struct AdditionalDataTests {
  static let store = ID16(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908)
  static let record = ID16((0x10..<0x20).map { UInt8($0) })
  static let name = ID16((0x20..<0x30).map { UInt8($0) })
  static let value = ID16((0x30..<0x40).map { UInt8($0) })
  static let key = KeyReference(rawValue: 0xA4A3_A2A1)

  static let field = AdditionalData(
    store: store, record: record, name: name, type: 0xB1, flags: 0xC2C1, key: key)
  static let chunk = chunk(of: value)

  private static func chunk(of value: ID16) -> AdditionalData {
    var data = AdditionalData(field, of: value)
    data.setChunk(0xD8D7_D6D5_D4D3_D2D1, isLast: true)
    return data
  }

  @Test func `a field's additional data is these 64 bytes`() {
    let expected =
      Array("NL1field".utf8) + hex("01 b1 c1c2 a1a2a3a4") + (0..<0x30).map { UInt8($0) }
    #expect(bytes(Self.field) == expected)
  }

  @Test func `a chunk's additional data is these 96 bytes`() {
    let expected =
      Array("NL1chunk".utf8) + hex("01 b1 c1c2 a1a2a3a4") + (0..<0x40).map { UInt8($0) }
      + hex("d1d2d3d4d5d6d7d8 01 00000000000000")
    #expect(bytes(Self.chunk) == expected)
    var next = Self.chunk
    next.setChunk(7, isLast: false)
    #expect(bytes(next).suffix(16) == hex("0700000000000000 00 00000000000000"))
    next.setReference(byteCount: 150_000)
    #expect(bytes(next).suffix(16) == hex("f049020000000000 02 00000000000000"))
    #expect(bytes(next).prefix(80) == bytes(Self.chunk).prefix(80))
  }

  /// The field's value sealed once, and expected to be everything else that it might be taken for.
  static let axes: [(String, AdditionalData)] = [
    ("store", .init(store: .zero, record: record, name: name, type: 0xB1, flags: 0xC2C1, key: key)),
    ("record", .init(store: store, record: .zero, name: name, type: 0xB1, flags: 0xC2C1, key: key)),
    (
      "field or collection",
      .init(store: store, record: record, name: .zero, type: 0xB1, flags: 0xC2C1, key: key)
    ),
    ("type", .init(store: store, record: record, name: name, type: 0xB2, flags: 0xC2C1, key: key)),
    ("flags", .init(store: store, record: record, name: name, type: 0xB1, flags: 0xC2C0, key: key)),
    (
      "key or generation",
      .init(
        store: store, record: record, name: name, type: 0xB1, flags: 0xC2C1, key: KeyReference(rawValue: 1))
    ),
    ("chunk for a field", chunk),
  ]

  /// INV-E1.
  @Test(arguments: axes.map(\.0)) func `a field moved along an axis does not open`(_ axis: String) throws {
    let expected = try #require(Self.axes.first { $0.0 == axis }).1
    let key = try SealingKey(byte: 5)
    let sealed = try key.seal([1, 2, 3], additionalData: bytes(Self.field))
    #expect(try key.open(sealed, additionalData: bytes(Self.field)) == [1, 2, 3])
    let (error, output) = key.refusal(sealed, additionalData: bytes(expected))
    #expect(error == .tampered && output == [0, 0, 0])
  }

  @Test(arguments: ["value", "number", "last", "reference for a chunk", "field for a chunk"])
  func `a chunk moved along an axis does not open`(_ axis: String) throws {
    var expected = Self.chunk
    switch axis {
    case "value":
      expected = Self.chunk(of: .zero)
    case "number": expected.setChunk(0, isLast: true)
    case "reference for a chunk": expected.setReference(byteCount: 0xD8D7_D6D5_D4D3_D2D1)
    case "last": expected.setChunk(0xD8D7_D6D5_D4D3_D2D1, isLast: false)
    default: expected = Self.field
    }
    let key = try SealingKey(byte: 5)
    let sealed = try key.seal([1, 2, 3], additionalData: bytes(Self.chunk))
    #expect(try key.open(sealed, additionalData: bytes(Self.chunk)) == [1, 2, 3])
    #expect(key.refusal(sealed, additionalData: bytes(expected)).0 == .tampered)
  }

  @Test func `names hash with their lengths, so that no two pairs run together`() throws {
    let hash = try ID16(collection: "note", field: "title")
    #expect(try ID16(collection: "notet", field: "itle") != hash)
    #expect(try ID16(collection: "title", field: "note") != hash)
    // SHA-256("NL1name\0" ‖ 04000000 "note" ‖ 05000000 "title"), by another implementation.
    #expect(hash.array == hex("6580b8db65d6fe1348e0385061c417a0"))
  }

  private func bytes(_ data: AdditionalData) -> [UInt8] {
    (0..<data.bytes.byteCount).map { data.bytes.byte(at: $0) }
  }
}
