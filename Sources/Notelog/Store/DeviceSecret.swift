// The secret of this device, which lies outside of every store (FORMAT.md 10.4).

import Foundation
import NotelogBase
import NotelogCrypto
import NotelogFormat
import NotelogStorage

/// Where this device's secret is. Keys that are to be used on this device only need it, and so do keys that are always open.
///
/// It is made when the first such key is, and is in no store and no backup. Whoever loses it loses the keys that need it.
public enum DeviceSecret: Sendable {
  /// The file `notelog/device-secret` in the folder `$XDG_STATE_HOME`, or in `~/.local/state`.
  case standard
  /// A file.
  case file(String)
  /// 32 bytes that the app keeps: in a keychain, for instance. The closure says what they are, and makes them where it is asked to and
  /// there are none; nil otherwise.
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

  private static let magic: UInt64 = 0x6563_6976_6564_4C4E
  private static let byteCount = 44

  /// The secret; nil where there is none, and none is to be made.
  func load(making: Bool) throws(CryptoError) -> Secret? {
    if case .kept(let give) = self {
      guard let bytes = try? give(making) else { return nil }
      guard bytes.count == 32 else { throw .noDeviceSecret }
      return try Secret(copying: bytes.rawSpan)
    }
    guard let path else { throw .noDeviceSecret }
    let place = URL(filePath: path)
    let storage = SystemStorage(path: place.deletingLastPathComponent().path)
    let name = place.lastPathComponent
    if let found = try Self.read(name, in: storage, path) { return found }
    guard making else { return nil }
    do {
      try FileManager.default.createDirectory(
        atPath: storage.path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      // Several processes may need it at once.
      let lock = try Self.lock(name + ".lock", in: storage)
      defer { lock.close() }
      if let found = try Self.read(name, in: storage, path) { return found }
      let secret = try Secret.random(byteCount: 32)
      try Self.write(secret, name, in: storage)
      return secret
    } catch { throw .noDeviceSecret }
  }

  private static func lock(_ name: String, in storage: SystemStorage) throws(StorageError) -> any StorageFile
  {
    for _ in 0..<2_000 {
      do throws(StorageError) { return try storage.openLocked(name, .createIfMissing, .exclusive) } catch {
        guard error.errno == SystemErrno.wouldBlock else { throw error }
        pauseThread(.milliseconds(1))
      }
    }
    throw StorageError(.lock, name, errno: SystemErrno.wouldBlock)
  }

  /// Reads it; nil where there is no such file.
  private static func read(
    _ name: String, in storage: SystemStorage, _ path: String
  ) throws(CryptoError) -> Secret? {
    let file: any StorageFile
    do throws(StorageError) { file = try storage.open(name, .read) } catch {
      guard error.isMissing else { throw .noDeviceSecret }
      return nil
    }
    defer { file.close() }
    var bytes = try Secret(byteCount: byteCount)
    var target = bytes.mutableBytes
    let mode = (try? FileManager.default.attributesOfItem(atPath: path))?[.posixPermissions] as? NSNumber
    guard (try? file.readFully(into: &target, at: 0)) == byteCount,
      mode.map({ $0.intValue & 0o077 == 0 }) == true,
      bytes.bytes.load(UInt64.self, at: 0) == magic,
      bytes.bytes.load(UInt32.self, at: 40) == Checksum.of(bytes.bytes.extracting(first: 40))
    else { throw .noDeviceSecret }
    return try Secret(copying: bytes.bytes.extracting(8..<40))
  }

  private static func write(_ secret: borrowing Secret, _ name: String, in storage: SystemStorage) throws {
    var bytes = try Secret(byteCount: byteCount)
    var target = bytes.mutableBytes
    target.store(magic, at: 0)
    target.copy(secret.bytes, at: 8)
    target.store(Checksum.of(target.bytes.extracting(first: 40)), at: 40)
    let partial = name + FileName.partialSuffix
    let file = try storage.openEmpty(partial)
    defer { file.close() }
    try file.writeAll(bytes.bytes, at: 0)
    try file.sync()
    try storage.rename(partial, to: name)
    try storage.syncFolder("")
  }
}
