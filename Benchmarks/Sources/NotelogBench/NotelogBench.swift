// `notelog-bench`: what to measure is the first argument.
import Foundation

@main
enum NotelogBench {
  private static let usage = """
    usage: \(NotesCommand.usage)
           \(DeviceCommand.usage)
           notelog-bench hotpath [--json] [--quick]
    """

  static func main() {
    var arguments = CommandLine.arguments.dropFirst()
    do {
      switch arguments.popFirst() {
      case "notes": try NotesCommand(&arguments).run()
      case "device": try DeviceCommand(&arguments).run()
      case "hotpath": try hotPath(arguments)
      default: throw Failure(usage)
      }
    } catch {
      FileHandle.standardError.write(Data("notelog-bench: \(error)\n".utf8))
      exit(1)
    }
  }

  /// The sealing hot path; in quick mode too, an allocation in it is a failure.
  private static func hotPath(_ arguments: ArraySlice<String>) throws {
    for argument in arguments where !["--json", "--quick"].contains(argument) {
      throw Failure("unknown argument \(argument)\n\(usage)")
    }
    let isJSON = arguments.contains("--json")
    var allocating: [String] = []
    try HotPath(isQuick: arguments.contains("--quick")).run { line in
      print(isJSON ? line.json : line.row)
      if let allocations = line.allocations, allocations > 0 { allocating.append(line.name) }
    }
    guard allocating.isEmpty else { throw Failure("allocations in \(allocating)") }
  }
}
