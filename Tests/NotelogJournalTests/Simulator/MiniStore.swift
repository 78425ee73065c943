// The smallest store that can be wrong about durability: what the simulated disk is tried on.

@testable import NotelogStorage
@testable import Notelog
import NotelogTestSupport

/// Three files, written one after another under a temporary name and renamed, then a log of lines appended
/// to.
///
/// Each case of `Mistake` leaves out one step that a store needs; the sweep over crashes must notice every
/// one.
struct MiniStore {
  enum Mistake: CaseIterable {
    case fileNotSynced, folderNotSynced, logEntryNotSynced, logNotSynced, noChecksum, lengthTrusted,
      promisedTooEarly
  }

  static let logByteCount = 4_096
  static let lineByteCount = 600

  let mistake: Mistake?

  func run(on disk: SimulatedDisk, _ notes: Notebook<String>) throws {
    for number in 0..<3 {
      let file = try disk.open("new", .createIfMissing)
      try file.writeAll(Self.contents[number], at: 0)
      if mistake != .fileNotSynced { try file.sync() }
      file.close()
      try disk.rename("new", to: "file\(number)")
      if mistake != .folderNotSynced { try disk.syncFolder("") }
      notes.note("file\(number)")
    }
    let log = try disk.open("log", .createNew)
    if mistake != .logEntryNotSynced, mistake != .folderNotSynced { try disk.syncFolder("") }
    try log.allocate(0..<Self.logByteCount)
    for number in 0..<6 {
      if mistake == .promisedTooEarly { notes.note("line\(number)") }
      // In two pieces, so that the second can be there without the first.
      let line = Self.lines[number]
      try log.writeAll(Array(line.prefix(8)), at: number * Self.lineByteCount)
      try log.writeAll(Array(line.dropFirst(8)), at: number * Self.lineByteCount + 8)
      if mistake != .logNotSynced { try log.sync() }
      if mistake != .promisedTooEarly { notes.note("line\(number)") }
    }
  }

  struct Wrong: Error, CustomStringConvertible { let description: String }

  func check(_ disk: SimulatedDisk, _ point: CrashPoint, _ notes: [String]) throws {
    for number in 0..<3 {
      guard let found = disk.contents("file\(number)") else {
        if notes.contains("file\(number)") { throw Wrong(description: "file \(number) is gone") }
        continue
      }
      if found != Self.contents[number] {
        throw Wrong(description: "file \(number) is not what was written")
      }
    }
    let log = disk.contents("log") ?? []
    for number in 0..<6 {
      let start = number * Self.lineByteCount
      let line = Array(log.dropFirst(start).prefix(Self.lineByteCount))
      let isThere: Bool
      switch mistake {
      case .noChecksum: isThere = line.first == UInt8(number + 1)
      case .lengthTrusted: isThere = log.count >= start + Self.lineByteCount
      default: isThere = line == Self.lines[number]
      }
      if isThere, line != Self.lines[number] {
        throw Wrong(description: "line \(number) is not what was written")
      }
      if !isThere, notes.contains("line\(number)") { throw Wrong(description: "line \(number) is gone") }
    }
  }

  /// The contents of the files.
  static let contents = (0..<3).map { number in
    var random = SeededGenerator(seed: UInt64(number))
    return random.bytes(count: 5_000)
  }

  /// The lines. Each begins with its number; comparing it whole stands for a checksum.
  static let lines = (0..<6).map { number in
    var random = SeededGenerator(seed: UInt64(100 + number))
    return [UInt8(number + 1)] + random.bytes(count: lineByteCount - 1)
  }
}
