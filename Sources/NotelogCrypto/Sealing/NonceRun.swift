// Nonces of values that are sealed together: one salt, IVs that count (FORMAT.md 11.3, decision 0001).

/// Up to 256 nonces that share a salt, so that values sealed in one transaction share a derived key.
///
/// Make one a transaction and hand it to each `seal` in it; it renews itself when it is used up, and whenever
/// the ``NonceSource`` got fresh entropy. It cannot be copied: a copy would repeat its nonces.
package struct NonceRun: ~Copyable, Sendable {
  /// Seals under one salt.
  static let countMax = 256

  /// Salt and IV as three little-endian words; the last byte of the IV counts.
  var words = InlineArray<3, UInt64>(repeating: 0)
  var left = 0
  var epoch: UInt64 = 0
  /// The source that the nonces came from; a run that is used with another starts anew.
  var source: ObjectIdentifier?

  package init() {}
}
