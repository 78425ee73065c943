// Dots drawn on a terminal, and as SVG. The canvas goes from 0 to 100, from the left and from the top.

import TerminalUI

enum Picture {
  /// Twenty rows of fifty columns.
  static func rows(_ dots: [Dot]) -> [Row] {
    var colors = Array(repeating: [Color?](repeating: nil, count: 50), count: 20)
    for dot in dots where (0..<100).contains(dot.x) && (0..<100).contains(dot.y) {
      colors[Int(dot.y / 5)][Int(dot.x / 2)] = dot.color
    }
    return colors.map { row in row.map { $0.map { Row("●", $0.style) } ?? Row(" ") }.reduce(Row(), +) }
  }

  static func svg(_ dots: [Dot]) -> String {
    let circles = dots.map { dot in
      let color = dot.color
      return """
          <circle cx="\(dot.x)" cy="\(dot.y)" r="\(dot.radius)" fill="rgb(\(color.red) \(color.green) \(color.blue))"/>

        """
    }
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">
      \(circles.joined())</svg>

      """
  }
}

extension Dot {
  /// A line of the list.
  func row(_ sign: String) -> Row { Row("\(sign) ") + Row("●", color.style) + Row(" \(x), \(y)") }
}

extension Color {
  var style: Row.Style { .color(red: red, green: green, blue: blue) }
}
