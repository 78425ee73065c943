// The secret of this device, which lies outside of every store (docs/format-keyring.md 10.4).

import Foundation
import NotelogBase
import NotelogCrypto
import NotelogFormat
import NotelogStorage

/// Where this device's secret is. Keys that are to be used on this device only need it, and so do keys that
/// are always open.
///
/// It is made when the first such key is, and is in no store and no backup. Whoever loses it loses the keys
/// that need it.
public enum DeviceSecret: Sendable {
  /// The file `notelog/device-secret` in the folder `$XDG_STATE_HOME`, or in `~/.local/state`.
  case standard
  /// A file.
  case file(String)
  /// 32 bytes that the app keeps: in a keychain, for instance. The closure says what they are, and makes them
  /// where it is asked to and there are none; nil otherwise.
  case kept(@Sendable (_ making: Bool) throws -> [UInt8]?)

  /// The path of its file; nil where it is none.
  public var path: String? {
    switch self {
    case .file(let path): return path
    case .kept: return nil
    case .standard:
      let environment = ProcessInfo.processInfo.environment
      let state = environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
      return (state ?? (environment["HOME"] ?? "") + "/.local/state") + "/notelog/device-secret"
    }
  }

  /// The secret; nil where there is none, and none is to be made.
  func load(making: Bool) throws(CryptoError) -> Secret? {
    if case .kept(let give) = self {
      guard let bytes = try? give(making) else { return nil }
      guard bytes.count == 32 else { throw .noDeviceSecret }
      return try Secret(copying: bytes.rawSpan)
    }
    guard let path else { throw .noDeviceSecret }
    let place = URL(filePath: path)
    // Links on the way are followed as they are now; what is made is made there.
    let folder = place.deletingLastPathComponent().resolvingSymlinksInPath()
    let parent = folder.deletingLastPathComponent().path
    if making { do { try Self.makeFolder(parent) } catch { throw .noDeviceSecret } }
    let file = DeviceSecretFile(
      storage: SystemStorage(path: parent), folder: parent == folder.path ? "" : folder.lastPathComponent,
      name: place.lastPathComponent
    ) {
      let mode = (try? FileManager.default.attributesOfItem(atPath: path))?[.posixPermissions] as? NSNumber
      return mode.map { $0.intValue & 0o077 == 0 } == true
    }
    return try file.load(making: making)
  }

  /// Makes a folder that is missing, and those above it, each durable in the one above it.
  private static func makeFolder(_ path: String) throws(StorageError) {
    if FileManager.default.fileExists(atPath: path) { return }
    try makeFolder(URL(filePath: path).deletingLastPathComponent().path)
    do throws(StorageError) { try SystemStorage(path: path).makeStoreFolder() } catch {
      guard error.errno == SystemErrno.exists else { throw error }
    }
  }
}

// MARK: - The file of this device's secret (docs/format-keyring.md 10.4), and what is durable before anything depends on it.

/// This device's secret in a file of its own. What is given out to make keys with is there after a crash too:
/// the file, its name and the folder's are durable before.
struct DeviceSecretFile: Sendable {
  private static let head = Array("NLdevice".utf8)

  let storage: any Storage
  /// The folder that it lies in, made where it is missing; empty for the storage's own.
  let folder: String
  let name: String
  /// Whether it is nobody else's to read.
  let isPrivate: @Sendable () -> Bool

  private var path: String { folder.isEmpty ? name : folder + "/" + name }

  /// The secret; nil where there is none, and none is to be made.
  func load(making: Bool) throws(CryptoError) -> Secret? {
    guard making else { return try read() }
    do {
      try makeFolder()
      if try read() == nil { try makeAlone() }
      // One that was there may be of a process that died before its name was durable.
      do throws(StorageError) { try storage.makeNamesDurable(in: folder) } catch {
        guard error.call == .open else { throw error }
      }
      return try read()
    } catch { throw .noDeviceSecret }
  }

  /// Makes the folder. One that is there may be of a process that died before its name was durable, or
  /// somebody else's, who left us no right to sync the folder above.
  private func makeFolder() throws(StorageError) {
    if folder.isEmpty { return }
    var isNew = true
    do throws(StorageError) { try storage.makeFolder(folder) } catch {
      guard error.errno == SystemErrno.exists else { throw error }
      isNew = false
    }
    do throws(StorageError) { try storage.makeNamesDurable() } catch {
      guard !isNew, error.call == .open else { throw error }
    }
  }

  private func lock() throws(StorageError) -> any StorageFile {
    for _ in 0..<2_000 {
      do throws(StorageError) {
        return try storage.openLocked(path + ".lock", .createIfMissing, .exclusive)
      } catch {
        guard error.errno == SystemErrno.wouldBlock else { throw error }
        pauseThread(.milliseconds(1))
      }
    }
    throw StorageError(.lock, path, errno: SystemErrno.wouldBlock)
  }

  /// Reads it; nil where there is no such file.
  private func read() throws(CryptoError) -> Secret? {
    let file: any StorageFile
    do throws(StorageError) { file = try storage.openFile(path, .read) } catch {
      guard error.isMissing else { throw .noDeviceSecret }
      return nil
    }
    guard let secret = try file.readSecret(behind: Self.head), isPrivate() else { throw .noDeviceSecret }
    return secret
  }

  /// Makes it, unless another process does: several may need it at once.
  private func makeAlone() throws {
    let lock = try self.lock()
    defer { lock.close() }
    if try read() != nil { return }
    let bytes = try Secret.filed(behind: Self.head)
    let partial = path + FileName.partialSuffix
    let file = try storage.openEmpty(partial)
    try file.writeAll(bytes.bytes, at: 0)
    try file.makeDurable()
    try storage.move(partial, to: path)
  }
}

// MARK: - A secret in a file: a head that says whose it is, 32 bytes, and a checksum of both.

extension StorageFile {
  /// The secret; nil where the file is not what it was.
  func readSecret(behind head: [UInt8]) throws(CryptoError) -> Secret? {
    let end = head.count + 32
    var bytes = try Secret(byteCount: end + 4)
    var target = bytes.mutableBytes
    guard (try? readFully(into: &target, at: 0)) == end + 4,
      bytes.bytes.extracting(first: head.count).array() == head,
      bytes.bytes.load(UInt32.self, at: end) == Checksum.of(bytes.bytes.extracting(first: end))
    else { return nil }
    return try bytes.copy(head.count..<end)
  }
}

extension Secret {
  /// The bytes of a file with a random secret; zeros fill it up.
  static func filed(behind head: [UInt8], byteCount: Int? = nil) throws(CryptoError) -> Secret {
    let secret = try Secret.random(byteCount: 32)
    let end = head.count + 32
    var bytes = try Secret(byteCount: byteCount ?? end + 4)
    bytes.fill(head)
    var target = bytes.mutableBytes
    target.copy(secret.bytes, at: head.count)
    target.store(Checksum.of(target.bytes.extracting(first: end)), at: end)
    return bytes
  }
}
