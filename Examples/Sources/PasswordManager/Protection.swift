// When a secret may be read and whether it may leave, and by which key that is held.

import Notelog

/// A kind of protection: what is under it is sealed by a key of its own, whose class is the protection.
protocol Protection: Sendable {
  /// The library's class of the key.
  static var keyClass: KeyClass { get }
}

extension Protection {
  /// The key's name, and that of the records under it. Names are in the clear.
  static var name: String { "\(keyClass)" }
  /// Whether it opens on another device, to which the store was copied.
  static var isMigratable: Bool { !name.hasSuffix("ThisDeviceOnly") }
}

/// From unlocking to locking.
enum WhenUnlocked: Protection { static let keyClass = KeyClass.whenUnlocked }
enum WhenUnlockedHere: Protection { static let keyClass = KeyClass.whenUnlockedThisDeviceOnly }

/// From the first unlocking until the process ends.
enum AfterFirstUnlock: Protection { static let keyClass = KeyClass.afterFirstUnlock }
enum AfterFirstUnlockHere: Protection { static let keyClass = KeyClass.afterFirstUnlockThisDeviceOnly }

/// On this device without being unlocked; elsewhere from the first unlocking.
enum Always: Protection { static let keyClass = KeyClass.always }
enum AlwaysHere: Protection { static let keyClass = KeyClass.alwaysThisDeviceOnly }

/// All there are: three classes, each for secrets that may leave and for those that may not.
let protections: [any Protection.Type] = [
  WhenUnlocked.self, WhenUnlockedHere.self, AfterFirstUnlock.self, AfterFirstUnlockHere.self, Always.self,
  AlwaysHere.self,
]
