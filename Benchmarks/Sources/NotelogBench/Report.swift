// What was measured, as lines of JSON or a table.
import Foundation

/// One figure.
struct Figure {
  var engine = "notelog"
  var workload: String
  var value: Double
  var unit: String

  /// Runs `body`, which does `count` operations, and counts how many it does in a second.
  static func rate(_ workload: String, _ unit: String, _ count: Int, _ body: () throws -> Void) rethrows
    -> Figure
  {
    let time = try ContinuousClock().measure(body)
    let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
    return Figure(workload: workload, value: Double(count) / seconds, unit: "\(unit)/s")
  }

  var json: String {
    #"{"engine":"\#(engine)","workload":"\#(workload)","value":\#(value),"unit":"\#(unit)"}"#
  }

  var row: String {
    let name = workload.padding(toLength: 22, withPad: " ", startingAt: 0)
    let number = value >= 100 ? String(Int(value.rounded())) : String((value * 1000).rounded() / 1000)
    return name + String(repeating: " ", count: max(1, 14 - number.count)) + number + " " + unit
  }
}
