// A few lines of text that are being written.

import TerminalUI

/// Lines and a place in them. The first line is the note's title.
struct Editor {
  private(set) var lines: [String]
  private(set) var line = 0
  /// How many characters are before the cursor.
  private(set) var column = 0

  init(_ text: String = "") {
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  var text: String { lines.joined(separator: "\n") }

  mutating func type(_ key: Key) {
    switch key {
    case .text(let character): insert(String(character))
    case .tab: insert("  ")
    case .enter:
      let rest = String(lines[line].dropFirst(column))
      lines[line] = String(lines[line].prefix(column))
      lines.insert(rest, at: line + 1)
      (line, column) = (line + 1, 0)
    case .backspace:
      if column > 0 {
        left()
        removeNext()
      } else if line > 0 {
        left()
        lines[line] += lines.remove(at: line + 1)
      }
    case .delete:
      if column < lines[line].count {
        removeNext()
      } else if line + 1 < lines.count {
        lines[line] += lines.remove(at: line + 1)
      }
    case .left: left()
    case .right:
      if column < lines[line].count {
        column += 1
      } else if line + 1 < lines.count {
        (line, column) = (line + 1, 0)
      }
    case .up: (line, column) = (max(0, line - 1), min(column, lines[max(0, line - 1)].count))
    case .down:
      line = min(lines.count - 1, line + 1)
      column = min(column, lines[line].count)
    case .home: column = 0
    case .end: column = lines[line].count
    default: break
    }
  }

  private mutating func insert(_ text: String) {
    let before = String(lines[line].prefix(column)) + text
    // A mark joins the character before it.
    lines[line] = before + lines[line].dropFirst(column)
    column = before.count
  }

  private mutating func left() {
    if column > 0 { column -= 1 } else if line > 0 { (line, column) = (line - 1, lines[line - 1].count) }
  }

  private mutating func removeNext() {
    lines[line] = String(lines[line].prefix(column)) + lines[line].dropFirst(column + 1)
  }

  /// The lines with the cursor in them.
  var shown: [String] {
    var shown = lines
    shown[line] = shown[line].prefix(column) + "▏" + shown[line].dropFirst(column)
    return shown
  }
}
