// `notelog-bench device`: the log beside what the device itself can do.
import CPeers
import Foundation
import Notelog

/// The log alone, without sealing: commits beside a bare loop, bulk work, and verifying.
struct DeviceCommand {
  static let usage = """
    notelog-bench device [--count N] [--commits N] [--rounds R] [--part commits,bulk] [--folder PATH] [--json]
    """
  /// A note's bytes, sealed.
  static let bodyByteCount = 560

  var count = 200_000
  var commits = 2000
  var rounds = 5
  var isJSON = false
  var parts: Set<String> = ["commits", "bulk"]
  var folder = FileManager.default.temporaryDirectory

  init(_ arguments: inout ArraySlice<String>) throws {
    while let argument = arguments.popFirst() {
      switch argument {
      case "--count": count = try NotesCommand.number(&arguments, argument)
      case "--commits": commits = try NotesCommand.number(&arguments, argument)
      case "--rounds": rounds = try NotesCommand.number(&arguments, argument)
      case "--part":
        parts = Set(try NotesCommand.value(&arguments, argument).split(separator: ",").map(String.init))
      case "--folder": folder = URL(filePath: try NotesCommand.value(&arguments, argument))
      case "--json": isJSON = true
      default: throw Failure("unknown argument \(argument)\nusage: \(Self.usage)")
      }
    }
  }

  /// Runs the rounds, what is compared in turn, and reports medians.
  func run() throws {
    var figures: [String: [Figure]] = [:]
    var order: [String] = []
    for _ in 0..<rounds {
      let scratch = folder.appending(path: "notelog-bench-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: scratch) }
      try measure(in: scratch) { figure in
        if figures[figure.workload] == nil { order.append(figure.workload) }
        figures[figure.workload, default: []].append(figure)
      }
    }
    for figure in order.compactMap({ Figure.median(figures[$0] ?? []) }) {
      print(isJSON ? figure.json : figure.row)
    }
  }

  private func measure(in scratch: URL, _ report: (Figure) -> Void) throws {
    if parts.contains("commits") { try measureCommits(scratch, report) }
    if parts.contains("bulk") { try measureBulk(scratch, report) }
  }

  private func figure(_ workload: String, _ count: Int, _ seconds: Double, _ unit: String) -> Figure {
    Figure(engine: "log", workload: workload, value: Double(count) / seconds, unit: unit)
  }

  private func seconds(_ body: () throws -> Void) rethrows -> Double {
    let start = nowNanoseconds()
    try body()
    return Double(nowNanoseconds() - start) / 1e9
  }

  /// Commits of one writer and the bare loop in turn, some hundred each: the device is not the same a second
  /// later.
  private func measureCommits(_ scratch: URL, _ report: (Figure) -> Void) throws {
    // As many bytes as a commit of ours takes: header, body, commit mark.
    let byteCount = (40 + Self.bodyByteCount + 7) & ~7 + 56
    let store = try BytesStore(at: scratch.appending(path: "durable-1").path)
    var (bare, own, ratios) = (0.0, 0.0, [Double]())
    for start in stride(from: 0, to: commits, by: Self.turn) {
      let numbers = start..<min(start + Self.turn, commits)
      let bareTurn = Self.bareSeconds(numbers.count, byteCount, scratch.appending(path: "bare"))
      let ownTurn = try seconds {
        try store.write(numbers, byteCount: Self.bodyByteCount, batch: 1, isDurable: true)
      }
      bare += bareTurn
      own += ownTurn
      ratios.append(bareTurn / ownTurn)
    }
    try store.close()
    report(figure("bare append and fdatasync", commits, bare, "commits/s"))
    report(figure("durable, 1 writer", commits, own, "commits/s"))
    report(
      Figure(
        engine: "log", workload: "durable beside bare", value: ratios.sorted()[ratios.count / 2],
        unit: "×"))
    try measureCommits(of: 16, beside: own / Double(commits), scratch, report)
  }

  /// How many commits of each take turns.
  private static let turn = 200

  /// What appending and syncing alone takes, without making the file.
  private static func bareSeconds(_ count: Int, _ byteCount: Int, _ file: URL) -> Double {
    var times = [UInt64](repeating: 0, count: count)
    // SAFETY: the string is passed as C takes it, for the call's time; so many times are filled in.
    _ = unsafe bareAppendAndSync(file.path, byteCount, count, &times)
    return Double(times.reduce(0, +)) / 1e9
  }

  private func measureCommits(of writers: Int, beside one: Double, _ scratch: URL, _ report: (Figure) -> Void)
    throws
  {
    let store = try BytesStore(at: scratch.appending(path: "durable-\(writers)").path)
    let count = commits * 4
    let time = try Threads.run(writers) { writer in
      let numbers = count * writer / writers..<count * (writer + 1) / writers
      try store.write(numbers, byteCount: Self.bodyByteCount, batch: 1, isDurable: true)
    }
    try store.close()
    report(figure("durable, \(writers) writers", count, time, "commits/s"))
    report(
      Figure(
        engine: "log", workload: "\(writers) writers beside one", value: one / (time / Double(count)),
        unit: "×"))
  }

  /// Numbers below `count` at random.
  private static func picks(_ count: Int) -> [UInt32] {
    unsafe [UInt32](unsafeUninitializedCapacity: count) { buffer, initialized in
      // SAFETY: the call fills exactly `count` numbers.
      unsafe datasetPick(buffer.baseAddress, count, count, 1)
      initialized = count
    }
  }

  private func measureBulk(_ scratch: URL, _ report: (Figure) -> Void) throws {
    let count = count
    for threads in [1, 2] {
      let path = scratch.appending(path: "bulk-\(threads)").path
      let store = try BytesStore(at: path)
      let time = try Threads.run(threads) { thread in
        let numbers = count * thread / threads..<count * (thread + 1) / threads
        try store.write(numbers, byteCount: Self.bodyByteCount, batch: 1000)
      }
      report(figure("bulk, \(threads) thread\(threads == 1 ? "" : "s")", count, time, "records/s"))
      for readers in [1, 2] where threads == 1 {
        let numbers = Self.picks(count)
        let time = try Threads.run(readers) { reader in
          let share = numbers[count * reader / readers..<count * (reader + 1) / readers]
          guard try store.read(share) == share.count * Self.bodyByteCount else {
            throw Failure("records are missing")
          }
        }
        report(figure("random get, \(readers) thread\(readers == 1 ? "" : "s")", count, time, "records/s"))
      }
      try store.close()
      guard threads == 1 else { continue }
      let opening = try seconds {
        guard try BytesStore.open(at: path) == count else { throw Failure("records are missing") }
      }
      report(Figure(engine: "log", workload: "open", value: opening * 1000, unit: "ms"))
      var read: Verification?
      let verifying = try seconds { read = try Store.verify(at: path) }
      guard let read, read.frameCount >= count else { throw Failure("frames are missing") }
      report(
        Figure(
          engine: "log", workload: "verify", value: Double(read.byteCount) / verifying / 1e9, unit: "GB/s"
        ))
    }
  }
}
