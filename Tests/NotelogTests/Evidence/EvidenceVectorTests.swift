// The vectors of evidence in docs/format-vectors.md, read from the page itself; an independent program computed them.

import Foundation
import NotelogBase
import NotelogCrypto
import Testing

@testable import Notelog

@Suite struct EvidenceVectorTests {
  private let words: [[UInt8]]
  private let blocks: [[UInt8]]
  private let text: String
  private let storeID = ID16((0..<16).map { UInt8($0) })

  init() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/format-vectors.md"), encoding: .utf8)
      .components(separatedBy: "## Evidence\n")[1]
    func bytes(_ text: some StringProtocol) -> [UInt8] {
      let digits = text.compactMap(\.hexDigitValue)
      return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
    words = page.split { !$0.isHexDigit }.filter { $0.count == 64 }.map(bytes)
    blocks = page.components(separatedBy: "```").enumerated().filter { !$0.offset.isMultiple(of: 2) }
      .dropFirst().map { bytes($0.element.drop { $0 != "\n" }) }
    text = page.components(separatedBy: "As text: `")[1].components(separatedBy: "`")[0]
    try #require(words.count == 4 && blocks.count == 12)
  }

  /// Little-endian.
  private func number(_ bytes: [UInt8]) -> UInt128 { bytes.reversed().reduce(0) { $0 << 8 | UInt128($1) } }

  private func key(_ bytes: [UInt8]) throws -> SealingKey {
    SealingKey(
      reference: KeyReference(rawValue: 1), accessClass: .whenUnlocked,
      key: try Secret(copying: bytes.rawSpan))
  }

  private func keys() throws -> EvidenceKeys {
    try EvidenceKeys(key([UInt8](repeating: 5, count: 32)), of: storeID)
  }

  @Test func `the keys are the page's`() throws {
    let base = try key([UInt8](repeating: 5, count: 32))
    for (name, word) in zip(["record", "version", "seal", "head"], words) {
      let made = try base.derived("NL1/evidence/" + name, store: storeID)
      #expect(
        try made.authenticate(.zero, .zero, RawSpan()) == key(word).authenticate(.zero, .zero, RawSpan()))
    }
  }

  @Test func `seals, roll and their sum are the page's`() throws {
    let keys = try keys()
    var records: [EvidenceTally.Element] = []
    for (number, revision) in [3, 4, 4].enumerated() {
      let (message, seal) = (blocks[2 * number], ID16(blocks[2 * number + 1]))
      let id = ID16(message.rawSpan, at: 0)
      let made = try keys.seal(
        id, UInt16(message[16]), hasEnvelope: message[18] != 0, message.rawSpan.extracting(droppingFirst: 32))
      #expect(made == seal, "record \(number)")
      records.append((id, UInt64(revision), seal))
    }
    let sums = try EvidenceTally.sums(of: records, keys)
    #expect(sums.roll == number(blocks[6]) && sums.seals == number(blocks[7]))
  }

  @Test func `a state and the head of it are the page's`() throws {
    let (keys, plain, payload) = (try keys(), blocks[8], blocks[10])
    var state = EvidenceState(generations: [.init(reference: 1, start: 0)])
    func word(_ first: UInt8) -> UInt64 {
      (0..<8).reduce(0) { $0 | UInt64(first + UInt8($1)) << (8 * UInt64($1)) }
    }
    (state.time, state.keyringGeneration, state.recordCount) = (1_764_288_000_000, 2, 3)
    (state.schemas, state.branch) = (ID16(low: word(0x40), high: word(0x48)), word(0x50))
    state.generations[0].sums = EvidenceSums(roll: number(blocks[6]), seals: number(blocks[7]))
    state.note(word(0x60), at: 4)
    var made = Buffer()
    state.append(to: &made)
    let (bytes, read) = (made.bytes.array(), EvidenceState(plain.rawSpan))
    #expect(bytes == plain && read == state)
    let data = EvidenceKeys.additionalData(storeID, 4, 1)
    let additional = data.bytes.array()
    #expect(additional == blocks[9])
    var opened = Buffer()
    opened.appendZeros(plain.count)
    var target = opened.mutableBytes
    try keys.data.open(
      payload.rawSpan.extracting(droppingFirst: 8), additionalData: data.bytes, into: &target)
    let inside = opened.bytes.array()
    #expect(inside == plain)
    let head = StoreHead(
      store: UInt32(truncatingIfNeeded: storeID.low), writer: word(0x60), seen: 4, own: 4,
      tag: try keys.tag(of: state))
    #expect(head.description == text)
    #expect(try StoreHead(text: text) == head)
  }
}
