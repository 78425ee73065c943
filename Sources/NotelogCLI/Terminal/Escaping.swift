// Stored text made safe to show: no control character reaches a terminal.

enum Escaping {
  /// Stored text for one line of output: control characters, line ends too, as `\n`, `\u{1B}`. What programs
  /// read is JSON.
  static func line(_ text: String) -> String { escaped(text, keeping: []) }

  /// Stored text for a value between tabs: as a line, and a backslash is `\\`, so that it can be read back.
  static func cell(_ text: String) -> String { line(text.replacing("\\", with: "\\\\")) }

  /// Whether a text has control characters, which no name may have: programs that read one take them for
  /// something else.
  static func hasControls(_ text: String) -> Bool {
    text.unicodeScalars.contains { $0.properties.generalCategory == .control }
  }

  /// Text of several lines: line ends and tabs stay.
  static func text(_ text: String) -> String { escaped(text, keeping: ["\n", "\t"]) }

  private static func escaped(_ text: String, keeping kept: Set<Unicode.Scalar>) -> String {
    guard text.unicodeScalars.contains(where: { isUnsafe($0) && !kept.contains($0) }) else { return text }
    return text.unicodeScalars.reduce(into: "") { safe, scalar in
      safe += isUnsafe(scalar) && !kept.contains(scalar) ? spelled(scalar) : String(scalar)
    }
  }

  /// Control characters, and those that turn the direction of writing or break lines.
  static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  private static func spelled(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\n": "\\n"
    case "\r": "\\r"
    case "\t": "\\t"
    default: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
    }
  }
}
