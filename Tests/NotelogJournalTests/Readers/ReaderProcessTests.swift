// Readers in other processes see whole transactions, in order, whatever the writer does meanwhile: FORMAT.md §25, "Readers".

@testable import NotelogBase
@testable import NotelogStorage
import Foundation
import NotelogJournal
import NotelogTestSupport
import Testing

@Suite struct `Model of reader processes` {
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
    let store = try TemporaryStore()
    var options = JournalOptions.small
    options.compactsAutomatically = true
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: options)
    let (groups, members) = (10, 5)
    func write(_ version: UInt64) throws {
      for group in 0..<groups {
        var batch = Batch()
        for member in 0..<members {
          batch.put(key(group * members + member), collection: 1, bodyByteCount: 200) {
            $0.store(version, at: 0)
          }
        }
        try journal.commit(&batch, .flushed)
      }
    }
    try write(1)
    let readers = try (0..<8).map { number in
      let process = Process()
      process.executableURL = try Self.child("ReaderChild")
      // Two of them verify all of it.
      process.arguments = [store.storage.path, number < 2 ? "0" : "\(groups)", "\(members)"]
      let output = Pipe()
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
      return (process, output)
    }
    for version in 2...(TestEffort.isSoak ? 10_000 : 80) as ClosedRange<UInt64> {
      try write(version)
      if version % 20 == 0 { _ = try journal.compact() }
      if version % 500 == 0 { try journal.checkpoint() }
    }
    try store.storage.open("stop", .createNew).close()
    for (process, output) in readers {
      let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
      #expect(said.hasPrefix("ok"), "\(said)")
    }
    try journal.close()
  }
}
