// Tables on a terminal: a header, aligned columns, lines cut to its width.

/// Rows of cells, printed as a table. Columns are as wide as the first rows need, and the terminal has.
struct Table {
  typealias Cell = (text: String, style: Console.Style?)

  struct Column {
    var title: String
    /// Numbers stand at the right.
    var isNumber = false
    /// Whether it may be cut.
    var isText = false
  }

  /// How many rows are held until it is known how wide the columns are.
  private static let heldCount = 1000
  private static let gap = 2
  /// The least that is left of a text, unless it is shorter.
  private static let textWidth = 12

  /// The titles of the columns that have no room.
  var hidden: [String] { columns.dropFirst(widths?.count ?? columns.count).map(\.title) }

  private let columns: [Column]
  private let width = Console.width
  private var held: [[Cell]] = []
  private var widths: [Int]?

  init(_ columns: [Column]) { self.columns = columns }

  /// The most scalars of a stored text that are worth making a cell of.
  static let scalarLimit = 4 * Console.width

  mutating func add(_ row: [Cell]) throws {
    held.append(row)
    if widths != nil || held.count == Self.heldCount { try finish() }
  }

  /// Prints what is held, below the header.
  mutating func finish() throws {
    let widths = widths ?? chosenWidths()
    if self.widths == nil {
      let more: [Cell] = widths.count < columns.count ? [("…", .dim)] : []
      try print(columns.map { ($0.title, .bold) }.prefix(widths.count) + more, widths + more.map { _ in 1 })
    }
    self.widths = widths
    for row in held { try print(row, widths) }
    held.removeAll()
  }

  /// Texts are cut, the longest first; where that is not enough, the last columns are left out.
  private func chosenWidths() -> [Int] {
    let natural = columns.indices.map { column in
      held.reduce(columns[column].title.displayWidth) { max($0, $1[column].text.displayWidth) }
    }
    func widths(_ count: Int, texts limit: Int) -> [Int] {
      (0..<count).map { columns[$0].isText ? min(natural[$0], limit) : natural[$0] }
    }
    func fits(_ widths: [Int]) -> Bool {
      let more = widths.count < columns.count ? Self.gap + 1 : 0
      return widths.reduce(more, +) + Self.gap * (widths.count - 1) <= width
    }
    var count = columns.count
    while count > 1, !fits(widths(count, texts: Self.textWidth)) { count -= 1 }
    var limit = min(natural.max() ?? 0, width)
    while limit > 1, !fits(widths(count, texts: limit)) { limit -= 1 }
    return widths(count, texts: limit)
  }

  private func print(_ row: [Cell], _ widths: [Int]) throws {
    let cells = zip(row, widths).enumerated().map { column, cell in
      let ((text, style), width) = cell
      // Half a number or id would be another one.
      let cut = column < columns.count && !columns[column].isText ? text : text.cut(to: width)
      let blanks = String(repeating: " ", count: max(0, width - cut.displayWidth))
      let shown = style.map { Console.styled(cut, $0) } ?? cut
      if columns[min(column, columns.count - 1)].isNumber { return blanks + shown }
      return column == widths.count - 1 ? shown : shown + blanks
    }
    try Console.out.write(cells.joined(separator: String(repeating: " ", count: Self.gap)) + "\n")
  }
}

// MARK: - How many columns of a terminal a text takes.

extension String {
  /// The columns of a terminal that it takes.
  var displayWidth: Int { utf8.allSatisfy { $0 < 0x80 } ? utf8.count : reduce(0) { $0 + $1.displayWidth } }

  /// The text, or as much of its beginning as fits before an ellipsis. No character is cut in two.
  func cut(to width: Int) -> String {
    guard displayWidth > width else { return self }
    var left = width - 1
    return prefix { character in
      left -= character.displayWidth
      return left >= 0
    } + "…"
  }
}

extension Character {
  /// The sum of its scalars, as most terminals have it; one that is to look like an emoji is wide.
  fileprivate var displayWidth: Int {
    let sum = unicodeScalars.reduce(0) { $0 + $1.displayWidth }
    return sum == 1 && unicodeScalars.contains("\u{FE0F}") ? 2 : sum
  }
}

extension Unicode.Scalar {
  fileprivate var displayWidth: Int {
    switch value {
    // Two letters of a flag are one wide character.
    case 0x20..<0x7F, 0xAD, 0x1F1E6...0x1F1FF: return 1
    // Vowels and final consonants of Hangul stand in the syllable before them.
    case 0x1160...0x11FF, 0xD7B0...0xD7FF: return 0
    // Unicode's East Asian Width: wide and full-width.
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF,
      0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD:
      return properties.generalCategory == .nonspacingMark ? 0 : 2
    default:
      switch properties.generalCategory {
      case .nonspacingMark, .enclosingMark, .format: return 0
      default: return properties.isEmojiPresentation ? 2 : 1
      }
    }
  }
}
