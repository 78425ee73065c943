// `notelog-bench notes`: the note workloads, on our store and on the peers, in turn.
import Foundation

/// What was asked for.
struct NotesCommand {
  static let usage = """
    notelog-bench notes [--engine notelog,notelog-evidence,sqlite,lmdb,leveldb,rocksdb,c-floor]
                        [--workload NAME,…] [--count N]
                        [--threads T] [--rounds R] [--english] [--compressed] [--folder PATH] [--json]
                        [--output FILE] [--quick]
    """

  var engines = ["notelog"] + PeerEngine.names + [FloorEngine.engineName]
  var workloads: Set<String> = []
  var count = 200_000
  var threads = 1
  var rounds = 5
  /// For how long at least what changes nothing is repeated.
  var shortestSeconds = 1.0
  var isEnglish = false
  var isCompressed = false
  var isJSON = false
  /// A file that gets the lines of JSON, whatever is printed.
  var output: String?
  var folder = FileManager.default.temporaryDirectory

  init(_ arguments: inout ArraySlice<String>) throws {
    while let argument = arguments.popFirst() {
      switch argument {
      case "--engine": engines = try Self.value(&arguments, argument).split(separator: ",").map(String.init)
      case "--workload":
        workloads = Set(try Self.value(&arguments, argument).split(separator: ",").map(String.init))
      case "--count": count = try Self.number(&arguments, argument)
      case "--threads": threads = try Self.number(&arguments, argument)
      case "--rounds": rounds = try Self.number(&arguments, argument)
      case "--folder": folder = URL(filePath: try Self.value(&arguments, argument))
      case "--english": isEnglish = true
      case "--compressed": isCompressed = true
      case "--output": output = try Self.value(&arguments, argument)
      case "--json": isJSON = true
      case "--quick": (count, rounds, shortestSeconds) = (5000, 1, 0)
      default: throw Failure("unknown argument \(argument)\nusage: \(Self.usage)")
      }
    }
  }

  static func value(_ arguments: inout ArraySlice<String>, _ option: String) throws -> String {
    guard let value = arguments.popFirst() else { throw Failure("\(option) needs a value") }
    return value
  }

  static func number(_ arguments: inout ArraySlice<String>, _ option: String) throws -> Int {
    guard let number = Int(try value(&arguments, option)), number > 0 else {
      throw Failure("\(option) needs a number")
    }
    return number
  }

  private func makeEngine(_ name: String, _ dataset: Dataset) -> any NoteEngine {
    switch name {
    case "notelog", NotelogEngine.evidenceName: NotelogEngine(name, dataset)
    case FloorEngine.engineName: FloorEngine(dataset)
    default: PeerEngine(name, dataset)
    }
  }

  /// Has the engines insert durably, all of them in turns.
  private func insertDurably(
    _ dataset: Dataset, _ workloads: NoteWorkloads, _ table: inout Table
  ) throws {
    for writers in [1, 16] {
      let inserts = DurableInserts(dataset: dataset, writers: writers)
      guard workloads.isChosen(inserts.workload) else { continue }
      let scratch = folder.appending(path: "notelog-bench-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: scratch) }
      let names = engines.filter { $0 != FloorEngine.engineName && !table.missing.contains($0) }
      workloads.letDiskRest()
      try inserts.run(names.map { makeEngine($0, dataset) }, in: scratch) { table.add($0) }
    }
  }

  /// Runs every round on every engine, engines in turn, and reports medians.
  func run() throws {
    let dataset = try Dataset(count: count, english: isEnglish ? Dataset.englishText() : [])
    let workloads = NoteWorkloads(
      dataset: dataset, threads: threads, isCompressed: isCompressed, shortestSeconds: shortestSeconds,
      chosen: self.workloads)
    var table = Table(engines: engines)
    for round in 0..<rounds {
      // Each engine follows another one in each round, as what one leaves to the disk the next has to bear.
      let turn = round % engines.count
      for name in engines[turn...] + engines[..<turn] where !table.missing.contains(name) {
        let engine = makeEngine(name, dataset)
        let scratch = folder.appending(path: "notelog-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: scratch) }
        do {
          try workloads.run(engine, in: scratch) { table.add($0) }
        } catch let failure as Failure where round == 0 && failure.description.hasSuffix("is not installed") {
          FileHandle.standardError.write(Data("notelog-bench: \(failure), left out\n".utf8))
          table.missing.insert(name)
        }
      }
      try insertDurably(dataset, workloads, &table)
    }
    if let output { try Data((table.json + "\n").utf8).write(to: URL(filePath: output)) }
    print(isJSON ? table.json : table.text)
  }
}
