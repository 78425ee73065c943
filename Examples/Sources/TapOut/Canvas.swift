// Everything that TapOut asks of its store.

import Foundation
import Notelog

/// The taps of one store, as one version of the app sees them.
struct Canvas<Tap: Drawable> {
  let store: Store

  /// Opens the canvas, or makes one, with a key that a file beside it holds. On other systems that is a
  /// keychain's item.
  init(at path: String) throws {
    var options = Store.Options()
    options.recordTypes = [Tap.self]
    // Another process may tap, too: each has the lock for as long as it writes.
    options.writing = .leased(idle: .milliseconds(20))
    options.lockTimeout = .seconds(5)
    let key = Credential.key(try Self.key(besides: path))
    store = try Store.openOrCreate(at: path, unlocking: key, options: options)
  }

  private static func key(besides path: String) throws -> [UInt8] {
    let file = URL(filePath: path + ".key")
    if let bytes = try? Data(contentsOf: file) { return [UInt8](bytes) }
    let key = (0..<32).map { _ in UInt8.random(in: 0...255) }
    _ = FileManager.default.createFile(
      atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600])
    try Data(key).write(to: file)
    return key
  }

  var taps: Query<Tap> { store.query(Tap.self).sorted(by: Tap.timePath) }

  func dots() throws -> [Dot] { try taps.entries().map { try $0.record().dot } }

  func tap(_ x: Float, _ y: Float, _ color: Color) throws {
    try store.write { tx in try tx.put(Tap(x: x, y: y, color: color)) }
  }

  /// Takes the last tap back.
  func undo() throws -> Bool {
    guard let last = try store.query(Tap.self).sorted(by: Tap.timePath, .descending).first() else {
      return false
    }
    return try store.write { tx in try tx.delete(Tap.self, last.id) }
  }

  /// Tells of what there is, then of each change, whoever makes it.
  func follow(_ show: (QueryUpdate<Tap>) throws -> Bool) async throws {
    for try await update in taps.updates() where try !show(update) { return }
  }
}
