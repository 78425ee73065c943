// Readers in other processes see whole transactions, in order, whatever the writer does meanwhile: FORMAT.md
// §25, "Readers".

import Foundation
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct `Model of reader processes` {
  private struct Member: Record {
    var id = RecordID()
    var version = 0
    /// What the records are longer by, so that there are segments to compact.
    var filling = Data(repeating: 1, count: 200)
    static let schema = Schema<Member>("member") {
      Plain("version", \.version)
      Plain("filling", \.filling)
    }
  }

  /// An executable beside the bundle or program that runs the tests.
  private static func child(_ name: String) throws -> URL {
    let bundle = CommandLine.arguments.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
    var folder = URL(fileURLWithPath: bundle)
    while folder.path != "/" {
      folder.deleteLastPathComponent()
      let url = folder.appendingPathComponent(name)
      if FileManager.default.isExecutableFile(atPath: url.path) { return url }
    }
    return try #require(nil as URL?, "\(name) is not beside \(bundle)")
  }

  @Test func `processes that read while another writes and compacts see no half and nothing go backwards`()
    throws
  {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    options.compaction = .automatic
    options.segmentByteCount = 16 << 10
    let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    let (groups, members) = (10, 5)
    let ids = try (0..<groups * members).map { try RecordID(of: $0, in: "member") }
    func write(_ version: Int) throws {
      for group in 0..<groups {
        try store.putAll(
          ids[group * members..<(group + 1) * members].map { Member(id: $0, version: version) }, .flushed)
      }
    }
    try write(1)
    let readers = try (0..<8).map { number in
      let process = Process()
      process.executableURL = try Self.child("ReaderChild")
      // Two of them verify all of it.
      process.arguments = [folder.path, number < 2 ? "0" : "\(groups)", "\(members)"]
      let output = Pipe()
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
      return (process, output)
    }
    for version in 2...(TestEffort.isSoak ? 10_000 : 80) {
      try write(version)
      if version % 20 == 0 { try store.compact() }
      if version % 500 == 0 { try store.journal.checkpoint() }
    }
    try Data().write(to: URL(filePath: folder.path + "/stop"))
    for (process, output) in readers {
      let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
      #expect(said.hasPrefix("ok"), "\(said)")
    }
    try store.close()
  }
}
