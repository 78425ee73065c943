// `notelog-bench counts`: what hot paths take of the system, counted. Counts are the same on every machine,
// so they are gated.
import CAllocationCount
import CPeers
import Foundation
import Notelog

/// Counts allocations, system calls and bytes, and fails where one is over its limit.
struct CountsCommand {
  static let usage = "notelog-bench counts [--json]"

  private static let batch = 1000
  private static let batchCount = 20
  private var isJSON = false

  init(_ arguments: inout ArraySlice<String>) throws {
    while let argument = arguments.popFirst() {
      guard argument == "--json" else { throw Failure("unknown argument \(argument)\nusage: \(Self.usage)") }
      isJSON = true
    }
  }

  /// A count and what it may be at most; infinity where compaction may have its share in it.
  private struct Count {
    let name: String
    let value: Double
    let limit: Double

    var isOver: Bool { value > limit }
  }

  /// Counts everything, prints it, and throws where a limit is passed.
  func run() throws {
    let dataset = try Dataset(count: Self.batch * Self.batchCount)
    let folder = FileManager.default.temporaryDirectory.appending(path: "notelog-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var options = Store.Options()
    // The size that a larger store would have: otherwise switches of tiny segments are what is counted.
    options.segmentByteCount = 8 << 20
    let credential = Credential.key([UInt8](repeating: 1, count: 32))
    let store = try Store.create(
      at: folder.appending(path: "store").path, unlocking: credential, options: options)
    var counts = try writes(store, dataset)
    counts += try reads(store, dataset)
    counts += try durableCommits(store, dataset)
    try store.close()
    for count in counts {
      let figure = Figure(engine: "notelog", workload: count.name, value: count.value, unit: "")
      print(isJSON ? figure.json : figure.row)
    }
    let over = counts.filter(\.isOver).map { "\($0.name) is \($0.value), over \($0.limit)" }
    guard over.isEmpty else { throw Failure(over.joined(separator: "; ")) }
  }

  /// Puts and commits: all notes once, while memory and the index grow to what they need, and once more.
  private func writes(_ store: Store, _ dataset: Dataset) throws -> [Count] {
    var batch = try store.batch(of: Note.self)
    var notes: [Note] = []
    notes.reserveCapacity(Self.batch)
    var io: [ProcessIO] = [.now]
    var putting: Int64 = 0
    var committing: Int64 = 0
    for round in 0..<2 {
      for first in stride(from: 0, to: dataset.count, by: Self.batch) {
        notes.removeAll(keepingCapacity: true)
        notes += dataset.notes[first..<first + Self.batch]
        let start = allocation_count()
        for index in notes.indices { try batch.put(notes[index]) }
        let middle = allocation_count()
        try batch.commit(.flushed)
        if round == 0 { continue }
        putting += middle - start
        committing += allocation_count() - middle
      }
      io.append(.now)
    }
    let inserting = io[1] - io[0]
    let commitCount = Double(Self.batchCount)
    return [
      Count(name: "allocations per put", value: Double(putting) / Double(dataset.count), limit: 0),
      Count(name: "allocations per commit", value: Double(committing) / commitCount, limit: 8),
      // A commit is one call; segments are begun and finished in between.
      Count(name: "system calls per commit", value: Double(inserting.calls) / commitCount, limit: 1.5),
      Count(
        name: "bytes written per byte",
        value: Double(inserting.bytesWritten) / Double(dataset.logicalByteCount), limit: 1.45),
    ]
  }

  /// Reads through a field, and a scan.
  private func reads(_ store: Store, _ dataset: Dataset) throws -> [Count] {
    let title = try store.field(\Note.title)
    let body = try store.field(\Note.body)
    var buffer = ValueBuffer()
    let picks = dataset.picks(10_000, seed: 5)
    var allocations: Int64 = 0
    var byteCount = 0
    // Once to fill the cache and to let the buffer grow.
    for round in 0..<2 {
      let start = allocation_count()
      for pick in picks {
        let id = dataset.notes[Int(pick)].id
        guard try store.read(title, of: id, into: &buffer) else { throw Failure("a note is missing") }
        byteCount += buffer.bytes.byteCount
        guard try store.read(body, of: id, into: &buffer) else { throw Failure("a note is missing") }
        byteCount += buffer.bytes.byteCount
      }
      if round > 0 { allocations = allocation_count() - start }
    }
    let snapshot = store.snapshot()
    var scanned: Int64 = 0
    var records = 0
    for round in 0..<2 {
      let start = allocation_count()
      try snapshot.scan(Note.self) { entry in
        try entry.withBytes(of: body) { byteCount += $0.byteCount }
        records += round
        return true
      }
      scanned = allocation_count() - start
    }
    guard records == dataset.count, byteCount > 0 else { throw Failure("notes are missing") }
    return [
      Count(name: "allocations per read", value: Double(allocations) / Double(2 * picks.count), limit: 0),
      // A window and a list of segments are a scan's, whatever it finds.
      Count(name: "allocations per scan", value: Double(scanned), limit: 200),
    ]
  }

  /// Commits of one record, each on the medium before it returns.
  private func durableCommits(_ store: Store, _ dataset: Dataset) throws -> [Count] {
    var batch = try store.batch(of: Note.self)
    var allocations: Int64 = 0
    let commitCount = 50
    var io = ProcessIO.now
    for index in 0...commitCount {
      let note = dataset.notes[index]
      let start = allocation_count()
      try batch.put(note)
      try batch.commit(.durable)
      if index == 0 { io = ProcessIO.now } else { allocations += allocation_count() - start }
    }
    let done = ProcessIO.now - io
    return [
      Count(
        name: "allocations per durable put", value: Double(allocations) / Double(commitCount),
        limit: 3),
      Count(name: "calls per durable put", value: Double(done.calls) / Double(commitCount), limit: 1.5),
    ]
  }
}
