// A slot: one way to unlock the store (FORMAT.md 10.3).

import NotelogBase

extension Keyring {
  /// One credential's wrap of the unlock root.
  package struct Slot: WrappedKey, Equatable, Sendable {
    static let domain = "NL1slot\0"
    static let byteCount = 144
    static let saltSize = 16
    /// The block size and parallelism that scrypt is used with; nothing else is accepted.
    static let blockSize: UInt8 = 8
    static let parallelism: UInt8 = 1

    /// What kind of credential opens it.
    package enum Kind: UInt8, Sendable {
      case password = 1
      case rawKey = 2
      case recoveryKey = 3
    }

    package let kind: Kind
    /// log2 of scrypt's N; zero where there is no password.
    package let logN: UInt8
    package let id: UInt32
    let rootGeneration: UInt32
    /// scrypt's salt; zeros where there is no password.
    let salt: [UInt8]
    var wrap = KeyWrap.none

    /// The first forty bytes: everything that is not the wrap.
    var header: [UInt8] {
      let isPassword = kind == .password
      var bytes = [kind.rawValue, logN, isPassword ? Self.blockSize : 0, isPassword ? Self.parallelism : 0]
      bytes.append(littleEndian: id)
      bytes.append(littleEndian: rootGeneration)
      bytes.append(zeros: 12)
      return bytes + salt
    }

    /// Reads a slot. Work factors are compared with their limits here, before anybody does the work.
    init(_ reader: inout KeyringCursor, workFactorLimit: WorkFactor) throws(CryptoError) {
      let type = try reader.integer(as: UInt8.self)
      guard let kind = Kind(rawValue: type) else { throw .unsupported(.slotType(type)) }
      self.kind = kind
      logN = try reader.integer()
      let r = try reader.integer(as: UInt8.self)
      let p = try reader.integer(as: UInt8.self)
      if kind == .password {
        guard r == Self.blockSize, p == Self.parallelism else { throw .limitExceeded(.workFactor) }
        guard logN >= WorkFactor.leastRead.logN, logN <= workFactorLimit.logN else {
          throw .limitExceeded(.workFactor)
        }
      } else {
        guard logN == 0, r == 0, p == 0 else { throw .damagedKeyring(.reserved) }
      }
      id = try reader.integer()
      rootGeneration = try reader.integer()
      try reader.reserved(12)
      if kind == .password {
        salt = try reader.array(Self.saltSize)
      } else {
        try reader.reserved(Self.saltSize)
        salt = [UInt8](repeating: 0, count: Self.saltSize)
      }
      wrap = KeyWrap(bytes: try reader.array(KeyWrap.byteCount))
    }

    /// A new slot for a credential.
    init(
      id: UInt32, rootGeneration: UInt32, storeID: ID16, credential: borrowing Credential,
      work: WorkFactor,
      root: borrowing Secret, memory: SecretMemory
    ) throws(CryptoError) {
      kind = credential.kind
      self.id = id
      self.rootGeneration = rootGeneration
      logN = kind == .password ? work.logN : 0
      salt =
        kind == .password ? try Random.bytes(Self.saltSize) : [UInt8](repeating: 0, count: Self.saltSize)
      let key = try credential.slotKey(salt: salt, logN: logN, storeID: storeID, memory: memory)
      try wrap(root, under: key, storeID: storeID, memory: memory)
    }

    /// The unlock root.
    ///
    /// - Throws: ``CryptoError/wrongKey`` where the credential is not this slot's,
    ///   ``CryptoError/tamperedSlot(_:)`` where it is and the slot was altered.
    func open(
      _ credential: borrowing Credential, storeID: ID16, memory: SecretMemory
    ) throws(CryptoError) -> Secret {
      let key = try credential.slotKey(salt: salt, logN: logN, storeID: storeID, memory: memory)
      do throws(CryptoError) {
        return try unwrap(under: key, storeID: storeID, memory: memory)
      } catch {
        throw error == .tampered ? .tamperedSlot(id) : error
      }
    }
  }
}
