// How many columns a text takes on a terminal, and how it is broken into rows.

extension Character {
  /// The columns that a terminal gives it: two for East Asian wide ones and emoji, none for a mark without a
  /// letter.
  public var columnCount: Int {
    guard let first = unicodeScalars.first else { return 0 }
    // Variation selector 16 asks for the picture.
    if first.properties.isEmojiPresentation || unicodeScalars.contains("\u{FE0F}") { return 2 }
    switch first.properties.generalCategory {
    case .control, .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    switch first.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F200...0x1F2FF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }

  /// What may be sent to a terminal for it; nil for what would move the cursor or turn the text's direction
  /// round.
  var drawable: Character? {
    if self == "\t" { return " " }
    let isHarmful = unicodeScalars.contains { scalar in
      switch scalar.value {
      case 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
      default: scalar.properties.generalCategory == .control
      }
    }
    return isHarmful ? nil : self
  }
}

/// Breaks text into rows, behind spaces where there are some.
///
/// - Returns: For each row the places of its characters, without the line break at its end; never empty.
public func wrapped(_ text: [Character], columns: Int) -> [Range<Int>] {
  var rows: [Range<Int>] = []
  var (start, width, lastSpace) = (0, 0, 0)
  for (place, character) in text.enumerated() {
    if character.isNewline {
      rows.append(start..<place)
      (start, width, lastSpace) = (place + 1, 0, place + 1)
      continue
    }
    if width + character.columnCount > columns, place > start {
      let end = lastSpace > start ? lastSpace : place
      rows.append(start..<end)
      (start, lastSpace) = (end, end)
      width = text[end..<place].reduce(0) { $0 + $1.columnCount }
    }
    width += character.columnCount
    if character == " " { lastSpace = place + 1 }
  }
  return rows + [start..<text.count]
}
