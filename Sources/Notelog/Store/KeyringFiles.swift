// The keyring on disk: two files, each replaced in one step (docs/format-keyring.md 10.9).

import NotelogBase
import NotelogFormat
import NotelogStorage
import NotelogCrypto

/// Reads and replaces `keyring` and `keyring.copy`.
struct KeyringFiles: Sendable {
  static let name = FileName.keyring
  static let copyName = FileName.keyringCopy
  /// What a file's length is compared with before it is read.
  static let maximumByteCount = Keyring.byteCountMax

  let storage: any Storage

  /// Reads both files and chooses the one that counts.
  func load(storeID: ID16) throws(NotelogError) -> Keyring.Choice {
    let files = contents()
    guard files.keyring != nil || files.copy != nil else {
      throw NotelogError(
        .damaged, "the store has neither keyring nor keyring.copy; restore one from a backup")
    }
    do { return try files.choose(storeID: storeID) } catch {
      // Where neither serves, why one can't be read is the better thing to know.
      throw files.failure ?? NotelogError(crypto: error, "reading the keyring")
    }
  }

  /// The same for an opening that only reads: where neither file serves, nothing sealed opens, and all that is plain is there.
  func loadForReading(storeID: ID16) throws(NotelogError) -> Keyring.Choice {
    do { return try load(storeID: storeID) } catch {
      guard error.code == .damaged else { throw error }
      return Keyring.none(of: storeID, because: error.message)
    }
  }

  /// Whether `keyring` is another one than this, judged by its generation.
  func mayDiffer(from keyring: Keyring) -> Bool {
    guard let file = try? storage.openFile(Self.name, .read) else { return false }
    defer { file.close() }
    var buffer = Buffer()
    let offset = Keyring.generationOffset
    guard (try? buffer.fill(offset + 8, from: file, at: 0)) == offset + 8 else { return false }
    return buffer.bytes.load(UInt64.self, at: offset) != keyring.generation
  }

  /// What is in both files, whatever it is; nil where there is no such file. One that can't be read has nothing in it: whatever the
  /// reason, that is what the other is for.
  func contents() -> KeyringContents {
    var failure: NotelogError?
    func bytes(_ name: String) -> [UInt8]? {
      do throws(StorageError) { return try storage.readWhole(name, upTo: Self.maximumByteCount) } catch {
        if error.errno == SystemErrno.notFound { return nil }
        failure = failure ?? NotelogError(error, "reading \(name)")
        return []
      }
    }
    let (keyring, copy) = (bytes(Self.name), bytes(Self.copyName))
    return KeyringContents(keyring: keyring, copy: copy, failure: failure)
  }

  /// The sound keyrings that lie in the folder, each once: those of the two files first, then those that lie beside them.
  ///
  /// - Parameters:
  ///   - storeID: The store that they must belong to; nil where it is not known.
  ///   - isUnderAnyName: Whether those count too that sync programs and people left under other names than a backup does.
  /// - Returns: Their names, and what is in them.
  func all(of storeID: ID16?, underAnyName isUnderAnyName: Bool = false) -> [(name: String, keyring: Keyring)]
  {
    let others = ((try? storage.names(in: "")) ?? []).filter { name in
      !Self.isOwn(name) && !name.hasSuffix(FileName.partialSuffix)
        && (name.hasPrefix(FileName.furtherKeyringPrefix) || isUnderAnyName && beginsLikeOne(name))
    }
    var found: [(name: String, keyring: Keyring)] = []
    for name in [Self.name, Self.copyName] + others.sorted() {
      guard let bytes = try? storage.readWhole(name, upTo: Self.maximumByteCount),
        let keyring = (try? Keyring.choose(bytes, copy: bytes, storeID: storeID))?.keyring,
        !found.contains(where: { $0.keyring == keyring })
      else { continue }
      found.append((name, keyring))
    }
    return found
  }

