// TapOut: taps are kept, drawn, and followed live.

import Foundation
import Notelog

/// A canvas of one version of the app.
struct Canvas {
  let store: Store
  let version: Int

  init(at path: String, key: [UInt8], version: Int, isReadOnly: Bool) throws {
    var options = Store.Options()
    options.isReadOnly = isReadOnly
    // Another process may tap too.
    options.writing = .leased(idle: .milliseconds(200))
    options.patience = .seconds(5)
    do {
      store = try Store.open(at: path, unlocking: .key(key), options: options)
    } catch let error as NotelogError where error.code == .notFound && !isReadOnly {
      store = try Store.create(at: path, unlocking: .key(key), options: options)
    }
    self.version = version
  }

  func tap(_ x: Double, _ y: Double, _ color: Color) throws {
    try store.write { tx in
      if version == 1 {
        try tx.put(Tap(x: x, y: y, color: color))
      } else {
        try tx.put(Touch(left: x, top: y, pressure: 0.9, color: color))
      }
    }
  }

  func dots() throws -> [Dot] {
    if version == 1 {
      return try store.query(Tap.self).sorted(by: \.time).entries().map {
        try Dot(x: $0.x, y: $0.y, radius: 2, color: $0.color)
      }
    }
    return try store.query(Touch.self).sorted(by: \.time).entries().map {
      try Dot(x: $0.left, y: $0.top, radius: 4 * $0.pressure, color: $0.color)
    }
  }

  /// Prints what comes and goes, until so many changes were seen.
  func follow(_ count: Int) async throws {
    var left = count
    for try await update in store.query(Tap.self).sorted(by: \.time).updates() {
      print("\(update.entries.count) taps, \(update.inserted.count) new")
      fflush(nil)
      left -= 1
      if left < 0 { return }
    }
  }
}

@main
enum TapOut {
  static let usage = """
    usage: TapOut FOLDER [--version 2] tap X Y red|green|blue|yellow
           TapOut FOLDER [--version 2] draw | svg
           TapOut FOLDER follow CHANGES

    The store's key is the file FOLDER.key, made with the store.
    """

  static func main() async {
    do { try await run() } catch {
      FileHandle.standardError.write(Data("TapOut: \(error.localizedDescription)\n".utf8))
      exit(1)
    }
  }

  static func run() async throws {
    var words = Array(CommandLine.arguments.dropFirst())
    var version = 1
    if let index = words.firstIndex(of: "--version"), index + 1 < words.count {
      version = words[index + 1] == "2" ? 2 : 1
      words.removeSubrange(index...index + 1)
    }
    guard words.count >= 2 else { return print(usage) }
    let key = try key(of: words[0])
    let canvas = try Canvas(at: words[0], key: key, version: version, isReadOnly: words[1] != "tap")
    switch (words[1], words.count) {
    case ("tap", 5):
      guard let x = Double(words[2]), let y = Double(words[3]), let color = Color.named[words[4]] else {
        return print(usage)
      }
      try canvas.tap(x, y, color)
    case ("draw", 2): print(Picture.text(try canvas.dots()))
    case ("svg", 2): print(Picture.svg(try canvas.dots()))
    case ("follow", 3): try await canvas.follow(Int(words[2]) ?? 1)
    default: print(usage)
    }
    try await canvas.store.close()
  }

  /// The key beside the store: a keychain's item on other systems.
  static func key(of folder: String) throws -> [UInt8] {
    let path = folder + ".key"
    if let data = FileManager.default.contents(atPath: path), data.count == 32 { return Array(data) }
    let key = (0..<32).map { _ in UInt8.random(in: 0...255) }
    guard
      FileManager.default.createFile(
        atPath: path, contents: Data(key), attributes: [.posixPermissions: 0o600])
    else {
      throw CocoaError(.fileWriteUnknown)
    }
    return key
  }
}
