// `notelog-bench shipping`: how far an archive is behind, what a shipper costs a writer, and how fast a store comes back.
import CPeers
import Foundation
import Notelog
import Synchronization

/// A store that is shipped into another folder of the same disk, by another thread.
struct ShippingCommand {
  static let usage = "notelog-bench shipping [--count N] [--seconds S] [--pairs N] [--json]"
  private static let credential = Credential.key((0..<32).map { UInt8($0) })
  private static let percentiles = ["10", "50", "75", "90", "99", "99.9"]

  /// The notes of the store that is restored, how long each trickle is shipped, and how many pairs of stretches with and
  /// without a shipper there are.
  var count = 200_000
  var seconds = 60
  var pairs = 10
  var isJSON = false

  init(_ arguments: inout ArraySlice<String>) throws {
    while let argument = arguments.popFirst() {
      switch argument {
      case "--count": count = try NotesCommand.number(&arguments, argument)
      case "--seconds": seconds = try NotesCommand.number(&arguments, argument)
      case "--pairs": pairs = try NotesCommand.number(&arguments, argument)
      case "--json": isJSON = true
      default: throw Failure("unknown argument \(argument)\nusage: \(Self.usage)")
      }
    }
  }

  func run() throws {
    let scratch = FileManager.default.temporaryDirectory.appending(path: "notelog-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: scratch) }
    try measurePuts(scratch.appending(path: "puts"))
    for every in [1, 5] { try measureTrickle(scratch.appending(path: "trickle-\(every)"), every: every) }
    try measureRestoring(scratch.appending(path: "restored"))
  }

  private func report(_ workload: String, _ value: Double, _ unit: String) {
    let figure = Figure(engine: "notelog", workload: workload, value: value, unit: unit)
    print(isJSON ? figure.json : figure.row)
  }

  private func report(_ workload: String, percentilesOf times: [UInt64], scale: Double, _ unit: String) {
    let sorted = times.sorted()
    for percent in Self.percentiles {
      let place = min(sorted.count - 1, Int(Double(sorted.count) * (Double(percent) ?? 0) / 100))
      report("\(workload): p\(percent)", Double(sorted[place]) / scale, unit)
    }
  }

  /// A store, and what ships it, in a folder.
  private func begin(_ folder: URL) throws -> (store: Store, shipper: Shipper, archive: FolderArchive) {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let path = folder.appending(path: "store").path
    let store = try Store.create(at: path, unlocking: Self.credential)
    let archive = FolderArchive(path: folder.appending(path: "archive").path)
    return (store, try Shipper(of: path, to: archive), archive)
  }

  // MARK: What a shipper costs a writer

  /// Durable puts for a second each, in turns with a shipper that ships each second, and without.
  private func measurePuts(_ folder: URL) throws {
    let (store, shipper, _) = try begin(folder)
    let isShipping = Atomic(false)
    let isDone = Atomic(false)
    let times = Mutex<[Bool: [UInt64]]>([false: [], true: []])
    let ratios = Mutex<[Double]>([])
    _ = try Threads.run(2) { thread in
      if thread == 1 {
        while !isDone.load(ordering: .acquiring) {
          if isShipping.load(ordering: .acquiring) { try shipper.ship() }
          Thread.sleep(forTimeInterval: 0.5)
        }
        return
      }
      defer { isDone.store(true, ordering: .releasing) }
      var number = 0
      for pair in 0..<pairs * 2 {
        var medians: [Bool: Double] = [:]
        // Which comes first changes.
        for isBeside in pair % 2 == 0 ? [false, true] : [true, false] {
          isShipping.store(isBeside, ordering: .releasing)
          var taken: [UInt64] = []
          let end = nowNanoseconds() + 1_500_000_000
          while nowNanoseconds() < end {
            let start = nowNanoseconds()
            try store.write { tx in _ = try tx.put(NumberedNote.make(number, body: "text")) }
            taken.append(nowNanoseconds() - start)
            number += 1
          }
          medians[isBeside] = Double(taken.sorted()[taken.count / 2])
          times.withLock { $0[isBeside]? += taken }
        }
        ratios.withLock { $0.append((medians[true] ?? 0) / (medians[false] ?? 1)) }
      }
    }
    let sorted = ratios.withLock { $0.sorted() }
    report("put beside a shipper / without", sorted[sorted.count / 2], "×")
    for (isBeside, name) in [(false, "put alone"), (true, "put beside a shipper")] {
      report(name, percentilesOf: times.withLock { $0[isBeside] ?? [] }, scale: 1e3, "µs")
    }
    try store.close()
  }

  // MARK: How far an archive is behind

  /// A note every five milliseconds; a round begins each so many seconds.
  private func measureTrickle(_ folder: URL, every: Int) throws {
    let (store, shipper, _) = try begin(folder)
    let isDone = Atomic(false)
    let commits = Mutex<[(revision: UInt64, time: UInt64)]>([])
    let behind = Mutex<[UInt64]>([])
    let shipped = Mutex(0)
    _ = try Threads.run(2) { thread in
      if thread == 0 {
        defer { isDone.store(true, ordering: .releasing) }
        let end = nowNanoseconds() + UInt64(seconds) * 1_000_000_000
        var number = 0
        while nowNanoseconds() < end {
          let revision = try store.putAll([NumberedNote.make(number, body: "text")])
          commits.withLock { $0.append((revision, nowNanoseconds())) }
          number += 1
          Thread.sleep(forTimeInterval: 0.005)
        }
        return
      }
      while !isDone.load(ordering: .acquiring) {
        let start = nowNanoseconds()
        let round = try shipper.ship()
        let now = nowNanoseconds()
        shipped.withLock { $0 += round.byteCount }
        let done = commits.withLock { commits in
          let done = commits.prefix { $0.revision <= round.revision }
          commits.removeFirst(done.count)
          return Array(done)
        }
        behind.withLock { $0 += done.map { now - $0.time } }
        let left = Double(every) - Double(nowNanoseconds() - start) / 1e9
        if left > 0 { Thread.sleep(forTimeInterval: left) }
      }
    }
    let last = try shipper.ship().byteCount
    shipped.withLock { $0 += last }
    report("behind, every \(every) s", percentilesOf: behind.withLock { $0 }, scale: 1e9, "s")
    let committed = store.counters.bytesCommitted + store.counters.bytesCopied
    let ratio = Double(shipped.withLock { $0 }) / Double(committed)
    report("bytes shipped / written, every \(every) s", ratio, "×")
    try store.close()
  }

  // MARK: How fast a store comes back

  private func measureRestoring(_ folder: URL) throws {
    let (store, shipper, archive) = try begin(folder)
    for start in stride(from: 0, to: count, by: 1000) {
      try store.write(.flushed) { tx in
        for number in start..<min(start + 1000, count) {
          _ = try tx.put(NumberedNote.make(number, body: String(repeating: "notelog ", count: 50)))
        }
      }
    }
    var start = nowNanoseconds()
    let round = try shipper.ship()
    report("first round", Double(round.byteCount) / 1e6 / (Double(nowNanoseconds() - start) / 1e9), "MB/s")
    try store.close()
    let path = folder.appending(path: "again").path
    start = nowNanoseconds()
    _ = try Store.restore(from: archive, to: path, unlocking: Self.credential)
    let taken = Double(nowNanoseconds() - start) / 1e9
    report("restore", Double(round.byteCount) / 1e6 / taken, "MB/s")
    start = nowNanoseconds()
    let again = try Store.open(at: path, unlocking: Self.credential)
    guard try again.get(Note.self, NumberedNote.id(count / 2)) != nil else { throw Failure("a note is gone") }
    report("opening it, and a first record", Double(nowNanoseconds() - start) / 1e6, "ms")
    try again.close()
  }
}