  /// What is in both files or, where another keyring was chosen than they make, that one.
  func contents(choosing chosen: Keyring?) -> KeyringContents {
    let contents = contents()
    guard let chosen, chosen != (try? contents.choose())?.keyring else { return contents }
    return KeyringContents(keyring: chosen.bytes, copy: chosen.bytes, failure: nil)
  }

  /// Whether a keyring is in the folder.
  func contains(_ keyring: Keyring, of storeID: ID16?) -> Bool {
    all(of: storeID).contains { $0.keyring == keyring }
  }

  /// Whether a name is one of the two.
  static func isOwn(_ name: String) -> Bool { name == Self.name || name == copyName }

  /// The newest of some keyrings that a credential opens, its MACs checked.
  ///
  /// - Throws: Why it opens none of them: `wrongPassword`, `tampered`; `invalidArgument` where it is none.
  static func newest(
    of found: [(name: String, keyring: Keyring)], openedBy credential: Credential
  ) throws(NotelogError) -> (name: String, keyring: Keyring) {
    var refusal = NotelogError(crypto: .tamperedKeyring, "opening the keyring")
    for one in found.sorted(by: { $0.keyring.generation > $1.keyring.generation }) {
      do throws(NotelogError) {
        let isOpened = try credential.withSecret("opening the keyring") { secret throws(CryptoError) in
          try one.keyring.isMade(by: secret)
        }
        if isOpened { return one }
      } catch {
        guard error.code == .wrongPassword || error.code == .tampered else { throw error }
        refusal = error
      }
    }
    throw refusal
  }

  /// Puts a keyring beside the two, in the place of none: whether it is the store's, nobody with a key has checked.
  ///
  /// - Returns: Its name.
  @discardableResult
  func keepBeside(_ keyring: Keyring) throws(NotelogError) -> String {
    let fingerprint = try naming("naming a keyring") { () throws(CryptoError) in try keyring.fingerprint() }
    let name = FileName.furtherKeyring(keyring.generation, fingerprint)
    try keep(keyring.bytes, as: name)
    return name
  }

  /// Whether a file begins as a keyring does.
  private func beginsLikeOne(_ name: String) -> Bool {
    guard let file = try? storage.openFile(name, .read) else { return false }
    defer { file.close() }
    var buffer = Buffer()
    return (try? buffer.fill(Keyring.magic.count, from: file, at: 0)) == Keyring.magic.count
      && buffer.bytes.array() == Keyring.magic
  }

  /// Replaces both files; a crash at any moment leaves each of them old or new, and one of them whole.
  func replace(with bytes: [UInt8]) throws(NotelogError) {
    try keep(bytes, as: Self.name)
    try keep(bytes, as: Self.copyName)
  }

  /// Replaces one file, by whatever it is. Of the two `keyring` is the first: from then on it is the one that counts.
  func keep(_ bytes: [UInt8], as name: String) throws(NotelogError) {
    do { try storage.replaceWhole(name, with: bytes) } catch {
      throw NotelogError(error, "writing \(name)")
    }
  }
}

/// What is in the keyring's two files of a folder.
struct KeyringContents {
  let keyring: [UInt8]?
  let copy: [UInt8]?
  /// Why one of them can't be read.
  let failure: NotelogError?

  /// The one that counts.
  func choose(storeID: ID16? = nil) throws(CryptoError) -> Keyring.Choice {
    try Keyring.choose(keyring, copy: copy, storeID: storeID)
  }

  /// Copies both into another folder: each that checks, or, where one does not, the other twice; as they are, where none was chosen.
  func copy(to storage: any Storage, choosing choice: Keyring.Choice? = nil) throws(NotelogError) {
    var files = [keyring, copy]
    if let choice {
      let other = choice.other ?? choice.keyring
      files = [choice.keyring.bytes, other.bytes]
      switch choice.finding {
      case .keyringOlder, .keyringUnreadable: files.reverse()
      default: break
      }
    }
    for case (let name, let bytes?) in zip([KeyringFiles.name, KeyringFiles.copyName], files)
    where !bytes.isEmpty {
      try KeyringFiles(storage: storage).keep(bytes, as: name)
    }
  }
}
