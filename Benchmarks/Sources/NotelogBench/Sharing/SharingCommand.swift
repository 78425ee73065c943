// `notelog-bench sharing`: what it takes to lend a store, to hand it over, and to follow what others commit.
import CPeers
import Foundation
import Notelog

/// Stores that are open several times in one process: each has a lock of its own, as if they were processes.
struct SharingCommand {
  static let usage = "notelog-bench sharing [--count N] [--rounds R] [--json]"
  private static let batch = 1000
  private static let credential = Credential.key((0..<32).map { UInt8($0) })

  var count = 1_000_000
  var rounds = 200
  var isJSON = false

  init(_ arguments: inout ArraySlice<String>) throws {
    while let argument = arguments.popFirst() {
      switch argument {
      case "--count": count = try NotesCommand.number(&arguments, argument)
      case "--rounds": rounds = try NotesCommand.number(&arguments, argument)
      case "--json": isJSON = true
      default: throw Failure("unknown argument \(argument)\nusage: \(Self.usage)")
      }
    }
  }

  func run() throws {
    let scratch = FileManager.default.temporaryDirectory.appending(path: "notelog-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: scratch) }
    try measureHandOver(scratch.appending(path: "turns").path)
    try measureFollowing(scratch.appending(path: "followed").path)
  }

  private func report(_ workload: String, _ nanoseconds: [UInt64]) {
    let sorted = nanoseconds.sorted()
    var figure = Figure(
      engine: "notelog", workload: workload, value: Double(sorted[sorted.count / 2]) / 1e6, unit: "ms")
    figure.latencies = Latencies(sorted)
    print(isJSON ? figure.json : figure.row)
  }

  private func time(_ body: () throws -> some Any) rethrows -> UInt64 {
    let start = nowNanoseconds()
    _ = try body()
    return nowNanoseconds() - start
  }

  // MARK: Hand-over

  /// Two that lease the store write in turns: the one that has the lock would keep it, but for the other that
  /// asks.
  private func measureHandOver(_ path: String) throws {
    try Store.create(at: path, unlocking: Self.credential).close()
    var options = Store.Options()
    options.writing = .leased(idle: .seconds(10))
    options.lockTimeout = .seconds(10)
    let stores = try (0..<2).map { _ in
      try Store.open(at: path, unlocking: Self.credential, options: options)
    }
    var (own, others) = ([UInt64](), [UInt64]())
    for round in 0..<rounds {
      let store = stores[round % 2]
      let note = NumberedNote.make(round, body: "text")
      others.append(try time { try store.write(.flushed) { tx in _ = try tx.put(note) } })
      own.append(try time { try store.write(.flushed) { tx in _ = try tx.put(note) } })
    }
    report("put with the lock in hand", own)
    report("put with another's lock", others)
    report(
      "lend and take back",
      try (0..<rounds).map { _ in
        try time {
          try stores[(rounds - 1) % 2].suspend()
          try stores[(rounds - 1) % 2].resume()
        }
      })
    for store in stores { try store.close() }
  }

  // MARK: Following

  private func measureFollowing(_ path: String) throws {
    let writer = try Store.create(at: path, unlocking: Self.credential)
    for start in stride(from: 0, to: count, by: Self.batch) {
      let notes = (start..<min(start + Self.batch, count)).lazy.map { NumberedNote.make($0, body: "text") }
      try writer.putAll(notes, .flushed)
    }
    var options = Store.Options()
    options.isReadOnly = true
    let follower = try Store.open(at: path, unlocking: Self.credential, options: options)
    report(
      "\(count) notes: refresh after a put",
      try (0..<rounds).map { round in
        try writer.write(.flushed) { tx in try tx.put(NumberedNote.make(round, body: "new")) }
        return try time { try follower.refresh() }
      })
    report(
      "\(count) notes: refresh after nothing",
      try (0..<rounds).map { _ in
        try time { try follower.refresh() }
      })
    for start in stride(from: 0, to: count, by: Self.batch) {
      try writer.putAll(
        (start..<min(start + Self.batch, count)).lazy.filter { $0 % 2 == 0 }.map {
          NumberedNote.make($0, body: "again")
        }, .flushed)
    }
    report("\(count) notes: refresh after \(count / 2) puts", [try time { try follower.refresh() }])
    let compacting = try time { try writer.compact() }
    report("\(count) notes: compaction", [compacting])
    report("\(count) notes: refresh after compaction", [try time { try follower.refresh() }])
    guard try follower.query(Note.self).count() == writer.query(Note.self).count() else {
      throw Failure("the follower has other records")
    }
    try follower.close()
    try writer.close()
  }
}
