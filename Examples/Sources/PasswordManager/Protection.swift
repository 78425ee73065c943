// When a secret may be read, and by which key that is held.

import Notelog

/// A kind of protection: what is under it is sealed by a key of its own, whose class is the protection.
protocol Protection: Sendable {
  /// The key's name, and that of the records under it. Names are in the clear.
  static var name: String { get }
  static var keyClass: KeyClass { get }
}

/// From unlocking to locking.
enum WhenUnlocked: Protection {
  static let name = "when-unlocked"
  static let keyClass = KeyClass.whenUnlocked
}

/// From the first unlocking until the process ends.
enum AfterFirstUnlock: Protection {
  static let name = "after-first-unlock"
  static let keyClass = KeyClass.afterFirstUnlock
}

/// All there are.
let protections: [any Protection.Type] = [WhenUnlocked.self, AfterFirstUnlock.self]
