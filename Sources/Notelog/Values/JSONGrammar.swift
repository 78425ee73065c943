// Codable values, kept as JSON documents (FORMAT.md 7.3).

import Foundation
import NotelogBase

/// A JSON document: what stands for a `Codable` value.
///
/// Of two values that are equal, the documents are the same, byte for byte: keys are sorted, and nothing
/// depends on the locale. (A `Set`, or a dictionary whose keys are no text, is written in the order in which
/// it happens to be.)
public struct EncodedJSON: StoredValue, Hashable {
  /// The document in UTF-8.
  public let utf8: [UInt8]

  /// A document as it is.
  ///
  /// - Throws: `invalidArgument` where the bytes are not one JSON text as RFC 8259 has it, in UTF-8 and
  ///   without a byte order mark.
  public init(utf8: [UInt8]) throws {
    guard JSONGrammar.holds(for: utf8) else { throw NotelogError(.invalidArgument, "this is not JSON") }
    self.utf8 = utf8
  }

  /// JSON.
  public static var fieldType: FieldType { .json }
  /// The document's bytes.
  public var _storedByteCount: Int { utf8.count }
  /// Writes the document.
  public func _store(into bytes: inout MutableRawSpan) { bytes.copy(utf8.rawSpan) }
  /// Reads the document, and refuses what isn't one.
  public init(_loading bytes: RawSpan) throws {
    utf8 = bytes.array()
    guard JSONGrammar.holds(for: utf8) else { throw NotelogError(.damaged, "a JSON value is not JSON") }
  }

  /// The document of a value.
  init(encoding value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // JSON has no number for these; without this a Double.nan in a value would make it unstorable.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    utf8 = [UInt8](try encoder.encode(value))
  }

  /// The value that the document describes. A document that is longer than a record, or nested too deeply for
  /// the decoder, is refused.
  func decoded<Value: Decodable>(as type: Value.Type) throws(NotelogError) -> Value {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    guard utf8.count <= Limits.recordBytes, let value = try? decoder.decode(type, from: Data(utf8)) else {
      // The decoder's own words may quote the value, which may have been sealed.
      throw NotelogError(.typeMismatch, "the stored JSON is not a \(type)")
    }
    return value
  }
}

extension FieldValue where Self: Codable {
  /// The value's JSON document, its keys sorted.
  public var stored: EncodedJSON { get throws { try EncodedJSON(encoding: self) } }

  /// The value that the document describes.
  public init(stored: EncodedJSON) throws { self = try stored.decoded(as: Self.self) }
}

// MARK: - The grammar of JSON documents (FORMAT.md 7.3).

/// Goes through bytes that may be one JSON text, as RFC 8259 has it. However deep that is, no function calls
/// itself.
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
