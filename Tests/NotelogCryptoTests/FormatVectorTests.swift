// The vectors of docs/format-vectors.md, read from the page itself; an independent program computed them.

import Foundation
import NotelogBase
import Testing

@testable import NotelogCrypto

@Suite struct FormatVectorTests {
  static let store = ID16((0..<16).map { UInt8($0) })
  static let record = ID16((16..<32).map { UInt8($0) })
  static let nonce = (0x41...0x58).map { UInt8($0) }

  /// The hexadecimal blocks and long hexadecimal words of the page, in their order, but for those of evidence.
  static func vectors() throws -> [[UInt8]] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appendingPathComponent("docs/format-vectors.md"), encoding: .utf8)
      .components(separatedBy: "## Evidence")[0]
    let blocks = page.components(separatedBy: "```").enumerated().filter { !$0.offset.isMultiple(of: 2) }
    let words = page.split { !$0.isHexDigit }.filter { $0.count == 64 }
    return blocks.map { hex(String($0.element.drop { $0 != "\n" })) } + words.map { hex(String($0)) }
  }

  @Test func `additional data and a sealed field are the page's`() throws {
    let vectors = try Self.vectors()
    try #require(vectors.count == 5)
    let data = AdditionalData(
      store: Self.store, record: Self.record, name: try ID16(collection: "note", field: "title"),
      type: 5,
      flags: 1, key: KeyReference(rawValue: 1))
    let bytes = (0..<data.bytes.byteCount).map { data.bytes.byte(at: $0) }
    #expect(bytes == vectors[0])
    let key = try SealingKey(byte: 1)
    #expect(try key.open(vectors[1], additionalData: bytes) == Array("Clark".utf8))
    let context = try XAES(
      key: secret([UInt8](repeating: 1, count: 32)))
    let plaintext = try secret(Array("Clark".utf8))
    #expect(
      try context.sealWhole(plaintext.bytes, additionalData: bytes, nonce: Self.nonce) == vectors[1])
  }

  @Test func `a wrap is the page's`() throws {
    let key = Keyring.DataKey(
      reference: KeyReference(rawValue: 1), accessClass: .whenUnlocked, number: 0, generation: 1,
      wrappingKey: 0, isEffaceable: false, wrap: try Self.vectors()[2])
    let opened = try key.unwrap(
      under: secret([UInt8](repeating: 3, count: 32)), storeID: Self.store)
    #expect(reveal(opened) == [UInt8](repeating: 2, count: 32))
  }

  @Test func `slot keys are the page's`() throws {
    let vectors = try Self.vectors()
    let fromKey = try Credential.rawKey(secret([UInt8](repeating: 4, count: 32))).slotKey(
      salt: [], logN: 0, storeID: Self.store)
    #expect(reveal(fromKey) == vectors[3])
    let fromPassword = try password("correct horse").slotKey(
      salt: (0..<16).map { UInt8($0) }, logN: 14, storeID: Self.store)
    #expect(reveal(fromPassword) == vectors[4])
  }
}
