// Swift source text without what is not code.

enum SwiftText {
  /// The text with comments and the insides of string literals replaced by spaces, line for line.
  static func code(_ text: String) -> String {
    var reader = Reader(text: Array(text.utf8))
    reader.readCode(untilParenthesis: false)
    return String(decoding: reader.output, as: UTF8.self)
  }

  /// Walks over the text once; what is not code it blanks out.
  private struct Reader {
    let text: [UInt8]
    var output: [UInt8] = []
    var index = 0

    init(text: [UInt8]) { self.text = text }

    func comes(_ string: String) -> Bool { text[index...].starts(with: string.utf8) }

    func comes(_ character: Unicode.Scalar) -> Bool { text[index] == UInt8(ascii: character) }

    mutating func keep(_ count: Int = 1) {
      output += text[index..<min(index + count, text.count)]
      index += count
    }

    mutating func blank(_ count: Int = 1) {
      output += text[index..<min(index + count, text.count)].map {
        $0 == UInt8(ascii: "\n") ? $0 : UInt8(ascii: " ")
      }
      index += count
    }

    /// Code up to the end, or to the parenthesis that closes an interpolation.
    mutating func readCode(untilParenthesis: Bool) {
      var depth = 0
      while index < text.count {
        if comes("//") {
          while index < text.count, !comes("\n") { blank() }
        } else if comes("/*") {
          readComment()
        } else if comes("\"") || comes("#"), let hashes = hashesBeforeQuote() {
          readString(hashes: hashes)
        } else if comes("`") {
          readRawIdentifier()
        } else {
          if comes("(") { depth += 1 }
          if comes(")") {
            if untilParenthesis, depth == 0 { return keep() }
            depth -= 1
          }
          keep()
        }
      }
    }

    /// A name in backquotes: no word of it is a keyword.
    mutating func readRawIdentifier() {
      keep()
      while index < text.count, !comes("`") { blank() }
      keep()
    }

    mutating func readComment() {
      var depth = 0
      repeat {
        if comes("/*") {
          depth += 1
          blank(2)
        } else if comes("*/") {
          depth -= 1
          blank(2)
        } else {
          blank()
        }
      } while depth > 0 && index < text.count
    }

    func hashesBeforeQuote() -> Int? {
      let hashes = text[index...].prefix { $0 == UInt8(ascii: "#") }.count
      return index + hashes < text.count && text[index + hashes] == UInt8(ascii: "\"") ? hashes : nil
    }

    mutating func readString(hashes: Int) {
      let marks = String(repeating: "#", count: hashes)
      keep(hashes)
      let quote = comes("\"\"\"") ? "\"\"\"" : "\""
      keep(quote.count)
      while index < text.count {
        if comes(quote + marks) { return keep(quote.count + hashes) }
        if comes("\\" + marks + "(") {
          blank(1 + hashes)
          keep()
          readCode(untilParenthesis: true)
        } else if comes("\\" + marks) {
          blank(2 + hashes)
        } else {
          blank()
        }
      }
    }
  }
}

extension String {
  /// The words of a line of code.
  var words: [String] { utf8.split { !$0.isWordPart }.map { String(decoding: $0, as: UTF8.self) } }

  /// Whether the text holds `word` as a word of its own.
  func holds(word: String) -> Bool {
    let (text, word) = (Array(utf8), Array(word.utf8))
    guard text.count >= word.count else { return false }
    return (0...text.count - word.count).contains { start in
      let end = start + word.count
      return text[start] == word[0] && text[start..<end].elementsEqual(word)
        && (start == 0 || !text[start - 1].isWordPart) && (end == text.count || !text[end].isWordPart)
    }
  }
}

extension UInt8 {
  /// Whether a byte of UTF-8 is part of a word: a letter, a digit or `_`.
  fileprivate var isWordPart: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 128...: true
    default: false
    }
  }
}
