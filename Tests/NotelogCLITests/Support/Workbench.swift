// A folder of its own for each test, and a shell in which `notelog` is the binary just built.
import Foundation
import Testing

/// A temporary folder in which shell scripts run; removed with the value's end.
final class Workbench {
  let folder: URL

  /// What a script printed, and how it ended.
  struct Answer: Equatable {
    var out: String
    var err: String
    var code: Int32

    init(_ code: Int32 = 0, out: String = "", err: String = "") {
      (self.code, self.out, self.err) = (code, out, err)
    }
  }

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "notelog-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// The folder of the built products, where the test bundle lies beside the tool.
  static let products =
    Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL.deletingLastPathComponent()
    ?? Bundle.main.bundleURL

  static let environment: [String: String] = {
    var environment = ProcessInfo.processInfo.environment
    environment["PATH"] = products.path + ":" + (environment["PATH"] ?? "/usr/bin:/bin")
    environment["TERM"] = "xterm"
    environment["TZ"] = "UTC"
    // Whoever runs the tests may have an agent: it is left alone.
    environment["XDG_RUNTIME_DIR"] = nil
    return environment
  }()

  /// Runs `script` in a shell, in the folder.
  func run(_ script: String, input: String = "") throws -> Answer {
    let streams = folder.appending(path: ".streams-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: streams, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: streams) }
    let paths = ["in", "out", "err"].map { streams.appending(path: $0) }
    try Data(input.utf8).write(to: paths[0])
    let child = try Child.start(
      ["/bin/sh", "-c", script], in: folder, environment: Self.environment,
      streams: .files(input: paths[0], output: paths[1], error: paths[2]))
    return Answer(
      child.wait(), out: String(decoding: try Data(contentsOf: paths[1]), as: UTF8.self),
      err: String(decoding: try Data(contentsOf: paths[2]), as: UTF8.self))
  }

  /// Whether a script may mount file systems of its own, so that a full or a read-only disk can be had.
  static let canMount = (try? Workbench().run("unshare -rm mount -t tmpfs none .").code) == 0

  /// Runs `script`, and says what it answered where that is not what was expected.
  func expect(
    _ script: String, _ expected: Answer, input: String = "", _ location: SourceLocation = #_sourceLocation
  ) throws {
    let answer = try run(script, input: input)
    #expect(answer.out == expected.out, sourceLocation: location)
    #expect(answer.err == expected.err, sourceLocation: location)
    #expect(answer.code == expected.code, sourceLocation: location)
  }

  /// Writes a file of the folder, or of a folder in it.
  func write(_ name: String, _ text: String) throws {
    let place = folder.appending(path: name).deletingLastPathComponent()
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: folder.appending(path: name))
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: folder.appending(path: name).path)
  }
}

/// What most tests of a command begin with: a store with a key, given to every command. A key takes no time;
/// a password does.
let storePrelude = """
  (umask 077; printf '%032d' 7 >key)
  quick="--key-file key"
  notelog init my.notelog $quick 2>/dev/null

  """

/// What a test begins with that has to do with passwords: a store with the password `open sesame`, given to
/// every command.
let passwordPrelude = """
  printf 'open sesame\\n' >password
  quick="--password-file password"
  notelog init my.notelog $quick --scrypt-log-n 14 2>/dev/null

  """

extension Workbench {
  /// Compiles Swift files as an app that imports the library as it is built, with every warning an error: by
  /// swiftc and these options.
  func compile(_ files: [String], _ options: String) throws -> Answer {
    let maps = ["CSystem", "CZlib", "COpenSSL"].map {
      "-Xcc '-fmodule-map-file=\(Page.root.path)/Sources/\($0)/module.modulemap'"
    }
    let names = files.map { "'\($0)'" }.joined(separator: " ")
    return try run(
      """
      swiftc \(options) -swift-version 6 -warnings-as-errors -module-name Consumer \
        -I '\(Self.products.path)/Modules' \(maps.joined(separator: " ")) \(names) 2>&1
      """)
  }
}
