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
      do throws(StorageError) { return try read(name) } catch {
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
    do { try replace(Self.copyName, with: bytes) } catch {
      throw NotelogError(storage: error, "replacing the keyring")
    }
  }

  /// Replaces `keyring`, the first of the two: from then on it is the one that counts.
  func replaceKeyring(with bytes: [UInt8]) throws(NotelogError) {
    do { try replace(Self.name, with: bytes) } catch {
      throw NotelogError(storage: error, "replacing the keyring")
    }
  }

  /// Replaces `keyring.copy` by what `keyring` holds already.
  ///
  /// - Returns: Whether that went well.
  func replaceCopy(with bytes: [UInt8]) -> Bool { (try? replace(Self.copyName, with: bytes)) != nil }

  /// Writes one file as it is, damage and all.
  func keep(_ bytes: [UInt8], as name: String) throws(NotelogError) {
    do { try replace(name, with: bytes) } catch { throw NotelogError(storage: error, "writing \(name)") }
  }

  private func replace(_ name: String, with bytes: [UInt8]) throws(StorageError) {
    let partial = name + FileName.partialSuffix
    do {
      let file = try storage.openEmpty(partial)
      defer { file.close() }
      try file.writeAll(bytes.rawSpan, at: 0)
      try file.sync()
      try storage.rename(partial, to: name)
    } catch {
      // It is of no use to anybody, and on a full disk its room is.
      try? storage.unlink(partial)
      throw error
    }
    try storage.syncFolder("")
  }

  private func read(_ name: String) throws(StorageError) -> [UInt8] {
    let file = try storage.open(name, .read)
    defer { file.close() }
    // What is too long can't be a keyring: reading a little too much shows that as well as reading all of it.
    var bytes = [UInt8](repeating: 0, count: min(try file.byteCount(), Self.maximumByteCount + 1))
    let count = try bytes.withBytes(in: 0..<bytes.count) {
      (span: inout MutableRawSpan) throws(StorageError) in
      try file.readFully(into: &span, at: 0)
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }
}
