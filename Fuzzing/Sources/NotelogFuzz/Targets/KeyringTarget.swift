// Keyrings: reading one, unlocking it and changing it. FORMAT.md 10.

@testable import NotelogBase
@testable import NotelogStorage
@testable import NotelogFormat
@testable import NotelogCrypto

/// Reads a keyring whose digest, and whose MAC if it opens, are made to fit; opens it with a key, the right
/// one or a wrong one.
///
/// Passwords are left alone: scrypt would eat up all of the time, and its limits are checked while reading.
enum KeyringTarget: FuzzTarget {
  private static let keyByte: UInt8 = 4

  /// The first byte says what is made to fit: 1 the digest, 2 the MAC; 4: the key is a wrong one.
  static func seeds() throws -> [[UInt8]] {
    let vault = try Keyring.create(
      storeID: ID16(low: 1, high: 2), credential: try credential(keyByte))
    var seeds = [vault.keyring.bytes]
    vault.adopt(
      try vault.changing { change throws(CryptoError) in
        try change.addKey(named: "personal", class: .whenUnlocked)
      })
    vault.adopt(
      try vault.changing { change throws(CryptoError) in
        try change.addKey(named: "work", class: .afterFirstUnlock)
      })
    vault.adopt(
      try vault.changing { change throws(CryptoError) in
        try change.addSlot(.password(try Secret(utf8: "password")), work: 14)
      })
    vault.adopt(
      try vault.changing { change throws(CryptoError) in
        try change.addSlot(.recoveryKey(try Secret.random(byteCount: 32)))
      })
    seeds.append(vault.keyring.bytes)
    return seeds.flatMap { keyring in [0, 3, 7].map { [$0] + keyring } }
  }

  private static func credential(_ byte: UInt8) throws(CryptoError) -> NotelogCrypto.Credential {
    .rawKey(try Secret(copying: [UInt8](repeating: byte, count: 32).rawSpan))
  }

  static func run(_ input: [UInt8]) throws {
    guard let flags = input.first else { return }
    let bytes = try fitted(Array(input.dropFirst()), flags)
    let keyring = try Keyring(parsing: bytes)
    expect(bytes.starts(with: keyring.bytes), "a keyring is written as other bytes than it was read from")
    let vault = Vault(keyring)
    try vault.unlock(try credential(flags & 4 == 0 ? keyByte : 5))
    use(vault)
  }

  private static func fitted(_ bytes: [UInt8], _ flags: UInt8) throws -> [UInt8] {
    var bytes = bytes
    guard bytes.count >= Keyring.headerSize + 64 else { return bytes }
    if flags & 1 != 0 { try sealDigest(&bytes) }
    guard flags & 2 != 0, var keyring = try? Keyring(parsing: bytes),
      let opened = try? keyring.openSlot(try credential(keyByte))
    else { return bytes }
    try keyring.seal(root: opened.key.secret)
    return keyring.bytes
  }

  private static func sealDigest(_ bytes: inout [UInt8]) throws {
    bytes.replaceSubrange((bytes.count - 32)..., with: try OpenSSL.sha256(Array(bytes.dropLast(32))))
  }

  /// Everything that an unlocked keyring is there for; each may fail.
  private static func use(_ vault: Vault) {
    for key in vault.keyring.dataKeys {
      _ = try? vault.sealingKey(key.reference)
      _ = vault.name(of: key.reference)
    }
    if let change = try? vault.changing({ change throws(CryptoError) in
      try change.addKey(named: "new", class: .whenUnlocked)
    }) {
      adopt(change, in: vault)
    }
    if let slot = vault.keyring.slots.first,
      let change = try? vault.changing({ change throws(CryptoError) in
        try change.replaceSlots([slot.id], by: try credential(5))
      })
    {
      adopt(change, in: vault)
    }
    vault.lock(everything: true)
  }

  /// What is written must be readable again, or the store could never be unlocked any more.
  private static func adopt(_ change: Vault.Change, in vault: Vault) {
    do { _ = try Keyring(parsing: change.keyring.bytes) } catch {
      fatalError("a changed keyring does not read: \(error)")
    }
    vault.adopt(change)
  }
}
