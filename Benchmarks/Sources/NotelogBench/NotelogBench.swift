// `notelog-bench notes [--count N] [--json] [--quick]`: the note workloads.
import Foundation
import Notelog

@main
enum NotelogBench {
  static func main() throws {
    var arguments = CommandLine.arguments.dropFirst()
    guard arguments.popFirst() == "notes" else {
      print("usage: notelog-bench notes [--count N] [--json] [--quick]")
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
}
