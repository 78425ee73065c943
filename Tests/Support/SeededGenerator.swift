// Random numbers that a seed repeats.

/// SplitMix64: small, fast, and the same on every machine, so that a failing seed can be replayed.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  /// A generator for one case among many: the parts are mixed, so that neighbours have nothing in common.
  package init(mixing parts: UInt64...) {
    var mixer = SeededGenerator(seed: 0x6e6f_7465_6c6f_6721)
    for part in parts { mixer = SeededGenerator(seed: mixer.next() ^ part) }
    state = mixer.next()
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  /// True once in so many draws.
  package mutating func oneIn(_ count: UInt64) -> Bool { next() % count == 0 }

  /// A number of the range.
  package mutating func pick(_ range: Range<Int>) -> Int { Int.random(in: range, using: &self) }

  /// Random small letters.
  package mutating func letters(count: Int) -> String {
    String(decoding: bytes(count: count).lazy.map { $0 % 26 + 97 }, as: UTF8.self)
  }

  /// Random bytes.
  package mutating func bytes(count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    var word: UInt64 = 0
    for index in 0..<count {
      if index % 8 == 0 { word = next() }
      bytes.append(UInt8(truncatingIfNeeded: word >> (8 * UInt64(index % 8))))
    }
    return bytes
  }
}

extension [UInt8] {
  /// Bytes that grow by a step each, from a first one on: bodies that tell numbers and versions apart. Here
  /// they are optimised.
  package init(count: Int, from first: Int, by step: Int = 1) {
    self.init()
    reserveCapacity(count)
    for index in 0..<count { append(UInt8(truncatingIfNeeded: first &+ step &* index)) }
  }
}
