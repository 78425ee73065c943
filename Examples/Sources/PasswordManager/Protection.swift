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

/// On this device without being unlocked, elsewhere from the first unlocking.
enum Always: Protection {
  static let name = "always"
  static let keyClass = KeyClass.always
}

/// All there are. Each class has a sister that no other device opens, whatever is copied: what may not leave this store is not exported here, so that
/// three are enough.
let protections: [any Protection.Type] = [WhenUnlocked.self, AfterFirstUnlock.self, Always.self]
