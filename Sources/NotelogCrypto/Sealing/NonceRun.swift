// Nonces of values that are sealed together: one salt, IVs that count (FORMAT.md 21.5, decisions 0001 and 0054).

/// Up to 4,096 nonces that share a salt, so that values sealed in one transaction share a derived key.
///
/// Make one a transaction and hand it to each `seal` in it; it renews itself when it is used up, and whenever
/// the ``NonceSource`` got fresh entropy. It cannot be copied: a copy would repeat its nonces.
package struct NonceRun: ~Copyable, Sendable {
  /// Seals under one salt.
  static let countMax = 4_096

  /// Salt and IV as three little-endian words; the last two bytes of the IV count.
  var words = InlineArray<3, UInt64>(repeating: 0)
  var left = 0
  var epoch: UInt64 = 0
  /// The source that the nonces came from; a run that is used with another starts anew.
  var source: ObjectIdentifier?

  package init() {}
}
