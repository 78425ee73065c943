// `notelog-bench scale`: how cost grows as the store grows.
import CPeers
import Foundation
import Notelog

/// One store that grows from step to step and is measured after each; and what a compaction makes others
/// wait.
struct ScaleCommand {
  static let usage = """
    notelog-bench scale [--steps 10000,100000,1000000,10000000] [--part growth,openings,queries,pages,pause,rotation]
                        [--bytes N] [--folder PATH] [--json]
    """
  private static let batch = 1000
  private static let sample = 20_000

  var steps = [10_000, 100_000, 1_000_000, 10_000_000]
  var parts: Set<String> = ["growth", "openings", "queries", "pages", "pause", "rotation"]
  /// What lives in the store whose compaction is measured: of this, a gibibyte is copied.
  var pauseByteCount = 9 << 28
  var isJSON = false
  var folder = FileManager.default.temporaryDirectory
  private let credential = Credential.key((0..<32).map { UInt8($0) })

  init(_ arguments: inout ArraySlice<String>) throws {
    while let argument = arguments.popFirst() {
      switch argument {
      case "--steps":
        steps = try NotesCommand.value(&arguments, argument).split(separator: ",").compactMap { Int($0) }
          .sorted()
      case "--part":
        parts = Set(try NotesCommand.value(&arguments, argument).split(separator: ",").map(String.init))
      case "--bytes": pauseByteCount = try NotesCommand.number(&arguments, argument)
      case "--folder": folder = URL(filePath: try NotesCommand.value(&arguments, argument))
      case "--json": isJSON = true
      default: throw Failure("unknown argument \(argument)\nusage: \(Self.usage)")
      }
    }
  }

  func run() throws {
    let scratch = folder.appending(path: "notelog-bench-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: scratch) }
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    // At once: a long run that is stopped has told what it knew.
    func report(_ figure: Figure) {
      FileHandle.standardOutput.write(Data(((isJSON ? figure.json : figure.row) + "\n").utf8))
    }
    if parts.contains("growth") { try measureGrowth(scratch, report) }
    if parts.contains("openings") {
      try Openings(steps: steps, credential: credential).run(in: scratch, report)
    }
    if parts.contains("queries") {
      for step in steps {
        let queries = FirstQueries(count: step, credential: credential)
        try queries.run(at: scratch.appending(path: "queries-\(step)").path, report)
      }
    }
    if parts.contains("pages") {
      for step in steps {
        let pages = PagedQueries(count: step, credential: credential)
        try pages.run(at: scratch.appending(path: "pages-\(step)").path, report)
      }
    }
    if parts.contains("pause") {
      try CompactionPause(byteCount: pauseByteCount).run(at: scratch.appending(path: "pause").path, report)
    }
    if parts.contains("rotation"), let count = steps.last {
      try RotationPause(count: count).run(at: scratch.appending(path: "rotation").path, report)
    }
  }

  private func measureGrowth(_ scratch: URL, _ report: (Figure) -> Void) throws {
    let path = scratch.appending(path: "scale").path
    try Store.create(at: path, unlocking: credential).close()
    if let last = steps.last, last >= Self.indexCounts.upperBound {
      // First: what other steps leave in the heap is not the index's.
      report(try measureIndex(scratch.appending(path: "index").path))
    }
    var present = 0
    for step in steps {
      for figure in try measure(path, from: present, to: step) { report(figure) }
      present = step
    }
  }

  /// Between which numbers of records the index is measured: each of its shards grows once on the way, or
  /// more often.
  private static let indexCounts = 5_000_000...10_000_000

  /// The most memory that a record takes: of a store that has no fields to index.
  private func measureIndex(_ path: String) throws -> Figure {
    let store = try BytesStore(at: path)
    let before = Self.residentByteCount
    var largest = 0.0
    for start in stride(from: 0, to: Self.indexCounts.upperBound, by: 10 * Self.batch) {
      let end = start + 10 * Self.batch
      try store.write(start..<end, byteCount: 8, batch: Self.batch)
      if end < Self.indexCounts.lowerBound { continue }
      largest = max(largest, Double(Self.residentByteCount - before) / Double(end))
    }
    try store.close()
    return Figure(engine: "notelog", workload: "index-bytes-per-record", value: largest, unit: "B")
  }

  /// Grows the store to `count` notes and measures it.
  private func measure(_ path: String, from present: Int, to count: Int) throws -> [Figure] {
    let before = Self.residentByteCount
    var store = try Store.open(at: path, unlocking: credential)
    let putting = try seconds {
      for start in stride(from: present, to: count, by: Self.batch) {
        try store.putAll(
          (start..<min(start + Self.batch, count)).lazy.map { NumberedNote.make($0) }, .flushed)
      }
    }
    let memory = Self.residentByteCount - before
    try store.close()
    // Opened anew, so that the index comes from the checkpoint.
    store = try Store.open(at: path, unlocking: credential)
    var state: UInt64 = 7
    let picks = (0..<min(Self.sample, count)).map { _ in
      Int(truncatingIfNeeded: NumberedNote.mix(&state) >> 1) % count
    }
    for pick in picks { try read(store, pick) }
    let getting = try seconds { for pick in picks { try read(store, pick) } }
    let updating = try seconds {
      for start in stride(from: 0, to: count / 20, by: Self.batch) {
        try store.putAll(
          (start..<min(start + Self.batch, count / 20)).lazy.map { NumberedNote.make($0) }, .flushed)
      }
    }
    let compacting = try seconds { _ = try store.compact() }
    try store.close()
    let name = "\(count) notes: "
    func figure(_ workload: String, _ value: Double, _ unit: String) -> Figure {
      Figure(engine: "notelog", workload: name + workload, value: value, unit: unit)
    }
    return [
      figure("put", Double(count - present) / putting, "notes/s"),
      figure("get", Double(picks.count) / getting, "titles/s"),
      figure("update", Double(count / 20) / max(updating, 1e-9), "notes/s"),
      figure("compact a twentieth", compacting * 1000, "ms"),
      // The index is of all notes, also of those that were there before this step.
      figure("memory", Double(memory) / Double(count), "B/note"),
    ]
  }

  private func seconds(_ body: () throws -> Void) rethrows -> Double {
    let start = nowNanoseconds()
    try body()
    return Double(nowNanoseconds() - start) / 1e9
  }

  private func read(_ store: Store, _ number: Int) throws {
    guard try store.get(Note.self, NumberedNote.id(number))?.title == "note \(number)" else {
      throw Failure("note \(number) is not what was written")
    }
  }

  /// The memory that this process has in use, where the system says so.
  private static var residentByteCount: Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
    let fields = text.split(separator: " ")
    return fields.count > 1 ? (Int(fields[1]) ?? 0) * 4096 : 0
  }
}
