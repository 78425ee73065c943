// Padding: Padmé's lengths, the end mark, and what is refused (FORMAT.md 7.3).

import Testing

@testable import NotelogCrypto

@Suite struct PaddingTests {
  /// The published rule (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication
  /// with PURBs", algorithm 1), computed with real logarithms by another program.
  @Test(arguments: [
    (0, 1), (1, 2), (2, 3), (8, 10), (9, 10), (11, 12), (15, 16), (16, 18), (17, 18), (18, 20), (30, 32),
    (31, 32),
    (99, 104), (127, 128), (128, 144), (999, 1024), (1023, 1024), (1024, 1088), (9_999, 10_240),
    (65_535, 65_536),
    (65_536, 67_584), (999_999, 1_015_808),
  ])
  func `lengths are rounded as Padmé says`(_ count: Int, _ padded: Int) {
    #expect(Padding.paddedCount(of: count, minimumBucket: 0) == padded)
  }

  @Test func `at most twelve percent are added, and lengths never shrink`() {
    var last = 0
    for count in 0..<100_000 {
      let padded = Padding.paddedCount(of: count, minimumBucket: 0)
      #expect(padded > count && padded >= last)
      #expect(Double(padded) <= Double(count + 1) * 1.12 + 1)
      last = padded
    }
  }

  @Test func `what is smaller than the minimum bucket looks alike`() {
    #expect(Set((0..<32).map { Padding.paddedCount(of: $0, minimumBucket: 32) }) == [32])
    #expect(Padding.paddedCount(of: 32, minimumBucket: 32) == 36)
  }

  @Test func `padding comes off again, whatever the value ends with`() throws {
    for value in [[], [0], [0x80], [1, 0, 0], [0x80, 0], [UInt8](repeating: 0, count: 50)] as [[UInt8]] {
      var bytes =
        value + [UInt8](repeating: 0xEE, count: Padding.paddedCount(of: value.count, minimumBucket: 16))
      bytes = Array(bytes[..<Padding.paddedCount(of: value.count, minimumBucket: 16)])
      var span = bytes.mutableSpan
      // SAFETY: arrays of bytes are initialised throughout.
      var target = unsafe span.mutableBytes
      Padding.pad(&target, valueCount: value.count)
      let count = try unsafe Padding.valueCount(in: bytes.span.bytes)
      #expect(Array(bytes[..<count]) == value)
    }
  }

  @Test(arguments: [[], [0], [0, 0, 0], [1], [0x80, 1], [0x80, 0, 7]] as [[UInt8]])
  func `bytes without an end mark are refused`(_ bytes: [UInt8]) {
    // SAFETY: arrays of bytes are initialised throughout.
    #expect(throws: CryptoError.tampered) { try unsafe Padding.valueCount(in: bytes.span.bytes) }
  }
}
