// PMAC as evidence uses it (FORMAT.md 27): published vectors, and what no vector says.

import NotelogBase
import Testing

@testable import NotelogCrypto

@Suite struct PMACTests {
  /// J. Black and P. Rogaway, "A Block-Cipher Mode of Operation for Parallelizable Message Authentication", 2002: those of AES-256
  /// with two blocks or more.
  @Test(arguments: [
    (32, true, "08fa25c28678c84d383130653e77f4c0"), (34, true, "edd8a05f4b66761f9eee4feb4ed0c3a1"),
    (1000, false, "69aa77f231eb0cdff960f5561d29a96e"),
  ])
  func `PMAC agrees with the published vectors`(_ count: Int, _ counts: Bool, _ tag: String) throws {
    let message = (0..<count).map { counts ? UInt8($0) : 0 }
    #expect(try pmac(message) == hex(tag))
  }

  /// Lengths on both sides of each block and of each piece that is encrypted at a time.
  @Test func `PMAC is what its definition says, at every length`() throws {
    for count in Array(32...180) + [511, 512, 513, 527, 528, 529, 1023, 1024, 1025, 5000, 70_001] {
      let message = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 / 256) }
      #expect(try pmac(message) == (try defined(message)), "\(count) bytes")
    }
  }

  @Test func `every bit of a message matters`() throws {
    let message = (0..<75).map { UInt8($0) }
    var tags: Set<[UInt8]> = [try pmac(message), try pmac(message.dropLast()), try pmac(message + [0x80])]
    for bit in 0..<8 * message.count {
      var altered = message
      altered[bit / 8] ^= 1 << (bit % 8)
      tags.insert(try pmac(altered))
    }
    #expect(tags.count == 8 * message.count + 3)
  }

  @Test func `a key that was derived is wiped with the one it was made of`() throws {
    let key = try sealingKey()
    let (one, same) = (try key.derived("one", store: .zero), try key.derived("one", store: .zero))
    let other = try key.derived("other", store: .zero)
    let tags = try [one, same, other].map { try $0.authenticate(.zero, .zero, RawSpan()) }
    #expect(tags[0] == tags[1] && tags[0] != tags[2])
    key.wipe()
    #expect(throws: CryptoError.locked(.whenUnlocked)) { try one.authenticate(.zero, .zero, RawSpan()) }
    #expect(throws: CryptoError.locked(.whenUnlocked)) { try key.derived("new", store: .zero) }
  }

  private func sealingKey() throws -> SealingKey {
    SealingKey(
      reference: KeyReference(rawValue: 1), accessClass: .whenUnlocked, key: try secret([UInt8](0..<32)))
  }

  private func pmac(_ message: some Collection<UInt8>) throws -> [UInt8] {
    let message = Array(message)
    let head = [ID16(message.rawSpan, at: 0), ID16(message.rawSpan, at: 16)]
    return try sealingKey().authenticate(head[0], head[1], message.rawSpan.extracting(droppingFirst: 32))
      .array
  }

  /// PMAC by its definition, byte for byte.
  private func defined(_ message: [UInt8]) throws -> [UInt8] {
    let key = try sealingKey()
    func encrypted(_ block: [UInt8]) throws -> [UInt8] {
      var buffer = Buffer(capacity: 16)
      buffer.append(block.rawSpan)
      var bytes = buffer.mutableBytes
      try key.encrypt(&bytes)
      return buffer.bytes.array()
    }
    func doubled(_ block: [UInt8]) -> [UInt8] {
      var result = (0..<16).map { block[$0] << 1 | ($0 < 15 ? block[$0 + 1] >> 7 : 0) }
      if block[0] & 0x80 != 0 { result[15] ^= 0x87 }
      return result
    }
    func xor(_ one: [UInt8], _ other: [UInt8]) -> [UInt8] { zip(one, other).map { $0 ^ $1 } }
    let first = try encrypted([UInt8](repeating: 0, count: 16))
    // What is doubled to the first, found bit by bit.
    var half = (0..<16).map { first[$0] >> 1 | ($0 > 0 ? first[$0 - 1] << 7 : 0) }
    if first[15] & 1 != 0 {
      half[0] ^= 0x80
      half[15] ^= 0x43
    }
    #expect(doubled(half) == first)
    var (offset, sum) = ([UInt8](repeating: 0, count: 16), [UInt8](repeating: 0, count: 16))
    let count = (message.count + 15) / 16
    for number in 1..<count {
      var power = first
      for _ in 0..<number.trailingZeroBitCount { power = doubled(power) }
      offset = xor(offset, power)
      sum = xor(sum, try encrypted(xor(Array(message[16 * (number - 1)..<16 * number]), offset)))
    }
    let last = Array(message[(16 * (count - 1))...])
    if last.count == 16 {
      sum = xor(xor(sum, last), half)
    } else {
      sum = xor(sum, last + [0x80] + [UInt8](repeating: 0, count: 15 - last.count))
    }
    return try encrypted(sum)
  }
}
