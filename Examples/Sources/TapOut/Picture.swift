// Dots drawn in a terminal, and as SVG. Coordinates go from 0 to 100, from the left and from the top.

import Foundation

enum Picture {
  /// A line for each step of 5, two columns for each of 2.5; a dot whose colour is locked is grey.
  static func text(_ dots: [Dot]) -> String {
    var rows = Array(repeating: Array(repeating: " ", count: 41), count: 21)
    for dot in dots {
      let (row, column) = (Int(min(max(dot.y, 0), 100) / 5), Int(min(max(dot.x, 0), 100) / 2.5))
      let color = dot.color?.bytes ?? [128, 128, 128]
      rows[row][column] = "\u{1B}[38;2;\(color[0]);\(color[1]);\(color[2])m●\u{1B}[0m"
    }
    return rows.map { $0.joined() }.joined(separator: "\n")
  }

  static func svg(_ dots: [Dot]) -> String {
    let circles = dots.map { dot in
      let color = (dot.color?.bytes ?? [128, 128, 128]).map(String.init).joined(separator: ",")
      return "  <circle cx=\"\(dot.x)\" cy=\"\(dot.y)\" r=\"\(dot.radius)\" fill=\"rgb(\(color))\"/>"
    }
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">
      \(circles.joined(separator: "\n"))
      </svg>
      """
  }
}
