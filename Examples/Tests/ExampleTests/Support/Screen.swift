// What a terminal shows of the bytes that were sent to it.

import CTerminal

/// A model of a terminal's screen, as far as the examples use one. What it doesn't know stands in `unknown`.
struct Screen {
  /// A place on the screen, with the marks that follow its character; empty right of a wide one.
  struct Cell: Equatable {
    var text = " "
    var isInverse = false
  }

  private(set) var columns: Int
  private(set) var count: Int
  private(set) var cells: [[Cell]]
  /// What the main screen held, while the alternate one is shown.
  private(set) var mainCells: [[Cell]]?
  /// Rows that left the top of a screen.
  private(set) var scrollback: [String] = []
  /// Sequences that the model does not know.
  private(set) var unknown: Set<String> = []
  private(set) var isCursorShown = true
  /// Whether there is an alternate screen: some terminals can be told that there is none.
  let hasAlternate: Bool
  private var (row, column) = (0, 0)
  private var wraps = true
  private var isInverse = false
  private var pending: [UInt8] = []

  init(columns: Int, rows: Int, hasAlternate: Bool = true) {
    (self.columns, count, self.hasAlternate) = (columns, rows, hasAlternate)
    cells = Self.blank(columns, rows)
  }

  private static func blank(_ columns: Int, _ rows: Int) -> [[Cell]] {
    Array(repeating: Array(repeating: Cell(), count: columns), count: rows)
  }

  /// The rows as text, without the spaces at their ends.
  var rows: [String] { cells.map(Self.text) }
  var text: String { rows.joined(separator: "\n") }
  var isEmpty: Bool { text.allSatisfy { $0.isWhitespace } }
  /// The row that stands out, if one does from its beginning.
  var inverseRow: String? { cells.first { $0.first?.isInverse ?? false }.map(Self.text) }

  private static func text(_ row: [Cell]) -> String {
    var text = row.map(\.text).joined()
    while text.last == " " { text.removeLast() }
    return text
  }

  /// Takes a new size; as on some terminals, nothing is shown then.
  mutating func resize(columns: Int, rows: Int) {
    (cells, self.columns, count) = (Self.blank(columns, rows), columns, rows)
    (row, column) = (min(row, rows - 1), min(column, columns - 1))
  }

  mutating func take(_ bytes: some Sequence<UInt8>) {
    pending += bytes
    while let length = next() { pending.removeFirst(length) }
  }

  /// Takes one character or sequence; nil where it is not there as a whole.
  private mutating func next() -> Int? {
    guard let first = pending.first else { return nil }
    if first == 27 {
      guard pending.count > 1 else { return nil }
      guard pending[1] == UInt8(ascii: "[") else { return unknown(2) }
      guard let end = pending.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else {
        return nil
      }
      control(Character(UnicodeScalar(pending[end])), String(decoding: pending[2..<end], as: UTF8.self))
      return end + 1
    }
    let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    guard pending.count >= length else { return nil }
    for scalar in String(decoding: pending.prefix(length), as: UTF8.self).unicodeScalars { put(scalar) }
    return length
  }

  private mutating func unknown(_ length: Int) -> Int {
    unknown.insert(String(decoding: pending.prefix(length), as: UTF8.self))
    return length
  }

  private mutating func put(_ scalar: Unicode.Scalar) {
    switch scalar {
    case "\r": column = 0
    case "\n": lineFeed()
    case _ where scalar.value < 32: unknown.insert("\(scalar.value)")
    default:
      let width = Int(max(0, scalar_column_count(scalar.value)))
      guard width > 0 else {
        cells[row][max(0, min(column, columns) - 1)].text.unicodeScalars.append(scalar)
        return
      }
      if column + width > columns {
        if wraps { (column, _) = (0, lineFeed()) } else { column = columns - width }
      }
      cells[row][column] = Cell(text: String(scalar), isInverse: isInverse)
      if width == 2 { cells[row][column + 1] = Cell(text: "", isInverse: isInverse) }
      column += width
    }
  }

  private mutating func lineFeed() {
    guard row == count - 1 else { return row += 1 }
    scrollback.append(Self.text(cells.removeFirst()))
    cells.append(Self.blank(columns, 1)[0])
  }

  private mutating func control(_ name: Character, _ arguments: String) {
    let numbers = arguments.split(separator: ";", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
    switch (name, arguments) {
    case ("H", _):
      row = min(max(1, numbers[0]), count) - 1
      column = min(max(1, numbers.count > 1 ? numbers[1] : 1), columns) - 1
    case ("K", "2"): cells[row] = Self.blank(columns, 1)[0]
    case ("m", _): isInverse = numbers.last == 7 || isInverse && !numbers.contains(0)
    case ("h", "?1049") where hasAlternate: (mainCells, cells) = (cells, Self.blank(columns, count))
    case ("l", "?1049") where hasAlternate: (cells, mainCells) = (mainCells ?? cells, nil)
    case ("h", "?1049"), ("l", "?1049"): break
    case ("h", "?7"), ("l", "?7"): wraps = name == "h"
    case ("h", "?25"), ("l", "?25"): isCursorShown = name == "h"
    default: unknown.insert("[\(arguments)\(name)")
    }
  }
}
