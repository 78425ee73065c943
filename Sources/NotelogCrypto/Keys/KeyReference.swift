// The number by which a sealed value names its key (docs/format-keyring.md 10.5).

/// One generation of one named data key. Given out once and never again, so that a value can never be opened
/// with a key other than the one it was sealed under.
package struct KeyReference: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package var description: String { "key \(rawValue)" }
}

// MARK: - When a named key may be used (docs/format-keyring.md 10.4).

/// When the keys of a class are open, and whether they travel with the store.
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

  /// Whether its keys stay open when what is open only while unlocked is locked.
  package var isLasting: Bool { rawValue > 2 }
  /// Whether its keys are open without being unlocked.
  package var isAlways: Bool { rawValue > 4 }
  /// Whether its keys stay behind when the store is moved to another device.
  package var isThisDeviceOnly: Bool { rawValue.isMultiple(of: 2) }

  package var description: String {
    let time = rawValue <= 2 ? "whenUnlocked" : rawValue <= 4 ? "afterFirstUnlock" : "always"
    return isThisDeviceOnly ? time + ", this device only" : time
  }
}
