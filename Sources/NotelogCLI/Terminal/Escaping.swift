// Stored text made safe to show: no control character reaches a terminal.

enum Escaping {
  /// Stored text for one line of output: control characters, line ends too, as `\n`, `\u{1B}`. What programs
  /// read is JSON.
  static func line(_ text: String) -> String { escaped(text) { isUnsafe($0) ? spelled($0) : nil } }

  /// Stored text for a value between tabs: as a line, and a backslash is `\\`, so that it can be read back.
  static func cell(_ text: String) -> String { line(text.replacing("\\", with: "\\\\")) }

  /// Whether a text has control characters, which no name may have: programs that read one take them for
  /// something else.
  static func hasControls(_ text: String) -> Bool {
    text.unicodeScalars.contains { $0.properties.generalCategory == .control }
  }

  /// Text of several lines: line ends and tabs stay.
  static func text(_ text: String) -> String {
    escaped(text) { isUnsafe($0) && $0 != "\n" && $0 != "\t" ? spelled($0) : nil }
  }

  /// A text in which each scalar is as `spelling` has it, or stays where that is nil.
  static func escaped(_ text: String, _ spelling: (Unicode.Scalar) -> String?) -> String {
    guard text.unicodeScalars.contains(where: { spelling($0) != nil }) else { return text }
    let bytes = text.unicodeScalars.reduce(into: [UInt8]()) { bytes, scalar in
      if let spelled = spelling(scalar) { bytes += spelled.utf8 } else { bytes += scalar.utf8 }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Control characters, and those that turn the direction of writing or break lines.
  static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  static func spelled(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\n": "\\n"
    case "\r": "\\r"
    case "\t": "\\t"
    default: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
    }
  }
}
