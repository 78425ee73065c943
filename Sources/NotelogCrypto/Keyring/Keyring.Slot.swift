// A slot: one way to unlock the store, or some of its keys (docs/format-keyring.md 10.3).

import NotelogBase

extension Keyring {
  /// One credential's wrap of the unlock root, or of a grant's key.
  package struct Slot: WrappedKey, Equatable, Sendable {
    static let domain = "NL1slot\0"
    static let byteCount = 144
    static let byteCountMax = 4096
    static let saltSize = 16
    /// The block size and parallelism that scrypt is used with.
    static let blockSize: UInt64 = 8
    static let parallelism: UInt64 = 1

    /// What kind of credential opens it.
    package enum Kind: UInt8, Sendable {
      case password = 1
      case rawKey = 2
      case recoveryKey = 3
    }

    /// Nil for a kind of a later version: such a slot is kept, and opens nothing here.
    package let kind: Kind?
    /// log2 of scrypt's N; zero where there is no password.
    package let logN: UInt8
    package let id: UInt32
    /// The number of the grant that it opens; 0 for the unlock root.
    package let grant: UInt32
    let rootGeneration: UInt32
    /// scrypt's salt; zeros where there is no password.
    let salt: [UInt8]
    var wrap = KeyWrap.none
    /// All of a slot of an unknown kind.
    private let unknown: [UInt8]

    /// The first forty bytes: everything that is not the wrap.
    var header: [UInt8] {
      var bytes: [UInt8] = []
      bytes.append(littleEndian: UInt16(Self.byteCount))
      bytes += [kind?.rawValue ?? 0, logN]
      for number in [id, grant, rootGeneration] { bytes.append(littleEndian: number) }
      bytes.append(zeros: 8)
      return bytes + salt
    }

    func append(to bytes: inout [UInt8]) { bytes += kind == nil ? unknown : header + wrap.bytes }

    /// Reads a slot. Work factors are compared with their limits here, before anybody does the work.
    init(_ reader: inout KeyringCursor, workFactorLimit: WorkFactor) throws(CryptoError) {
      let byteCount = Int(try reader.integer(as: UInt16.self))
      let type = try reader.integer(as: UInt8.self)
      logN = try reader.integer()
      id = try reader.integer()
      kind = Kind(rawValue: type)
      guard (8...Self.byteCountMax).contains(byteCount), type != 0 else { throw .damagedKeyring(.length) }
      guard let kind else {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: UInt16(byteCount))
        bytes += [type, logN]
        bytes.append(littleEndian: id)
        unknown = bytes + (try reader.array(byteCount - 8))
        (grant, rootGeneration, salt) = (0, 0, [])
        return
      }
      unknown = []
      guard byteCount == Self.byteCount else { throw .damagedKeyring(.length) }
      let works = kind == .password ? WorkFactor.leastRead.logN...workFactorLimit.logN : 0...0
      guard works.contains(logN) else { throw .limitExceeded(.workFactor) }
      grant = try reader.integer()
      rootGeneration = try reader.integer()
      try reader.reserved(8)
      salt = try reader.array(Self.saltSize)
      guard kind == .password || salt.allSatisfy({ $0 == 0 }) else { throw .damagedKeyring(.reserved) }
      wrap = KeyWrap(bytes: try reader.array(KeyWrap.byteCount))
    }

    /// A new slot for a credential, around the unlock root or a grant's key.
    init(
      id: UInt32, grant: UInt32, in keyring: Keyring, _ credential: borrowing Credential, work: WorkFactor,
      around key: borrowing Secret
    ) throws(CryptoError) {
      guard (WorkFactor.leastRead.logN...WorkFactor.mostRead.logN).contains(work.logN) else {
        throw .limitExceeded(.workFactor)
      }
      let isPassword = credential.kind == .password
      (kind, self.id, self.grant, rootGeneration) = (credential.kind, id, grant, keyring.rootGeneration)
      logN = isPassword ? work.logN : 0
      salt = isPassword ? try Random.bytes(Self.saltSize) : [UInt8](repeating: 0, count: Self.saltSize)
      unknown = []
      let slotKey = try credential.slotKey(salt: salt, logN: logN, storeID: keyring.storeID)
      try wrap(key, under: slotKey, storeID: keyring.storeID)
    }

    /// What it wraps.
    ///
    /// - Throws: ``CryptoError/wrongKey`` where the credential is not this slot's,
    ///   ``CryptoError/tamperedSlot(_:)`` where it is and the slot was altered.
    func open(_ credential: borrowing Credential, storeID: ID16) throws(CryptoError) -> Secret {
      let key = try credential.slotKey(salt: salt, logN: logN, storeID: storeID)
      do throws(CryptoError) { return try unwrap(under: key, storeID: storeID) } catch {
        throw error == .tampered ? .tamperedSlot(id) : error
      }
    }
  }
}
