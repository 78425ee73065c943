// Values sealed in runs, opened in any order by a context that keeps derived keys. The published vectors are in
// `VectorTests`.

import NotelogTestSupport
import Testing

@testable import NotelogCrypto

@Suite struct SealedRunTests {
  @Test func `what is sealed in runs is opened in any order, with derived keys kept`() throws {
    var random = SeededGenerator(seed: 35)
    let key = try secret([UInt8](repeating: 9, count: 32))
    let sealing = try XAES(key: key)
    let opening = try XAES(key: key)
    var messages: [(plaintext: [UInt8], bound: [UInt8], sealed: [UInt8])] = []
    for _ in 0..<40 {
      var run = NonceRun()
      for _ in 0..<5 {
        let plaintext = bytes(Int.random(in: 0...200, using: &random), &random)
        let bound = bytes(Int.random(in: 0...60, using: &random), &random)
        messages.append((plaintext, bound, try seal(plaintext, bound, &run, sealing)))
      }
    }
    for message in (messages + messages + messages).shuffled(using: &random) {
      var altered = message.sealed
      altered[Int.random(in: altered.indices, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      #expect(throws: CryptoError.tampered) {
        _ = reveal(try opening.openWhole(altered, additionalData: message.bound))
      }
      #expect(
        reveal(try opening.openWhole(message.sealed, additionalData: message.bound)) == message.plaintext)
      #expect(throws: CryptoError.tampered) {
        _ = reveal(try opening.openWhole(message.sealed, additionalData: message.bound + [0]))
      }
    }
  }

  private func bytes(_ count: Int, _ random: inout SeededGenerator) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
  }

  private func seal(
    _ plaintext: [UInt8], _ bound: [UInt8], _ run: inout NonceRun, _ context: borrowing XAES
  ) throws -> [UInt8] {
    var sealed = [UInt8](repeating: 0, count: plaintext.count + SealedValue.overhead)
    // SAFETY: what is sealed is forty bytes longer than the plaintext.
    let failure = unsafe plaintext.withUnsafeBytes { plaintext in
      unsafe bound.withUnsafeBytes { bound in
        unsafe context.seal(plaintext, additionalData: bound, nonces: &run, to: &sealed)
      }
    }
    try #require(failure == nil)
    return sealed
  }

  @Test func `bytes are compared for what they are`() {
    var random = SeededGenerator(seed: 36)
    for count in 0..<150 {
      let (one, other) = (bytes(count, &random), bytes(count, &random))
      for candidate in [one, other, Array(one.dropLast())] {
        #expect(OpenSSL.areEqual(one, candidate) == (one == candidate))
      }
    }
  }
}
