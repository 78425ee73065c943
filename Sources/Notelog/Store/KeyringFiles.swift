// The keyring on disk: two files, each replaced in one step (docs/format-keyring.md 10.9).

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

  /// The same for an opening that only reads: where neither file serves, nothing sealed opens, and all that is plain is there.
  func loadForReading(storeID: ID16) throws(NotelogError) -> Keyring.Choice {
    do { return try load(storeID: storeID) } catch {
      guard error.code == .damaged else { throw error }
      return Keyring.none(of: storeID, because: error.message)
    }
  }

  /// Whether `keyring` may be another one than this, judged by its length and the generation before additions.
  func mayDiffer(from keyring: Keyring) -> Bool {
    guard let file = try? storage.open(Self.name, .read) else { return false }
    defer { file.close() }
    var buffer = Buffer()
    let offset = Keyring.generationOffset
    if keyring.bytes.isEmpty { return true }
    guard (try? buffer.fill(offset + 8, from: file, at: 0)) == offset + 8,
      let byteCount = try? file.byteCount()
    else { return false }
    return byteCount != keyring.bytes.count
      || buffer.bytes.load(UInt64.self, at: offset) != keyring.bytes.rawSpan.load(UInt64.self, at: offset)
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

  /// What is in both files; or a keyring of the store that lies in the folder under another name, as sync programs and people leave them,
  /// where that is newer, or none of the two serves.
  ///
  /// - Returns: What is to be taken, and that other name.
  func newest(of storeID: ID16?) -> (contents: KeyringContents, name: String?) {
    var newest: (contents: KeyringContents, name: String?) = (contents(), nil)
    var generation = (try? newest.contents.choose(storeID: storeID))?.keyring.generation ?? 0
    for name in (try? storage.names(in: "")) ?? [] where name != Self.name && name != Self.copyName {
      guard let bytes = beginningLikeOne(name) else { continue }
      let found = KeyringContents(keyring: bytes, copy: bytes, failure: nil)
      guard let keyring = (try? found.choose(storeID: storeID))?.keyring, keyring.generation > generation
      else { continue }
      (newest, generation) = ((found, name), keyring.generation)
    }
    return newest
  }

  /// A file's bytes, if it begins as a keyring does.
  private func beginningLikeOne(_ name: String) -> [UInt8]? {
    guard let file = try? storage.openFile(name, .read) else { return nil }
    defer { file.close() }
    var buffer = Buffer()
    guard (try? buffer.fill(Keyring.magic.count, from: file, at: 0)) == Keyring.magic.count,
      buffer.bytes.array() == Keyring.magic
    else { return nil }
    return try? storage.readWhole(name, upTo: Self.maximumByteCount)
  }

  /// Replaces both files; a crash at any moment leaves each of them old or new, and one of them whole.
  func replace(with bytes: [UInt8]) throws(NotelogError) {
    try keep(bytes, as: Self.name)
    try keep(bytes, as: Self.copyName)
  }

  /// Puts a change into one of the files: behind what is there, where something was added only and the file is known to hold what comes
  /// before, or in its place. Of the two `keyring` is the first: from then on it is the one that counts.
  func keep(_ change: Vault.Change, as name: String, isBehind: Bool) throws(NotelogError) {
    if isBehind, let start = change.additionStart {
      do throws(StorageError) { return try append(change.bytes, from: start, to: name) } catch {
        // A file that something else has a name of as well is not changed where it lies, but replaced.
        if error.isNoSpace { throw NotelogError(storage: error, "writing \(name)") }
      }
    }
    try keep(change.bytes, as: name)
  }

  /// Writes what comes from a place on, if what lies before it is what it should be: behind damage, nobody could read it. A crash leaves a
  /// beginning of it, which counts as nothing; so does what was there, if anything.
  private func append(_ bytes: [UInt8], from start: Int, to name: String) throws(StorageError) {
    let file = try retryingInterruptions { () throws(StorageError) in try storage.open(name, .update) }
    defer { file.close() }
    guard try storage.readWhole(name, upTo: Self.maximumByteCount).starts(with: bytes[..<start]) else {
      throw StorageError(.write, name, errno: SystemErrno.inputOutput)
    }
    do {
      try file.writeAll(bytes.rawSpan.extracting(droppingFirst: start), at: start)
      if try file.byteCount() > bytes.count { try file.truncate(to: bytes.count) }
      try file.sync()
    } catch {
      try? file.truncate(to: start)
      throw error
    }
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

  /// Copies both into another folder: as they are, or, where one of them was chosen since the other is older or can't be read, that one twice.
  func copy(to storage: any Storage, choosing choice: Keyring.Choice? = nil) throws(NotelogError) {
    var files = [(name: KeyringFiles.name, bytes: keyring), (name: KeyringFiles.copyName, bytes: copy)]
    switch choice?.finding {
    case .copyOlder, .copyUnreadable: files[1].bytes = choice?.keyring.bytes
    case .keyringOlder, .keyringUnreadable: files[0].bytes = choice?.keyring.bytes
    case .bothSound, .disagree, .tailsUnreadable, .noneServes, nil: break
    }
    for case (let name, let bytes?) in files where !bytes.isEmpty {
      try KeyringFiles(storage: storage).keep(bytes, as: name)
    }
  }
}
