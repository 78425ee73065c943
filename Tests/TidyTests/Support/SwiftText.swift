// Swift source text without what is not code.

enum SwiftText {
  /// The text with comments and the insides of string literals replaced by spaces, line for line.
  static func code(_ text: String) -> String {
    var reader = Reader(text: Array(text.unicodeScalars))
    reader.readCode(untilParenthesis: false)
    return String(String.UnicodeScalarView(reader.output))
  }

  /// Walks over the text once; what is not code it blanks out.
  private struct Reader {
    let text: [Unicode.Scalar]
    var output: [Unicode.Scalar] = []
    var index = 0

    init(text: [Unicode.Scalar]) { self.text = text }

    func comes(_ string: String) -> Bool { text[index...].starts(with: string.unicodeScalars) }

    mutating func keep(_ count: Int = 1) {
      output += text[index..<min(index + count, text.count)]
      index += count
    }

    mutating func blank(_ count: Int = 1) {
      output += text[index..<min(index + count, text.count)].map { $0 == "\n" ? "\n" : " " }
      index += count
    }

    /// Code up to the end, or to the parenthesis that closes an interpolation.
    mutating func readCode(untilParenthesis: Bool) {
      var depth = 0
      while index < text.count {
        if comes("//") {
          while index < text.count, text[index] != "\n" { blank() }
        } else if comes("/*") {
          readComment()
        } else if text[index] == "\"" || text[index] == "#", let hashes = hashesBeforeQuote() {
          readString(hashes: hashes)
        } else if text[index] == "`" {
          readRawIdentifier()
        } else {
          if text[index] == "(" { depth += 1 }
          if text[index] == ")" {
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
      while index < text.count, text[index] != "`" { blank() }
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
      let hashes = text[index...].prefix { $0 == "#" }.count
      return index + hashes < text.count && text[index + hashes] == "\"" ? hashes : nil
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
  /// Whether the text holds `word` as a word of its own.
  func holds(word: String) -> Bool {
    var rest = self[...]
    while let range = rest.firstRange(of: word) {
      let before = rest[..<range.lowerBound].last
      let after = rest[range.upperBound...].first
      if !(before?.isWordPart ?? false), !(after?.isWordPart ?? false) { return true }
      rest = rest[range.upperBound...]
    }
    return false
  }
}

extension Character {
  fileprivate var isWordPart: Bool { isLetter || isNumber || self == "_" }
}
