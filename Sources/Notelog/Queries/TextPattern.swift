// A text that is looked for in others: byte by byte, or without regard to case and accents.

import Foundation
import NotelogBase

/// A text that conditions look for.
struct TextPattern: Sendable {
  private let bytes: [UInt8]
  private let isFolded: Bool

  init(_ text: String, ignoringCaseAndAccents isFolded: Bool) {
    bytes = Array((isFolded ? Self.folded(text) : text).utf8)
    self.isFolded = isFolded
  }

  /// Whether a text has this one in it, or at its beginning. Of a text in ASCII, no string is made.
  ///
  /// - Throws: `damaged` where the bytes to be folded are no text.
  func isIn(_ value: RawSpan, atStart: Bool = false) throws -> Bool {
    guard isFolded else { return value.contains(bytes.rawSpan) }
    guard let text = try? UTF8Span(validating: Span(_bytes: value)) else {
      throw NotelogError(.damaged, "a text value is not UTF-8")
    }
    if text.isKnownASCII { return isIn(folded: value, atStart) }
    return Self.folded(String(copying: text)).withUTF8Bytes { isIn(folded: $0, atStart) }
  }

  /// The same of a text that is folded but for capital letters of ASCII.
  private func isIn(folded text: RawSpan, _ atStart: Bool) -> Bool {
    guard text.byteCount >= bytes.count else { return false }
    for start in 0...(atStart ? 0 : text.byteCount - bytes.count) {
      var offset = 0
      while offset < bytes.count, text.byte(at: start + offset).lowercasedASCII == bytes[offset] {
        offset += 1
      }
      if offset == bytes.count { return true }
    }
    return false
  }

  /// What all texts have in common that differ in case and accents only, or in how a letter is composed.
  private static func folded(_ text: String) -> String {
    text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
      .precomposedStringWithCanonicalMapping
  }
}
