// A row of the screen: pieces of text, each in a style of its own.

/// Text for one row.
public struct Row: Equatable, Sendable {
  /// How a piece of text looks.
  public enum Style: Equatable, Sendable {
    case plain, bold, faint, inverse
    case color(red: UInt8, green: UInt8, blue: UInt8)

    var codes: String {
      switch self {
      case .plain: "0"
      case .bold: "0;1"
      case .faint: "0;2"
      case .inverse: "0;7"
      case .color(let red, let green, let blue): "0;38;2;\(red);\(green);\(blue)"
      }
    }
  }

  private struct Piece: Equatable {
    var text: String
    var style: Style
  }

  private var pieces: [Piece] = []

  /// A row of one piece.
  public init(_ text: String = "", _ style: Style = .plain) {
    pieces = [Piece(text: text, style: style)]
  }

  /// Where the next character will stand.
  public static let cursor = Row(" ", .inverse) + Row()

  /// One piece behind the other.
  public static func + (left: Row, right: Row) -> Row {
    var row = left
    row.pieces += right.pieces
    return row
  }

  /// What is printed for it where there is no screen to fill.
  public var text: String {
    pieces.map { $0.style == .plain ? $0.text : "\u{1B}[\($0.style.codes)m\($0.text)\u{1B}[0m" }.joined()
  }

  /// What is sent for it: as much as fits, filled up with spaces in the last style.
  ///
  /// Terminals differ about some emoji. Each row is erased before and does not wrap, so that only itself
  /// looks odd then.
  func sequence(columns: Int) -> String {
    var (sequence, left) = ("", columns)
    for piece in pieces {
      sequence += "\u{1B}[\(piece.style.codes)m"
      for character in piece.text.compactMap(\.drawable) {
        guard character.columnCount <= left else { break }
        sequence.append(character)
        left -= character.columnCount
      }
    }
    return sequence + String(repeating: " ", count: left) + "\u{1B}[0m"
  }
}
