// The floor of a scan: the same calls in C, on a file with nothing around the notes.
import CFloor
import CPeers

/// Notes in files, one for each thread: checked and opened in order, and good for nothing else.
final class FloorEngine: NoteEngine {
  static let engineName = "c-floor"

  let name = FloorEngine.engineName
  let onlyScans = true
  private let dataset: Dataset
  private var sessions: [FloorSession] = []
  private var handedOutCount = 0

  init(_ dataset: Dataset) { self.dataset = dataset }

  func open(_ path: String, _ options: EngineOptions) throws {
    sessions = (0..<options.threadCount).map { FloorSession("\(path)/\($0)", dataset) }
  }

  func close() throws { sessions = [] }

  /// The first thread's session, the second's, and so on, and from the first again: each has the file it
  /// wrote.
  func session() throws -> any NoteSession {
    defer { handedOutCount += 1 }
    return sessions[handedOutCount % sessions.count]
  }

  func compact() throws {}

  func verify(_ path: String, _ options: EngineOptions, withKey: Bool) throws {}
}

/// A thread's session, with its file.
@safe final class FloorSession: NoteSession {
  // SAFETY (of all calls below): opened in init, used by one thread at a time, closed in deinit; the dataset
  // outlives it.
  private let log: OpaquePointer
  private let dataset: Dataset

  init(_ path: String, _ dataset: Dataset) {
    unsafe log = floor_log_open(path, [UInt8](0..<32))
    self.dataset = dataset
  }

  deinit { unsafe floor_log_close(log) }

  func insert(_ range: Range<Int>, batch: Int, _ latencies: LatencySink?) throws {
    for index in range {
      var note = unsafe dataset.peers.pointee.notes[index]
      let text = unsafe dataset.peers.pointee.text + note.textStart
      let failed = unsafe floor_log_append(
        log, &note.id.0, text, Int(note.titleByteCount), text + Int(note.titleByteCount),
        Int(note.bodyByteCount))
      if failed != 0 { throw Failure("c-floor: a note can't be written") }
    }
    if unsafe floor_log_flush(log) != 0 { throw Failure("c-floor: notes can't be written") }
  }

  func scanTitles(part: Int, of parts: Int) throws -> Int {
    try check(unsafe floor_log_scan(log, 0, nil, 0))
  }

  func searchBodies(part: Int, of parts: Int) throws -> Int {
    try check(unsafe floor_log_scan(log, 1, dataset.needle, dataset.needle.utf8.count))
  }

  private func check(_ count: Int) throws -> Int {
    guard count >= 0 else { throw Failure("c-floor: a note is not what was written") }
    return count
  }

  func update(_ picks: [UInt32], batch: Int, version: Int) throws { throw Self.onlyScans }
  func readTitles(_ wanted: Wanted, group: Int, _ latencies: LatencySink?) throws {
    throw Self.onlyScans
  }
  func readNotes(_ wanted: Wanted, _ latencies: LatencySink?) throws { throw Self.onlyScans }
  func firstTitle(_ pick: Int) throws -> Int { throw Self.onlyScans }
  func readNewest(_ limit: Int) throws -> Int { throw Self.onlyScans }

  private static var onlyScans: Failure { Failure("c-floor does nothing but scan") }
}
