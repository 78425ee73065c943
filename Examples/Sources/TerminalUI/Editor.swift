// Text that is being written.

/// Some text, and a place in it.
public struct Editor {
  private var characters: [Character]
  private var cursor = 0

  /// Begins before the first character.
  public init(_ text: String = "") { characters = Array(text.replacing("\r\n", with: "\n")) }

  /// The text as it is by now.
  public var text: String { String(characters) }

  /// Takes a key, on a screen of so many columns.
  public mutating func type(_ key: Key, columns: Int) {
    switch key {
    case .text(let character): insert(String(character))
    case .enter: insert("\n")
    case .tab: insert("  ")
    case .backspace where cursor > 0:
      characters.remove(at: cursor - 1)
      cursor -= 1
    case .delete where cursor < characters.count: characters.remove(at: cursor)
    case .left: cursor = max(0, cursor - 1)
    case .right: cursor = min(characters.count, cursor + 1)
    case .up: moveRows(-1, columns)
    case .down: moveRows(1, columns)
    case .home: cursor = characters[..<cursor].lastIndex(of: "\n").map { $0 + 1 } ?? 0
    case .end: cursor = characters[cursor...].firstIndex(of: "\n") ?? characters.count
    default: break
    }
  }

  /// A mark that comes behind its letter becomes one character with it.
  private mutating func insert(_ text: String) {
    let before = Array(String(characters[..<cursor]) + text)
    characters.replaceSubrange(..<cursor, with: before)
    cursor = before.count
  }

  private mutating func moveRows(_ count: Int, _ columns: Int) {
    let rows = wrapped(characters, columns: columns - 1)
    let row = row(in: rows)
    guard rows.indices.contains(row + count) else { return }
    let target = rows[row + count]
    // A row that was broken without a line break ends before its last place, which is the next row's first.
    let end = target.upperBound == characters.count || characters[target.upperBound] == "\n" ? 0 : 1
    let column = min(cursor - rows[row].lowerBound, max(0, target.count - end))
    cursor = target.lowerBound + column
  }

  private func row(in rows: [Range<Int>]) -> Int { rows.lastIndex { $0.lowerBound <= cursor } ?? 0 }

  /// The rows around the cursor, which stands out.
  public func rows(columns: Int, count: Int) -> [Row] {
    let rows = wrapped(characters, columns: columns - 1)
    let current = row(in: rows)
    let first = max(0, current - count + 1)
    return rows[first...].prefix(count).enumerated().map { number, row in
      guard first + number == current else { return Row(String(characters[row])) }
      let under = cursor < row.upperBound ? String(characters[cursor]) : " "
      let rest = cursor < row.upperBound ? characters[(cursor + 1)..<row.upperBound] : []
      return Row(String(characters[row.lowerBound..<cursor])) + Row(under, .inverse) + Row(String(rest))
    }
  }
}
