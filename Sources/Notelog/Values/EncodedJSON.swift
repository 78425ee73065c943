// Codable values, kept as JSON documents (FORMAT.md 7.3).

import NotelogBase
import Foundation

/// A JSON document: what stands for a `Codable` value.
///
/// Of two values that are equal, the documents are the same, byte for byte: keys are sorted, and nothing depends on the locale. (A `Set`, or a
/// dictionary whose keys are no text, is written in the order in which it happens to be.)
public struct EncodedJSON: FieldValue, StoredValue, Hashable {
  /// The type itself stands for its values.
  public typealias Stored = EncodedJSON

  /// The document in UTF-8.
  public let utf8: [UInt8]

  /// A document as it is.
  ///
  /// - Throws: `invalidArgument` where the bytes are not one JSON text as RFC 8259 has it, in UTF-8 and without a byte order mark.
  public init(utf8: [UInt8]) throws {
    guard JSONGrammar.holds(for: utf8) else { throw NotelogError(.invalidArgument, "this is not JSON") }
    self.utf8 = utf8
  }

  /// JSON.
  public static var fieldType: FieldType { .json }
  /// The document's bytes.
  public var storedByteCount: Int { utf8.count }
  /// Writes the document.
  public func store(into bytes: inout MutableRawSpan) { bytes.copy(utf8.rawSpan) }
  /// Reads the document, and refuses what isn't one.
  public init(loading bytes: RawSpan) throws {
    utf8 = bytes.array()
    guard JSONGrammar.holds(for: utf8) else { throw NotelogError(.damaged, "a JSON value is not JSON") }
  }
}

extension EncodedJSON {
  /// The document of a value.
  init(encoding value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // JSON has no number for these; without this a Double.nan in a value would make it unstorable.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    utf8 = [UInt8](try encoder.encode(value))
  }

  /// The value that the document describes. A document that is longer than a record, or nested too deeply for the decoder, is refused.
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
