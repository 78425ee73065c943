// When a named key may be used (FORMAT.md 10.4).

/// When the keys of a class are open, and whether they travel with the store.
///
/// Version 1 writes and reads the two migratable classes that need a password. The other four have their
/// numbers and their place in the layout, and are refused by name until they are built.
package enum AccessClass: UInt8, Hashable, Sendable, CaseIterable, CustomStringConvertible {
  /// Open between `unlock` and `lock`.
  case whenUnlocked = 1
  /// As `whenUnlocked`, and only together with this device's secret.
  case whenUnlockedThisDeviceOnly = 2
  /// Open from the first `unlock` until the process ends, or `lock(.everything)`.
  case afterFirstUnlock = 3
  /// As `afterFirstUnlock`, and only together with this device's secret.
  case afterFirstUnlockThisDeviceOnly = 4
  /// Open without a password where this device's secret is, and with the password elsewhere.
  case always = 5
  /// Open without a password, and only where this device's secret is.
  case alwaysThisDeviceOnly = 6

  /// Whether this version can create and open keys of this class.
  package var isSupported: Bool { self == .whenUnlocked || self == .afterFirstUnlock }

  package var description: String {
    switch self {
    case .whenUnlocked: "whenUnlocked"
    case .whenUnlockedThisDeviceOnly: "whenUnlocked, this device only"
    case .afterFirstUnlock: "afterFirstUnlock"
    case .afterFirstUnlockThisDeviceOnly: "afterFirstUnlock, this device only"
    case .always: "always"
    case .alwaysThisDeviceOnly: "always, this device only"
    }
  }
}
