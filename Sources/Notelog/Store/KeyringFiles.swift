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
  func load(storeID: Bytes16) throws(NotelogError) -> Keyring.Choice {
    let files = contents()
    guard files.keyring != nil || files.copy != nil else {
      throw NotelogError(
        .damaged, "the store has neither keyring nor keyring.copy; restore one from a backup")
    }
    do {
      return try naming("reading the keyring") { () throws(CryptoError) in
        try Keyring.choose(files.keyring, copy: files.copy, storeID: storeID)
      }
    } catch {
      // Where neither serves, why one can't be read is the better thing to know.
      throw files.failure ?? error
    }
  }

  /// What is in both files, whatever it is; nil where there is no such file. One that can't be read has nothing in it: whatever the
  /// reason, that is what the other is for.
  func contents() -> (keyring: [UInt8]?, copy: [UInt8]?, failure: NotelogError?) {
    var failure: NotelogError?
    func bytes(_ name: String) -> [UInt8]? {
      do throws(StorageError) { return try storage.readWhole(name, upTo: Self.maximumByteCount) } catch {
        if error.errno == SystemErrno.notFound { return nil }
        failure = failure ?? NotelogError(storage: error, "reading \(name)")
        return []
      }
    }
    let (keyring, copy) = (bytes(Self.name), bytes(Self.copyName))
    return (keyring, copy, failure)
  }

  /// Replaces both files; a crash at any moment leaves each of them old or new, and one of them whole.
  func replace(with bytes: [UInt8]) throws(NotelogError) {
    try replaceKeyring(with: bytes)
    do { try storage.replaceWhole(Self.copyName, with: bytes) } catch {
      throw NotelogError(storage: error, "replacing the keyring")
    }
  }

  /// Replaces `keyring`, the first of the two: from then on it is the one that counts.
  func replaceKeyring(with bytes: [UInt8]) throws(NotelogError) {
    do { try storage.replaceWhole(Self.name, with: bytes) } catch {
      throw NotelogError(storage: error, "replacing the keyring")
    }
  }

  /// Replaces `keyring.copy` by what `keyring` holds already.
  ///
  /// - Returns: Whether that went well.
  func replaceCopy(with bytes: [UInt8]) -> Bool {
    (try? storage.replaceWhole(Self.copyName, with: bytes)) != nil
  }

  /// Writes one file as it is, damage and all.
  func keep(_ bytes: [UInt8], as name: String) throws(NotelogError) {
    do { try storage.replaceWhole(name, with: bytes) } catch {
      throw NotelogError(storage: error, "writing \(name)")
    }
  }
}
