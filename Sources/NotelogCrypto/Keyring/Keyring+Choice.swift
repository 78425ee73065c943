// Which of the two copies of a keyring counts (docs/format-keyring.md 10.9).

package import NotelogBase

extension Keyring {
  /// The copy that counts, and what was found on the way.
  package struct Choice: Sendable {
    /// What the two files were like.
    package enum Finding: Equatable, Sendable {
      case bothSound
      /// The last change reached only one of them: a crash in between.
      case copyOlder, keyringOlder
      /// One of them is missing, damaged or unknown; the other serves.
      case copyUnreadable(CryptoError?), keyringUnreadable(CryptoError?)
      /// Of the same generation and yet different: somebody wrote one of them.
      case disagree
      /// Neither of them serves, for this reason.
      case noneServes(String)
    }

    package let keyring: Keyring
    package let finding: Finding
    /// The other file's keyring, where it is sound and differs: the vault falls back on it where the chosen
    /// one turns out, at unlock, to be tampered with.
    package let other: Keyring?

    /// Whether both files hold the same, so that nothing needs to be written.
    package var isSound: Bool { finding == .bothSound }
  }

  /// What an opening for reading goes by where neither file serves: a keyring without slots and keys.
  package static func none(of storeID: ID16, because reason: String) -> Choice {
    let keyring = Keyring(
      storeID: storeID, generation: 0, rootGeneration: 0, nextKeyReference: 1, nextSlotID: 1,
      nextWrappingNumber: 1, slots: [], wrappingKeys: [], namedKeys: [], dataKeys: [])
    return Choice(keyring: keyring, finding: .noneServes(reason), other: nil)
  }

  /// Chooses the newer of two copies.
  ///
  /// - Parameters:
  ///   - first: The bytes of `keyring`; nil where there is no such file.
  ///   - second: The bytes of `keyring.copy`, likewise.
  ///   - storeID: The store they must belong to, where it is known.
  ///   - workFactorLimit: The most work that a password slot may ask for.
  /// - Returns: The keyring that counts, and what was found.
  /// - Throws: What is wrong with the first, where neither can be read.
  package static func choose(
    _ first: [UInt8]?, copy second: [UInt8]?, storeID: ID16? = nil, workFactorLimit: WorkFactor = .mostRead
  ) throws(CryptoError) -> Choice {
    let one = read(first, storeID, workFactorLimit)
    // Most often they are the same, and then so is what can be read of them.
    let two = first == second ? one : read(second, storeID, workFactorLimit)
    switch (one, two) {
    case (.success(let one), .success(let two)):
      if one == two { return Choice(keyring: one, finding: .bothSound, other: nil) }
      if one.generation > two.generation { return Choice(keyring: one, finding: .copyOlder, other: two) }
      if one.generation < two.generation { return Choice(keyring: two, finding: .keyringOlder, other: one) }
      return Choice(keyring: one, finding: .disagree, other: two)
    case (.success(let one), .failure(let error)):
      return Choice(keyring: one, finding: .copyUnreadable(second == nil ? nil : error), other: nil)
    case (.failure(let error), .success(let two)):
      return Choice(keyring: two, finding: .keyringUnreadable(first == nil ? nil : error), other: nil)
    case (.failure(let error), .failure(let other)): throw first == nil ? other : error
    }
  }

  /// Whether a credential opens all of it, and whoever made its MACs had the root that it leads to. A grant can't tell.
  ///
  /// - Throws: ``CryptoError/wrongPassword``, ``CryptoError/wrongKey``, ``CryptoError/tamperedSlot(_:)``.
  package func isMade(by credential: borrowing Credential) throws(CryptoError) -> Bool {
    let opened = try openSlot(credential, slot: nil)
    return opened.grant == 0 ? try verifyMAC(root: opened.key.secret) : false
  }

  /// The first eight bytes of its SHA-256: what tells it from others of its generation.
  package func fingerprint() throws(CryptoError) -> [UInt8] { Array(try Crypto.sha256(bytes).prefix(8)) }

  private static func read(_ bytes: [UInt8]?, _ storeID: ID16?, _ limit: WorkFactor) -> Result<
    Keyring, CryptoError
  > {
    guard let bytes else { return .failure(.damagedKeyring(.length)) }
    return Result { () throws(CryptoError) in
      let keyring = try Keyring(parsing: bytes, workFactorLimit: limit)
      guard storeID == nil || keyring.storeID == storeID else { throw .damagedKeyring(.otherStore) }
      return keyring
    }
  }
}
