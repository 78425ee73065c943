// How many columns a text takes in a terminal.

extension Character {
  /// The columns that a terminal gives it: none for what only changes the one before, two for East Asian wide ones and emoji.
  public var columnCount: Int {
    guard let first = unicodeScalars.first else { return 0 }
    if first.properties.generalCategory == .control { return 0 }
    if unicodeScalars.contains(where: { $0.value == 0xFE0F }) || first.properties.isEmojiPresentation {
      return 2
    }
    switch first.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    switch first.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
      0xA000...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE4F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
      0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }
}

extension StringProtocol {
  /// The columns that a terminal gives it.
  public var columnCount: Int { reduce(0) { $0 + $1.columnCount } }

  /// As much of it as fits into some columns, filled up with spaces to exactly these; what would move the cursor is left out.
  public func fitted(to count: Int) -> String {
    var (text, columns) = ("", 0)
    for character in self {
      if character.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) { continue }
      let width = character.columnCount
      if columns + width > count { break }
      text.append(character)
      columns += width
    }
    return text + String(repeating: " ", count: count - columns)
  }
}
