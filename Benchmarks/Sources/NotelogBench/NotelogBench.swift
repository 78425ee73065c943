// `notelog-bench`: what to measure is the first argument.
import Foundation

@main
enum NotelogBench {
  private static let usage = """
    usage: \(NotesCommand.usage)
           \(DeviceCommand.usage)
           \(ScaleCommand.usage)
           \(SharingCommand.usage)
           \(VaultCommand.usage)
           \(ShippingCommand.usage)
           \(CountsCommand.usage)
           notelog-bench hotpath [--json] [--quick] [--case seal/64]
    """

  static func main() {
    var arguments = CommandLine.arguments.dropFirst()
    do {
      switch arguments.popFirst() {
      case "notes": try NotesCommand(&arguments).run()
      case "device": try DeviceCommand(&arguments).run()
      case "scale": try ScaleCommand(&arguments).run()
      case "sharing": try SharingCommand(&arguments).run()
      case "vault": try VaultCommand(&arguments).run()
      case "shipping": try ShippingCommand(&arguments).run()
      case "counts": try CountsCommand(&arguments).run()
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
    var arguments = arguments
    var (isJSON, isQuick, only) = (false, false, nil as String?)
    while let argument = arguments.popFirst() {
      switch argument {
      case "--json": isJSON = true
      case "--quick": isQuick = true
      case "--case": only = arguments.popFirst()
      default: throw Failure("unknown argument \(argument)\n\(usage)")
      }
    }
    var allocating: [String] = []
    try HotPath(isQuick: isQuick, only: only).run { line in
      print(isJSON ? line.json : line.row)
      if let allocations = line.allocations, allocations > 0 { allocating.append(line.name) }
    }
    guard allocating.isEmpty else { throw Failure("allocations in \(allocating)") }
  }
}
