// As long as nothing crashes or fails, the simulated disk behaves as this machine does.

import NotelogStorage
import Foundation
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct `The simulated disk and the system` {
  /// A call's outcome, as a caller can tell it apart.
  private enum Outcome: Equatable {
    case done(Int)
    case bytes([UInt8])
    case names([String])
    case failed(StorageError)
  }

  /// The system's errors name a file by its path; the simulated disk has no folder that it lies in.
  private func outcome(_ folder: String, _ body: () throws(StorageError) -> Outcome) -> Outcome {
    do { return try body() } catch {
      let name = error.name.hasPrefix(folder) ? String(error.name.dropFirst(folder.count)) : error.name
      return .failed(StorageError(error.call, name, errno: error.errno))
    }
  }

  /// One random call, drawn alike for both.
  private func step(
    _ storage: any Storage, _ files: inout [String: any StorageFile], _ random: inout SeededGenerator,
    in folder: String = ""
  ) -> Outcome {
    let names = ["a", "b", "folder/a", "folder/b", "none/a"]
    let name = names[random.pick(0..<names.count)]
    let other = names[random.pick(0..<names.count)]
    let offset = random.pick(0..<6_000)
    let count = random.pick(1..<3_000)
    let slot = String(random.pick(0..<4))
    let bytes = random.bytes(count: count)
    let action = random.pick(0..<13)
    return outcome(folder) { () throws(StorageError) in
      switch action {
      case 0...1:
        let modes: [StorageOpenMode] = [.update, .createNew, .createIfMissing]
        files[slot] = nil
        files[slot] = try storage.open(name, modes[offset % 3])
      case 2: try storage.rename(name, to: other)
      case 3: try storage.unlink(name)
      case 4: try storage.makeFolder(offset % 2 == 0 ? "folder" : "none/inner")
      case 5: return .names(try storage.names(in: offset % 3 == 0 ? "" : "folder").sorted())
      case 6: try storage.syncFolder(offset % 3 == 0 ? "" : "folder")
      case 7: return .done(try files[slot]?.write(bytes, at: offset) ?? 0)
      case 8: return .bytes(try files[slot]?.read(count, at: offset) ?? [])
      case 9: try files[slot]?.truncate(to: offset)
      case 10: try files[slot]?.allocate(offset..<offset + count)
      case 11: try files[slot]?.lock(offset % 2 == 0 ? .shared : .exclusive)
      default:
        try files[slot]?.sync()
        return .done(try files[slot]?.byteCount() ?? 0)
      }
      return .done(0)
    }
  }

  @Test(arguments: UInt64(1)...20)
  func `give the same answers to the same calls`(seed: UInt64) throws {
    let path = FileManager.default.temporaryDirectory.path + "/notelog-\(UUID().uuidString)"
    let system = SystemStorage(path: path)
    try system.makeStoreFolder()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let disk = SimulatedDisk()
    var systemFiles: [String: any StorageFile] = [:]
    var diskFiles: [String: any StorageFile] = [:]
    var random = SeededGenerator(seed: seed)
    for number in 0..<1_000 {
      var again = random
      let expected = step(system, &systemFiles, &random, in: path + "/")
      let found = step(disk, &diskFiles, &again)
      try #require(found == expected, "call \(number) of seed \(seed)")
    }
    for name in disk.fileNames {
      #expect(disk.contents(name) == FileManager.default.contents(atPath: path + "/" + name).map(Array.init))
    }
  }
}
