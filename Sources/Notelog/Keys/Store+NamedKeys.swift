// Named keys: made, looked up, and shredded (docs/format-keyring.md 10.6, 10.10).

import NotelogCrypto

extension Store {
  /// What shredding a key can't do, for whoever asks for it.
  public static let shreddingLimits = """
    What was read, exported or sealed under another key stays as it was. So do copies of the key's effaceable file. A medium may keep blocks \
    that were overwritten (flash does, and file systems that copy on write, and snapshots of them): whoever reads the raw medium may find the \
    secret there until it is used again.
    """

  /// Creates a named key. A key that a schema names and nobody created is made with the class `whenUnlocked`.
  ///
  /// - Parameters:
  ///   - name: Its name.
  ///   - keyClass: When it may be used, for good.
  ///   - isShreddable: Whether it can be shredded: then its data need a small file in the store's folder that
  ///     no backup has. Whoever loses that file loses them.
  /// - Throws: `locked`; `alreadyExists`; `invalidArgument` where the name is empty, has more than 63 bytes
  ///   or has control characters; `inputOutput` where the class needs this device's secret, and it can't be
  ///   read or made.
  public func createKey(_ name: String, _ keyClass: KeyClass, isShreddable: Bool = false) throws {
    try makeKey(name, keyClass, isShreddable: isShreddable)
    try? touchEvidence()
  }

  private func makeKey(_ name: String, _ keyClass: KeyClass, isShreddable: Bool) throws(NotelogError) {
    guard !name.hasControlCharacters else {
      throw NotelogError(
        .invalidArgument, "creating a key: the name \(name.debugDescription) has control characters")
    }
    try alone { () throws(NotelogError) in
      if isShreddable {
        guard isUnlocked else { throw NotelogError(crypto: .rootLocked, "creating a key") }
        try effaceableFile(vault.keyring.nextKeyNumber).make()
      }
      try putInForce("creating a key") { change throws(CryptoError) in
        try change.addKey(named: name, class: keyClass.accessClass, isEffaceable: isShreddable)
      }
    }
  }

  /// Shreds a key: its effaceable secret is overwritten, and nothing that was ever sealed under it can be
  /// opened any more, here or in any copy of the store, whatever passwords there are. ``shreddingLimits``
  /// says what it can't do.
  ///
  /// Records and their other fields stay; reading a field under the key throws `missingKey`. Once this has
  /// begun it can't be undone; where it was interrupted, do it again.
  ///
  /// - Parameter name: The key's name.
  /// - Throws: `locked`, `missingKey`; `invalidArgument` where the key was not made to be shredded; `full`,
  ///   `inputOutput`, `readOnly`.
  public func shredKey(_ name: String) throws {
    let place = "shredding the key \(name)"
    try alone { () throws(NotelogError) in
      let key = try naming(place, vault.namedKey(name))
      guard key.isEffaceable else {
        throw NotelogError(.invalidArgument, "\(place): it was not made to be shredded")
      }
      try effaceableFile(key.number).efface()
      guard !key.isShredded else { return }
      try putInForce(place) { $0.shred(key) }
    }
    try? touchEvidence()
  }

  private func effaceableFile(_ number: UInt16) -> EffaceableFile {
    EffaceableFile(storage: storage, storeID: storeID, number: number)
  }

  /// The reference of a named key's current generation; the key is made where there is none.
  func keyReference(creating name: String) throws(NotelogError) -> UInt32 {
    if let known = try keyReference(name) { return known }
    guard isUnlocked else {
      throw NotelogError(.locked, "the key that a field names can't be looked up: unlock the store")
    }
    if isShredded(name) { throw NotelogError(crypto: .shredded, "looking up the key \(name)") }
    // A schema that names it is to be stored.
    try refuseMissingSchemas("creating the key \(name)")
    try makeKey(name, .whenUnlocked, isShreddable: false)
    return try namedKey(name).current.rawValue
  }

  /// Whether nothing opens what is under a generation, and that is no damage: its named key was shredded, or
  /// its effaceable file is not here, as in a store that was restored.
  func isShredded(_ reference: KeyReference) -> Bool {
    let keyring = vault.keyring
    guard let row = keyring.dataKey(reference), let key = keyring.namedKey(row.number) else { return false }
    return key.isShredded || key.isEffaceable && !effaceableFile(key.number).isThere
  }

  /// Whether a key of this name was shredded.
  func isShredded(_ name: String) -> Bool { (try? vault.namedKey(name))?.isShredded == true }

  /// The reference of a named key's current generation; nil where it was shredded, there is none, or names
  /// are locked.
  func keyReference(_ name: String) throws(NotelogError) -> UInt32? {
    do throws(CryptoError) {
      let key = try vault.namedKey(name)
      // A field under a shredded key keeps the reference that it has: reading it says that the key is gone,
      // and the others are served.
      return key.isShredded ? nil : key.current.rawValue
    } catch {
      if error == .unknownKeyName || error == .rootLocked { return nil }
      throw opener.refusal(error, "looking up the key \(name)")
    }
  }

  // MARK: - Unlocking without the password: by the unlock root that somebody keeps.

  /// The store's id: random, the same in every copy of it.
  public var id: RecordID { RecordID(storeID) }

  /// A copy of the unlock root, under which all keys of the store lie: ``Credential/root(_:)`` takes the place
  /// of a password, without a password's work.
  ///
  /// It is for an agent that keeps a store unlocked for a while between processes, and for a second opening
  /// that only reads: of the store, or of a copy of it. Each opening locks its own keys. Whoever has it opens
  /// everything, and goes on to after a change of passwords: keep it no longer than needed, hand it to
  /// nobody, and never write it to a disk.
  ///
  /// - Throws: `locked`, `closed`.
  public func unlockRoot() throws -> SecretBytes {
    SecretBytes(try naming("asking for the unlock root", vault.rootCopy()))
  }
}
