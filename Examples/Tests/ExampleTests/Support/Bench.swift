// A folder of its own for each test, and the programs that were just built.

import CTerminal
import Foundation
import Glibc
import Testing

/// A temporary folder, removed with the value's end.
final class Bench {
  let folder = FileManager.default.temporaryDirectory.appending(path: "notelog-\(UUID().uuidString)")

  init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Which device the programs are on: each has a secret of its own, outside of the stores.
  var device = "device"

  func path(_ name: String) -> String { folder.appending(path: name).path }

  /// All bytes of all files below a folder.
  func bytes(below name: String) throws -> [(name: String, bytes: Data)] {
    let root = folder.appending(path: name)
    return try FileManager.default.subpathsOfDirectory(atPath: root.path).compactMap { path in
      let file = root.appending(path: path)
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder)
      return isFolder.boolValue ? nil : (path, try Data(contentsOf: file))
    }
  }

  /// Where the test bundle lies, and the programs beside it.
  static let products =
    Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL.deletingLastPathComponent()
    ?? Bundle.main.bundleURL

  /// Runs a program that needs no terminal.
  ///
  /// - Returns: What it printed, on both streams, and its exit code.
  @discardableResult
  func run(_ program: String, _ arguments: [String], input: String = "") throws -> (out: String, code: Int32)
  {
    let (inFile, outFile) = (path(".in"), path(".out-\(UUID().uuidString)"))
    try Data(input.utf8).write(to: URL(filePath: inFile))
    let process = try start(program, arguments, in: folder, device: device, input: inFile, output: outFile)
    let code = exitCode(of: process)
    return (try String(contentsOf: URL(filePath: outFile), encoding: .utf8), code)
  }
}

/// Starts one of the programs, or of the system's by its path, with its streams on a terminal or from and to
/// files.
func start(
  _ program: String, _ arguments: [String], in folder: URL, device: String = "device",
  terminal: String? = nil,
  input: String? = nil, output: String? = nil
) throws -> pid_t {
  let path = program.hasPrefix("/") ? program : Bench.products.appending(path: program).path
  var words = copies([path] + arguments)
  let tools = "\(Bench.products.path):/usr/bin:/bin"
  let state = folder.appending(path: device).path
  var environment = copies(["TERM=xterm", "PATH=\(tools)", "TZ=UTC", "XDG_STATE_HOME=\(state)"])
  defer { for word in words + environment { free(word) } }
  let process = program_start(&words, &environment, folder.path, terminal, input, output)
  guard process > 0 else { throw Failure(message: "\(path) does not start") }
  return process
}

private func copies(_ words: [String]) -> [UnsafeMutablePointer<CChar>?] {
  words.map { word in strdup(word) } + [nil]
}

/// Waits for a program's end, and says its exit code; 128 and the signal where one ended it.
func exitCode(of process: pid_t) -> Int32 {
  var status: Int32 = 0
  while waitpid(process, &status, 0) < 0, errno == EINTR {}
  return status & 0x7F == 0 ? status >> 8 : 128 + status & 0x7F
}

struct Failure: Error { var message: String }
