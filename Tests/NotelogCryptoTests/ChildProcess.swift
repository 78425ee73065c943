// Starting the helper process, talking to it by lines, and searching its memory.

#if os(Linux)
  import Foundation
  import Glibc
  import Testing

  /// memmem(3), which the C library's module does not declare.
  @_silgen_name("memmem") private func find(
    _ haystack: UnsafeRawPointer, _ haystackCount: Int, _ needle: UnsafeRawPointer, _ needleCount: Int
  ) -> UnsafeMutableRawPointer?

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
      var counts = [Int](repeating: 0, count: patterns.count)
      let maps = try Self.readWhole("/proc/\(process.processIdentifier)/maps")
      // SAFETY: open(2) reads the path only.
      let memory = unsafe Glibc.open("/proc/\(process.processIdentifier)/mem", O_RDONLY)
      try #require(memory >= 0, "the child's memory can't be read")
      defer { Glibc.close(memory) }
      for line in maps.split(separator: "\n") {
        let fields = line.split(separator: " ", omittingEmptySubsequences: true)
        guard fields.count >= 2, fields[1].hasPrefix("r") else { continue }
        let bounds = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
        guard bounds.count == 2, bounds[1] < 1 << 47 else { continue }
        let region = try Self.read(memory, from: bounds[0], to: bounds[1])
        for (index, pattern) in patterns.enumerated() { counts[index] += Self.count(pattern, in: region) }
      }
      return counts
    }

    /// A file of /proc, which has no size to go by: read until there is no more.
    private static func readWhole(_ path: String) throws -> String {
      // SAFETY: open(2) reads the path; read(2) writes within the piece.
      let file = unsafe Glibc.open(path, O_RDONLY)
      try #require(file >= 0, "\(path) can't be read")
      defer { Glibc.close(file) }
      var text: [UInt8] = []
      var piece = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = unsafe Glibc.read(file, &piece, piece.count)
        if count <= 0 { return String(decoding: text, as: UTF8.self) }
        text += piece[..<count]
      }
    }

    /// A region's bytes; pages that can't be read (beyond a mapped file's end) are zeros.
    private static func read(_ memory: Int32, from start: UInt64, to end: UInt64) throws -> [UInt8] {
      var region = [UInt8](repeating: 0, count: Int(end - start))
      // SAFETY: pread(2) writes within the rest of the region.
      unsafe region.withUnsafeMutableBytes { bytes in
        var offset = 0
        while offset < bytes.count {
          let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[offset...])
          let count = unsafe pread(memory, rest.baseAddress, rest.count, off_t(start) + off_t(offset))
          offset += count > 0 ? count : 4096
        }
      }
      return region
    }

    private static func count(_ pattern: [UInt8], in region: [UInt8]) -> Int {
      // SAFETY: memmem(3) reads within both; the offset stays within the region.
      unsafe region.withUnsafeBytes { region in
        unsafe pattern.withUnsafeBytes { pattern in
          guard let needle = pattern.baseAddress, let start = region.baseAddress else { return 0 }
          var count = 0
          var offset = 0
          while let found = unsafe find(start + offset, region.count - offset, needle, pattern.count) {
            count += 1
            offset = unsafe UnsafeRawPointer(found) - start + 1
          }
          return count
        }
      }
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
