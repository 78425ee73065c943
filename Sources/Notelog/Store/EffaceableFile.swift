// The secret without which a named key's wraps don't open, in a file of its own that can be overwritten (docs/format-keyring.md 10.10).

import NotelogBase
import NotelogCrypto
import NotelogFormat
import NotelogStorage

/// A named key's effaceable secret. No other file of the store holds it, no backup has it, and nothing replaces the file: it is
/// overwritten where it lies.
struct EffaceableFile {
  private static let magic: UInt64 = 0x6563_6166_6665_4C4E
  private static let checkedByteCount = 68
  /// All of it is overwritten: a block of most file systems, so that nothing of a block is written elsewhere.
  private static let byteCount = 4096

  let storage: any Storage
  let storeID: ID16
  let number: UInt16

  private var name: String { FileName.effaceable(number) }

  /// Whether it is there, whatever is in it.
  var isThere: Bool {
    guard let file = try? storage.openFile(name, .read) else { return false }
    file.close()
    return true
  }

  /// The secret; nil where the file is missing, or is not what it was.
  func read() throws(CryptoError) -> Secret? {
    guard let file = try? storage.openFile(name, .read) else { return nil }
    defer { file.close() }
    var bytes = try Secret(byteCount: Self.checkedByteCount)
    var target = bytes.mutableBytes
    guard (try? file.readFully(into: &target, at: 0)) == Self.checkedByteCount,
      bytes.bytes.load(UInt64.self, at: 0) == Self.magic, ID16(bytes.bytes, at: 8) == storeID,
      bytes.bytes.load(UInt16.self, at: 24) == number,
      bytes.bytes.load(UInt32.self, at: 64) == Checksum.of(bytes.bytes.extracting(first: 64))
    else { return nil }
    return try Secret(copying: bytes.bytes.extracting(32..<64))
  }

  /// Makes one, durably, before the key that needs it. What is there is of a key that never came to be.
  func make() throws(NotelogError) {
    do {
      let secret = try Secret.random(byteCount: 32)
      var bytes = try Secret(byteCount: Self.byteCount)
      var target = bytes.mutableBytes
      target.store(Self.magic, at: 0)
      storeID.write(into: &target, at: 8)
      target.store(number, at: 24)
      target.copy(secret.bytes, at: 32)
      target.store(Checksum.of(target.bytes.extracting(first: 64)), at: 64)
      try write(bytes.bytes, .createIfMissing)
      try storage.makeNamesDurable()
    } catch let error as StorageError {
      throw NotelogError(error, "making an effaceable secret")
    } catch {
      throw NotelogError(.inputOutput, "making an effaceable secret: no memory or randomness for it")
    }
  }

  /// Overwrites it, with random bytes and then with zeros, each durably, and removes it. A file that is gone, or was overwritten before, is
  /// no obstacle.
  func efface() throws(NotelogError) {
    var noise = [UInt8](repeating: 0, count: Self.byteCount)
    for index in noise.indices { noise[index] = .random(in: 0...255) }
    do throws(StorageError) {
      try write(noise.rawSpan, .update)
      try write([UInt8](repeating: 0, count: Self.byteCount).rawSpan, .update)
      try storage.remove(name)
    } catch {
      guard error.isMissing else { throw NotelogError(error, "shredding a key") }
    }
    do { try storage.makeNamesDurable() } catch { throw NotelogError(error, "shredding a key") }
  }

  /// Copies all such files of a folder into another, durably, as they are.
  static func copyAll(from source: any Storage, to target: any Storage) throws(NotelogError) {
    do {
      for name in try source.names(in: "") where FileName.isEffaceable(name) {
        // One that can't be read is as good as missing.
        guard let bytes = try? source.readWhole(name, upTo: byteCount) else { continue }
        try target.replaceWhole(name, with: bytes)
      }
    } catch { throw NotelogError(error, "copying an effaceable secret") }
  }

  private func write(_ bytes: RawSpan, _ mode: StorageOpenMode) throws(StorageError) {
    let file = try storage.openFile(name, mode)
    defer { file.close() }
    try file.writeAll(bytes, at: 0)
    try file.makeDurable()
  }
}

/// Where a store's secrets lie that its keyring does not have.
struct OutsideFiles: OutsideSecrets {
  let storage: any Storage
  let storeID: ID16
  let device: DeviceSecret

  func deviceSecret(making: Bool) throws(CryptoError) -> Secret? { try device.load(making: making) }

  func effaceableSecret(ofKey number: UInt16) throws(CryptoError) -> Secret? {
    try EffaceableFile(storage: storage, storeID: storeID, number: number).read()
  }
}
