// The secret of this device, which lies outside of every store (docs/format-keyring.md 10.4).

import Foundation
import NotelogBase
import NotelogCrypto
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
