// The grammar of JSON documents (FORMAT.md 7.3).

import NotelogBase

/// Goes through bytes that may be one JSON text, as RFC 8259 has it. However deep that is, no function calls itself.
struct JSONGrammar {
  private let bytes: [UInt8]
  private var offset = 0

  /// Whether bytes are a JSON text in UTF-8, without a byte order mark, and nothing else.
  static func holds(for bytes: [UInt8]) -> Bool {
    var grammar = JSONGrammar(bytes: bytes)
    return bytes.rawSpan.text() != nil && grammar.acceptDocument()
  }

  private mutating func acceptDocument() -> Bool {
    // What ends the arrays and objects that are open.
    var ends: [String] = []
    while true {
      skipSpace()
      if accept("[") {
        if !accept(spaced: "]") {
          ends.append("]")
          continue
        }
      } else if accept("{") {
        if !accept(spaced: "}") {
          ends.append("}")
          guard acceptName() else { return false }
          continue
        }
      } else if !acceptScalar() {
        return false
      }
      while let end = ends.last, accept(spaced: end) { ends.removeLast() }
      guard let end = ends.last else { break }
      guard accept(","), end == "]" || acceptName() else { return false }
    }
    skipSpace()
    return offset == bytes.count
  }

  /// Steps over the next byte, if it is one of some.
  private mutating func accept(_ letters: String) -> Bool {
    guard offset < bytes.count, letters.utf8.contains(bytes[offset]) else { return false }
    offset += 1
    return true
  }

  private mutating func accept(spaced letters: String) -> Bool {
    skipSpace()
    return accept(letters)
  }

  private mutating func skipSpace() { while accept(" \t\n\r") {} }

  private mutating func acceptName() -> Bool {
    skipSpace()
    return accept("\"") && acceptRestOfString() && accept(spaced: ":")
  }

  private mutating func acceptScalar() -> Bool {
    if accept("\"") { return acceptRestOfString() }
    for word in ["true", "false", "null"] where bytes[offset...].starts(with: word.utf8) {
      offset += word.utf8.count
      return true
    }
    _ = accept("-")
    guard accept("0") || acceptDigits() else { return false }
    if accept("."), !acceptDigits() { return false }
    guard accept("eE") else { return true }
    _ = accept("+-")
    return acceptDigits()
  }

  private mutating func acceptDigits() -> Bool {
    let start = offset
    while accept("0123456789") {}
    return offset > start
  }

  private mutating func acceptRestOfString() -> Bool {
    while offset < bytes.count {
      let byte = bytes[offset]
      offset += 1
      if byte == UInt8(ascii: "\"") { return true }
      if byte < 0x20 { return false }
      guard byte == UInt8(ascii: "\\") else { continue }
      if accept("u") {
        for _ in 0..<4 { guard accept("0123456789abcdefABCDEF") else { return false } }
      } else if !accept("\"\\/bfnrt") {
        return false
      }
    }
    return false
  }
}
