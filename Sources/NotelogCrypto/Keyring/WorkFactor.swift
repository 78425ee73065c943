// How much work scrypt does for one guess of a password (docs/format-keyring.md 10.3).

/// The cost of a password slot: N = 2^logN, r = 8, p = 1.
package struct WorkFactor: Equatable, Sendable {
  package let logN: UInt8

  /// N = 2^17: 128 MiB and about a third of a second.
  package static let standard = WorkFactor(logN: 17)

  /// The least that a slot may have, new or read. Less than 2^16 only for whoever asks for it knowingly.
  static let leastRead = WorkFactor(logN: 14)
  /// The most that is read where nothing else is asked for: 256 MiB.
  package static let mostRead = WorkFactor(logN: 18)

  package init(logN: UInt8) { self.logN = logN }
}
