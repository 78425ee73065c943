// The note workloads, one after another, on one engine.
import CPeers
import Foundation

/// What to run, and with how many threads.
struct NoteWorkloads {
  static let batch = 1000
  static let groupOfMany = 64
  static let newestLimit = 50

  let dataset: Dataset
  let threads: Int
  /// Whether bodies are compressed, where the engine can.
  var isCompressed = false
  /// For how long at least what changes nothing is repeated: once takes a tenth of a second, in which
  /// anything can come between. For so long the disk is left alone, too, before something is written.
  var shortestSeconds = 0.0
  /// Names of the workloads to run; all where it is empty.
  var chosen: Set<String> = []

  private var options: EngineOptions { EngineOptions(threadCount: threads, isCompressed: isCompressed) }

  func isChosen(_ names: String...) -> Bool {
    chosen.isEmpty || names.contains { chosen.contains($0) }
  }

  /// Runs the workloads on an engine in a folder of its own, and hands each figure on.
  func run(_ engine: any NoteEngine, in folder: URL, _ report: (Figure) -> Void) throws {
    let path = try Self.makeFolder(folder, "notes")
    letDiskRest()
    try engine.open(path, options)
    let io = ProcessIO.now
    var bulk = try insertAll(engine)
    if engine.onlyScans {
      try scans(engine, report)
      return try engine.close()
    }
    if engine.name == "notelog" {
      let done = ProcessIO.now - io
      bulk.counts = [
        ("bytesWrittenPerByte", Double(done.bytesWritten) / Double(dataset.logicalByteCount)),
        ("systemCallsPerOperation", Double(done.calls) / Double(dataset.count)),
      ]
    }
    report(bulk)
    try reads(engine, report)
    try scans(engine, report)
    try engine.close()
    try verifications(engine, path, report)
    try engine.open(path, options)
    try updates(engine, report)
    try engine.close()
    try space(engine, path, report)
    try reopening(engine, path, report)
    try newest(engine, folder, report)
  }

  /// Lets the disk rest, but in a quick run.
  func letDiskRest() {
    if shortestSeconds > 0 { waitForDisk(seconds: shortestSeconds) }
  }

