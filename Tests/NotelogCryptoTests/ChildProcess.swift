// Starting the helper process, and talking to it by lines.

#if os(Linux)
  import Foundation
  import NotelogTestSupport
  import Testing

  /// A running SecretsChild.
  final class ChildProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var buffer = Data()

    init(_ mode: String) throws {
      process.executableURL = try Self.productsDirectory().appendingPathComponent("SecretsChild")
      process.arguments = [mode]
      process.standardInput = input
      process.standardOutput = output
      try process.run()
    }

    deinit {
      if process.isRunning { process.terminate() }
    }

    /// All lines up to the next READY, by their first word; the READY's own state comes last.
    func linesUntilReady() throws -> [(word: String, bytes: [UInt8])] {
      var lines: [(word: String, bytes: [UInt8])] = []
      while let line = nextLine() {
        let parts = line.split(separator: " ", maxSplits: 1)
        lines.append((String(parts.first ?? ""), hex(parts.count > 1 ? String(parts[1]) : "")))
        if lines.last?.word == "READY" { break }
      }
      return lines
    }

    /// Lets the child go on.
    func goOn() throws {
      try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
    }

    func waitUntilExit() -> Int32 {
      process.waitUntilExit()
      return process.terminationStatus
    }

    /// How often each pattern stands in the child's readable memory, anywhere.
    func occurrences(of patterns: [[UInt8]]) throws -> [Int] {
      try ProcessMemory.occurrences(of: patterns, in: process.processIdentifier)
    }

    private func nextLine() -> String? {
      while true {
        if let end = buffer.firstIndex(of: 0x0A) {
          let line = String(decoding: buffer[buffer.startIndex..<end], as: UTF8.self)
          buffer.removeSubrange(buffer.startIndex...end)
          return line
        }
        let more = output.fileHandleForReading.availableData
        if more.isEmpty { return nil }
        buffer.append(more)
      }
    }

    /// Where the build puts its products: beside the bundle or program that runs the tests.
    private static func productsDirectory() throws -> URL {
      let bundle = CommandLine.arguments.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
      var directory = URL(fileURLWithPath: bundle)
      while directory.path != "/" {
        directory.deleteLastPathComponent()
        if FileManager.default.isExecutableFile(atPath: directory.appendingPathComponent("SecretsChild").path)
        {
          return directory
        }
      }
      return try #require(nil as URL?, "SecretsChild is not beside \(bundle)")
    }
  }
#endif
