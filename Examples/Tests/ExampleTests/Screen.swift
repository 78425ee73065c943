// What a terminal shows of the bytes that a program sends.

import TerminalUI

/// A screen of characters. It knows the sequences that TerminalUI sends, and counts the others.
struct Screen {
  private(set) var rows: [[String]]
  private(set) var isAlternate = false
  private(set) var unknownCount = 0
  private var normal: [[String]]
  private let columns: Int
  private var row = 0
  private var column = 0
  private var pending: [UInt8] = []

  init(columns: Int, lines: Int) {
    self.columns = columns
    rows = Array(repeating: Array(repeating: " ", count: columns), count: lines)
    normal = rows
  }

  /// The lines, without the spaces at their ends.
  var lines: [String] {
    rows.map { row in
      let text = row.joined()
      return String(text.reversed().drop { $0 == " " }.reversed())
    }
  }

  var text: String { lines.joined(separator: "\n") }

  mutating func take(_ bytes: some Sequence<UInt8>) {
    pending += bytes
    while let count = step() { pending.removeFirst(count) }
  }

  /// Takes one character or sequence; nil where there is none, or only its beginning.
  private mutating func step() -> Int? {
    guard let first = pending.first else { return nil }
    if first == 27 { return sequence() }
    let count = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    guard pending.count >= count else { return nil }
    let text = String(decoding: pending.prefix(count), as: UTF8.self)
    switch first {
    case 10: row = min(row + 1, rows.count - 1)
    case 13: column = 0
    default: put(text)
    }
    return count
  }

  private mutating func put(_ text: String) {
    let width = text.columnCount
    if width == 0 {
      if column > 0 { rows[row][column - 1] += text }
      return
    }
    guard column + width <= columns else { return }
    rows[row][column] = text
    if width == 2 { rows[row][column + 1] = "" }
    column += width
  }

  private mutating func sequence() -> Int? {
    guard let end = pending.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else { return nil }
    let body = String(decoding: pending[2..<end], as: UTF8.self)
    let numbers = body.split(separator: ";").compactMap { Int($0) }
    switch (pending[end], body) {
    case (UInt8(ascii: "H"), _):
      row = min((numbers.first ?? 1) - 1, rows.count - 1)
      column = (numbers.count > 1 ? numbers[1] : 1) - 1
    case (UInt8(ascii: "J"), "2"): clear()
    case (UInt8(ascii: "J"), "3"), (UInt8(ascii: "m"), _): break
    case (UInt8(ascii: "h"), "?1049"):
      (normal, isAlternate) = (rows, true)
      clear()
    case (UInt8(ascii: "l"), "?1049"): (rows, isAlternate) = (normal, false)
    case (UInt8(ascii: "h"), "?25"), (UInt8(ascii: "l"), "?25"): break
    default: unknownCount += 1
    }
    return end + 1
  }

  private mutating func clear() {
    for index in rows.indices { rows[index] = Array(repeating: " ", count: columns) }
  }
}
