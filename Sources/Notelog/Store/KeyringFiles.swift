// The keyring on disk: two files, each replaced in one step (FORMAT.md 10.9).

import NotelogBase
import NotelogFormat
import NotelogStorage
import NotelogCrypto
import NotelogJournal

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

  /// The generation that `keyring` says it is, read without anything else of it; nil where that can't be read.
  func generation() -> UInt64? {
    guard let file = try? storage.open(Self.name, .read) else { return nil }
    defer { file.close() }
    var buffer = Buffer()
    let count = try? buffer.fill(Keyring.generationOffset + 8, from: file, at: 0)
    guard count == Keyring.generationOffset + 8 else { return nil }
    return buffer.bytes.load(UInt64.self, at: Keyring.generationOffset)
  }

  /// What is in both files, whatever it is; nil where there is no such file. One that can't be read has nothing in it: whatever the
  /// reason, that is what the other is for.
  func contents() -> KeyringContents {
    var failure: NotelogError?
    func bytes(_ name: String) -> [UInt8]? {
      do throws(StorageError) { return try storage.readWhole(name, upTo: Self.maximumByteCount) } catch {
        if error.errno == SystemErrno.notFound { return nil }
        failure = failure ?? NotelogError(storage: error, "reading \(name)")
        return []
      }
    }
    let (keyring, copy) = (bytes(Self.name), bytes(Self.copyName))
    return KeyringContents(keyring: keyring, copy: copy, failure: failure)
  }

  /// Replaces both files; a crash at any moment leaves each of them old or new, and one of them whole.
  func replace(with bytes: [UInt8]) throws(NotelogError) {
    try keep(bytes, as: Self.name)
    try keep(bytes, as: Self.copyName)
  }

  /// Replaces `keyring.copy` by what `keyring` holds already.
  ///
  /// - Returns: Whether that went well.
  func replaceCopy(with bytes: [UInt8]) -> Bool {
    (try? storage.replaceWhole(Self.copyName, with: bytes)) != nil
  }

  /// Replaces one file, by whatever it is. Of the two `keyring` is the first: from then on it is the one that counts.
  func keep(_ bytes: [UInt8], as name: String) throws(NotelogError) {
    do { try storage.replaceWhole(name, with: bytes) } catch {
      throw NotelogError(storage: error, "writing \(name)")
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

  /// Copies both into another folder: as they are, or, where one of them was chosen since the other can't be read, that one twice.
  func copy(to storage: any Storage, choosing choice: Keyring.Choice? = nil) throws(NotelogError) {
    var files = [(name: KeyringFiles.name, bytes: keyring), (name: KeyringFiles.copyName, bytes: copy)]
    switch choice?.finding {
    case .copyUnreadable: files[1].bytes = choice?.keyring.bytes
    case .keyringUnreadable: files[0].bytes = choice?.keyring.bytes
    case .bothSound, .copyOlder, .keyringOlder, .disagree, nil: break
    }
    for case (let name, let bytes?) in files where !bytes.isEmpty {
      try KeyringFiles(storage: storage).keep(bytes, as: name)
    }
  }
}
