// Codable values, kept as JSON documents (FORMAT.md 7.3).

import NotelogBase
import Foundation
import NotelogJournal

/// A JSON document: what stands for a `Codable` value.
public struct EncodedJSON: StoredValue, Hashable {
  /// The document in UTF-8.
  public let utf8: [UInt8]

  /// A document as it is; it isn't parsed here.
  public init(utf8: [UInt8]) { self.utf8 = utf8 }

  /// JSON.
  public static var fieldType: FieldType { .json }
  /// The document's bytes.
  public var storedByteCount: Int { utf8.count }
  /// Writes the document.
  public func store(into bytes: inout MutableRawSpan) { bytes.copy(utf8.rawSpan) }
  /// Reads the document.
  public init(loading bytes: RawSpan) throws { utf8 = bytes.array() }
}

extension FieldValue where Self: Codable {
  /// The value's JSON document, its keys sorted.
  public var stored: EncodedJSON {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      // JSON has no number for these; without this a Double.nan in a value would make it unstorable.
      encoder.nonConformingFloatEncodingStrategy = .convertToString(
        positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
      return EncodedJSON(utf8: [UInt8](try encoder.encode(self)))
    }
  }

  /// The value that the document describes.
  public init(stored: EncodedJSON) throws {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    do {
      self = try decoder.decode(Self.self, from: Data(stored.utf8))
    } catch {
      // The decoder's own words may quote the value, which may have been sealed.
      throw NotelogError(.typeMismatch, "the stored JSON is not a \(Self.self)")
    }
  }
}