  private static func makeFolder(_ folder: URL, _ name: String) throws -> String {
    let path = folder.appending(path: name).path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  /// The notes that a thread sees to.
  private func share(_ thread: Int, of threads: Int, _ count: Int) -> Range<Int> {
    count * thread / threads..<count * (thread + 1) / threads
  }

  /// Runs `body` on a session for each thread, again and again where it may, and counts how many operations
  /// that makes in a second.
  private func rate(
    _ engine: any NoteEngine, _ workload: String, _ unit: String, threads: Int, count: Int,
    staysPut: Bool = true, atLeast shortest: Double = 0,
    _ body: @escaping @Sendable (Int, any NoteSession) throws -> Void, check: () throws -> Void = {}
  ) throws -> Figure {
    let sessions = Sessions(try (0..<threads).map { _ in try engine.session() })
    let perSecond = try Self.timesASecond(atLeast: shortest) {
      let seconds = try Threads.run(threads, staysPut: staysPut) { try body($0, sessions[$0]) }
      try check()
      return seconds
    }
    return Figure(
      engine: engine.name, workload: workload, value: Double(count) * perSecond, unit: unit + "/s")
  }

  /// How often a second something can be done that says how many seconds it took.
  private static func timesASecond(atLeast shortest: Double, _ body: () throws -> Double) rethrows -> Double {
    var (times, seconds) = (0.0, 0.0)
    repeat {
      seconds += try body()
      times += 1
    } while seconds < shortest
    return times / seconds
  }

  /// Times single operations on one thread.
  private func latencies(
    _ engine: any NoteEngine, _ count: Int, _ body: (any NoteSession, LatencySink?) throws -> Void
  ) throws -> Latencies? {
    let session = try engine.session()
    var times = [UInt64](repeating: 0, count: count)
    // SAFETY: the sink has as many places as there are operations.
    try unsafe times.withUnsafeMutableBufferPointer { buffer in
      try body(session, unsafe buffer.baseAddress.map { unsafe LatencySink($0) })
    }
    return Latencies(times)
  }

  private func insertAll(_ engine: any NoteEngine) throws -> Figure {
    try rate(engine, "bulk-insert", "notes", threads: threads, count: dataset.count) { thread, session in
      try session.insert(share(thread, of: threads, dataset.count), batch: Self.batch, nil)
    }
  }

  private func reads(_ engine: any NoteEngine, _ report: (Figure) -> Void) throws {
    let count = dataset.count
    let wanted = (0..<threads).map {
      dataset.wanted(share($0, of: threads, count).count, seed: UInt64(10 + $0))
    }
    let sample = wanted[0].prefix(20_000)
    // One round without a clock, so that every engine's cache is as warm as it gets.
    _ = try rate(engine, "warm-up", "", threads: threads, count: count) {
      try $1.readNotes(wanted[$0], nil)
    }
    if isChosen("random-title") {
      var figure = try rate(
        engine, "random-title", "titles", threads: threads, count: count, atLeast: shortestSeconds
      ) {
        try $1.readTitles(wanted[$0], group: 1, nil)
      }
      figure.latencies = try latencies(engine, sample.ids.count) { try $0.readTitles(sample, group: 1, $1) }
      report(figure)
    }
    if isChosen("random-title-many") {
      report(
        try rate(
          engine, "random-title-many", "titles", threads: threads, count: count, atLeast: shortestSeconds
        ) {
          try $1.readTitles(wanted[$0], group: Self.groupOfMany, nil)
        })
    }
    if isChosen("random-note") {
      var figure = try rate(
        engine, "random-note", "notes", threads: threads, count: count, atLeast: shortestSeconds
      ) {
        try $1.readNotes(wanted[$0], nil)
      }
      figure.latencies = try latencies(engine, sample.ids.count) { try $0.readNotes(sample, $1) }
      report(figure)
    }
  }

  private func scans(_ engine: any NoteEngine, _ report: (Figure) -> Void) throws {
    let threads = threads
    let count = dataset.count
    if isChosen("scan-titles") {
      let found = Counter()
      let figure = try rate(
        engine, "scan-titles", "titles", threads: threads, count: count, atLeast: shortestSeconds
      ) {
        found.add(try $1.scanTitles(part: $0, of: threads))
      } check: {
        let found = found.take()
        guard found == count else { throw Failure("\(engine.name): \(found) titles of \(count)") }
      }
      report(figure)
    }
    if isChosen("search-bodies") {
      let found = Counter()
      // Ours starts threads of its own, which would stay where their caller has to.
      let figure = try rate(
        engine, "search-bodies", "notes", threads: threads, count: count, staysPut: false,
        atLeast: shortestSeconds
      ) {
        found.add(try $1.searchBodies(part: $0, of: threads))
      } check: {
        guard found.take() > 0 else { throw Failure("\(engine.name): nothing found") }
      }
      report(figure)
    }
  }

  private func verifications(_ engine: any NoteEngine, _ path: String, _ report: (Figure) -> Void) throws {
    guard isChosen("verify") else { return }
    let byteCount = Self.byteCount(of: path)
    for withKey in [false, true] {
      let perSecond = try Self.timesASecond(atLeast: shortestSeconds) {
        let start = nowNanoseconds()
        try engine.verify(path, options, withKey: withKey)
        return Double(nowNanoseconds() - start) / 1e9
      }
      report(
        Figure(
          engine: engine.name, workload: withKey ? "verify-with-key" : "verify",
          value: Double(byteCount) * perSecond / 1e9, unit: "GB/s"))
    }
  }

  private func updates(_ engine: any NoteEngine, _ report: (Figure) -> Void) throws {
    guard isChosen("random-update", "size-before-compact", "size-after-compact", "compact") else { return }
    let threads = threads
    let count = 5 * dataset.count
    let picks = (0..<threads).map {
      dataset.distinctPicks(
        share($0, of: threads, count).count, batch: min(Self.batch, dataset.count), seed: UInt64(20 + $0))
    }
    letDiskRest()
    report(
      try rate(engine, "random-update", "notes", threads: threads, count: count) {
        try $1.update(picks[$0], batch: min(Self.batch, self.dataset.count), version: 7)
      })
  }

  // SAFETY: the string is passed as C takes it, for the call's time.
  private static func byteCount(of path: String) -> Int { unsafe folderByteCount(path) }

  /// The bytes of a store's files over those of its notes; our index, which is disposable, is counted
  /// elsewhere.
  private func spaceRatio(_ path: String) -> Double {
    let index = (try? FileManager.default.attributesOfItem(atPath: path + "/index")[.size] as? Int) ?? nil
    return Double(Self.byteCount(of: path) - (index ?? 0)) / Double(dataset.logicalByteCount)
  }

  private func space(_ engine: any NoteEngine, _ path: String, _ report: (Figure) -> Void) throws {
    guard isChosen("size-before-compact", "size-after-compact", "compact") else { return }
    report(
      Figure(engine: engine.name, workload: "size-before-compact", value: spaceRatio(path), unit: "×"))
    try engine.open(path, options)
    let start = nowNanoseconds()
    try engine.compact()
    let seconds = Double(nowNanoseconds() - start) / 1e9
    try engine.close()
    report(Figure(engine: engine.name, workload: "compact", value: seconds * 1000, unit: "ms"))
    report(
      Figure(engine: engine.name, workload: "size-after-compact", value: spaceRatio(path), unit: "×"))
  }

  private func reopening(_ engine: any NoteEngine, _ path: String, _ report: (Figure) -> Void) throws {
    guard isChosen("reopen-first-read") else { return }
    // The text may be a later version's: the whole scan would tell, a first read only has to open a title.
    var times: [Double] = []
    for round in 0..<5 {
      let start = nowNanoseconds()
      try engine.open(path, options)
      do {
        let session = try engine.session()
        guard try session.firstTitle(round) > 0 else { throw Failure("\(engine.name): no first title") }
      }
      times.append(Double(nowNanoseconds() - start) / 1e6)
      try engine.close()
    }
    times.sort()
    report(Figure(engine: engine.name, workload: "reopen-first-read", value: times[2], unit: "ms"))
  }

  private func newest(_ engine: any NoteEngine, _ folder: URL, _ report: (Figure) -> Void) throws {
    guard isChosen("newest-50") else { return }
    let path = try Self.makeFolder(folder, "timed")
    try engine.open(path, EngineOptions(hasTimeIndex: true))
    _ = try insertAll(engine)
    do {
      let session = try engine.session()
      let count = try session.readNewest(Self.newestLimit)
      guard count == min(Self.newestLimit, dataset.count) else {
        throw Failure("\(engine.name): newest \(count)")
      }
      let times = try (0..<5).map { _ in
        let start = nowNanoseconds()
        _ = try session.readNewest(Self.newestLimit)
        return Double(nowNanoseconds() - start) / 1e6
      }.sorted()
      report(Figure(engine: engine.name, workload: "newest-50", value: times[2], unit: "ms"))
    }
    try engine.close()
  }
}

/// Sessions, each used by the thread of its number alone.
final class Sessions: @unchecked Sendable {
  // SAFETY: never changed after init; element *n* is touched by thread *n* only.
  private let sessions: [any NoteSession]

  init(_ sessions: [any NoteSession]) { self.sessions = sessions }

  subscript(index: Int) -> any NoteSession { sessions[index] }
}
