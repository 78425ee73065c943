// From a record's id to the 64 bits that the index knows it by: docs/format-derived.md §31.

import NotelogBase

/// The key of the index's hash, SipHash-1-3: ids can be chosen by others, and must not be chosen so that they
/// collide.
struct FingerprintKey: Equatable, Sendable, BitwiseCopyable {
  let low: UInt64
  let high: UInt64
  /// The bits of the hash that count: all, but in tests of what happens when fingerprints collide. It is not
  /// stored.
  var mask = UInt64.max

  /// The fingerprint of an id.
  @inline(__always)
  func fingerprint(of id: ID16) -> UInt64 { sipHash(id, compressionRounds: 1, finalizationRounds: 3) & mask }

  /// SipHash of an id's 16 bytes (Aumasson and Bernstein, 2012), with the rounds that are asked for.
  @inline(__always)
  func sipHash(_ id: ID16, compressionRounds: Int, finalizationRounds: Int) -> UInt64 {
    var state = SipState(
      v0: low ^ 0x736F_6D65_7073_6575, v1: high ^ 0x646F_7261_6E64_6F6D, v2: low ^ 0x6C79_6765_6E65_7261,
      v3: high ^ 0x7465_6462_7974_6573)
    state.absorb(id.low, rounds: compressionRounds)
    state.absorb(id.high, rounds: compressionRounds)
    // The last word holds the message's length in its highest byte, and nothing else: 16 is a multiple of 8.
    state.absorb(16 << 56, rounds: compressionRounds)
    state.v2 ^= 0xFF
    for _ in 0..<finalizationRounds { state.mix() }
    return state.v0 ^ state.v1 ^ state.v2 ^ state.v3
  }
}

/// The four words that SipHash mixes.
private struct SipState {
  var v0: UInt64
  var v1: UInt64
  var v2: UInt64
  var v3: UInt64

  @inline(__always)
  mutating func absorb(_ word: UInt64, rounds: Int) {
    v3 ^= word
    for _ in 0..<rounds { mix() }
    v0 ^= word
  }

  @inline(__always)
  mutating func mix() {
    v0 &+= v1
    v1 = v1 << 13 | v1 >> 51
    v1 ^= v0
    v0 = v0 << 32 | v0 >> 32
    v2 &+= v3
    v3 = v3 << 16 | v3 >> 48
    v3 ^= v2
    v0 &+= v3
    v3 = v3 << 21 | v3 >> 43
    v3 ^= v0
    v2 &+= v1
    v1 = v1 << 17 | v1 >> 47
    v1 ^= v2
    v2 = v2 << 32 | v2 >> 32
  }
}
