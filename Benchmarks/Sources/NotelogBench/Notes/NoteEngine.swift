// What the note workloads ask of an engine.
import CPeers

/// An engine that stores notes, whose titles and bodies it seals one by one.
protocol NoteEngine: AnyObject {
  var name: String { get }
  /// Whether it is there for the scans alone, as their floor.
  var onlyScans: Bool { get }
  /// Opens the store in a folder, which is empty the first time.
  func open(_ path: String, _ options: EngineOptions) throws
  func close() throws
  /// What one thread works with.
  func session() throws -> any NoteSession
  /// Frees what dead versions hold.
  func compact() throws
  /// Checks all there is to check; opens every field too, where `withKey`. The store is closed meanwhile.
  func verify(_ path: String, _ options: EngineOptions, withKey: Bool) throws
}

extension NoteEngine {
  var onlyScans: Bool { false }
}

/// How a store is opened.
struct EngineOptions {
  /// Whether every commit reaches the medium before it returns; otherwise it is handed to the system.
  var isDurable = false
  /// Whether the time is indexed.
  var hasTimeIndex = false
  /// How many threads share a verification, where the engine can.
  var threadCount = 1
  /// Whether titles and bodies are compressed, where the engine can.
  var isCompressed = false
}

/// Where the nanoseconds of operations go, one after another.
@safe struct LatencySink: @unchecked Sendable {
  // SAFETY: whoever makes a sink sees to it that it has room for all operations, and that no place is written
  // twice.
  let base: UnsafeMutablePointer<UInt64>

  init(_ base: UnsafeMutablePointer<UInt64>) { unsafe self.base = base }

  /// Takes the time of an operation that began at `start`.
  func record(_ index: Int, since start: UInt64) { unsafe base[index] = nowNanoseconds() - start }

  /// The same places from the `count`th on.
  func dropping(_ count: Int) -> LatencySink { unsafe LatencySink(base + count) }
}

/// A thread's way into an open store. Every verb does many operations, so that none pays for the call.
protocol NoteSession: AnyObject {
  func insert(_ range: Range<Int>, batch: Int, _ latencies: LatencySink?) throws
  /// Writes new versions: each note gets the text of the one `version` further on.
  func update(_ picks: [UInt32], batch: Int, version: Int) throws
  /// Reads titles, `group` under one view of the store, and checks that they are what was written.
  func readTitles(_ wanted: Wanted, group: Int, _ latencies: LatencySink?) throws
  func readNotes(_ wanted: Wanted, _ latencies: LatencySink?) throws
  /// Opens one note's title and returns its length.
  func firstTitle(_ pick: Int) throws -> Int
  func readNewest(_ limit: Int) throws -> Int
  func scanTitles(part: Int, of parts: Int) throws -> Int
  /// Counts the bodies that hold the dataset's needle.
  func searchBodies(part: Int, of parts: Int) throws -> Int
}
