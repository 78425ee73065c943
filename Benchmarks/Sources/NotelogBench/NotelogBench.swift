// `notelog-bench notes [--count N] [--json] [--quick]`: the note workloads; `notelog-bench hotpath [--json] [--quick]`.
import Foundation
import Notelog

@main
enum NotelogBench {
  static func main() throws {
    var arguments = CommandLine.arguments.dropFirst()
    let suite = arguments.popFirst()
    if suite == "hotpath" { return try hotPath(arguments) }
    guard suite == "notes" else {
      print("usage: notelog-bench notes [--count N] [--json] [--quick]")
      print("       notelog-bench hotpath [--json] [--quick]")
      exit(64)
    }
    var count = 200_000
    var isJSON = false
    while let argument = arguments.popFirst() {
      switch argument {
      case "--quick": count = 5000
      case "--json": isJSON = true
      case "--count": count = arguments.popFirst().flatMap(Int.init) ?? count
      default:
        print("notelog-bench: unknown argument \(argument)")
        exit(64)
      }
    }
    let folder = FileManager.default.temporaryDirectory.appending(path: "notelog-bench-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    try NoteWorkloads(Dataset(count: count), folder: folder).run { figure in
      print(isJSON ? figure.json : figure.row)
    }
  }

  /// The sealing hot path; in quick mode too, an allocation in it is a failure.
  private static func hotPath(_ arguments: ArraySlice<String>) throws {
    for argument in arguments where !["--json", "--quick"].contains(argument) {
      print("notelog-bench: unknown argument \(argument)")
      exit(64)
    }
    let isJSON = arguments.contains("--json")
    var allocating: [String] = []
    try HotPath(isQuick: arguments.contains("--quick")).run { line in
      print(isJSON ? line.json : line.row)
      if let allocations = line.allocations, allocations > 0 { allocating.append(line.name) }
    }
    guard allocating.isEmpty else {
      FileHandle.standardError.write(Data("notelog-bench: allocations in \(allocating)\n".utf8))
      exit(1)
    }
  }
}
