// A place in the order of a query, where its next page begins.

import NotelogBase
import Foundation

/// A place behind a record in the order of a query: the values that the record is sorted by, and its id.
///
/// It holds wherever records are inserted, changed or deleted meanwhile, the record itself among them, and in later openings too. What it looks like
/// encoded is nobody's business, and may change.
///
/// It holds values of the record, and is as secret as they are: a cursor of an order by a sealed field can't be encoded.
public struct QueryCursor: Sendable, Hashable {
  /// A field that the record was sorted by, and its value there.
  struct Key: Sendable, Hashable {
    let field: UInt16
    let isDescending: Bool
    let isSealed: Bool
    /// The value as a plain field has it.
    let value: [UInt8]
  }

  /// No cursor has more keys.
  static let maximumKeyCount = 255
  private static let version: UInt8 = 1

  /// The collection's number.
  let collection: UInt16
  let keys: [Key]
  let id: RecordID

  private var bytes: [UInt8] {
    var bytes: [UInt8] = [Self.version, UInt8(keys.count)]
    bytes.append(littleEndian: collection)
    bytes += id.bytes.array
    for key in keys {
      bytes.append(littleEndian: key.field)
      bytes.append(littleEndian: (key.isDescending ? 1 : 0) as UInt8)
      bytes.append(littleEndian: UInt32(key.value.count))
      bytes += key.value
    }
    return bytes
  }
}

extension QueryCursor: Codable {
  /// Reads the bytes of a cursor; nil where they are none.
  private init?(_ bytes: RawSpan) {
    var place = 20
    guard bytes.byteCount >= place, bytes.byte(at: 0) == Self.version else { return nil }
    var keys: [Key] = []
    for _ in 0..<bytes.byte(at: 1) {
      guard bytes.byteCount - place >= 7 else { return nil }
      let byteCount = Int(bytes.load(UInt32.self, at: place + 3))
      guard byteCount <= bytes.byteCount - place - 7, bytes.byte(at: place + 2) < 2 else { return nil }
      keys.append(
        Key(
          field: bytes.load(UInt16.self, at: place), isDescending: bytes.byte(at: place + 2) == 1,
          isSealed: false, value: bytes.extracting(place + 7..<place + 7 + byteCount).array()))
      place += 7 + byteCount
    }
    guard place == bytes.byteCount else { return nil }
    collection = bytes.load(UInt16.self, at: 2)
    id = RecordID(ID16(bytes, at: 4))
    self.keys = keys
  }

  /// Decodes a cursor's text.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let bytes = Data(base64Encoded: try container.decode(String.self)),
      let cursor = QueryCursor(Array(bytes).rawSpan)
    else { throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a query's cursor") }
    self = cursor
  }

  /// Encodes a text.
  ///
  /// - Throws: `EncodingError` where the order is one by a sealed field: what opens it would stand in the text.
  public func encode(to encoder: any Encoder) throws {
    guard !keys.contains(where: \.isSealed) else {
      throw EncodingError.invalidValue(
        self,
        EncodingError.Context(
          codingPath: encoder.codingPath, debugDescription: "a cursor holds the value of a sealed field"))
    }
    var container = encoder.singleValueContainer()
    try container.encode(Data(bytes).base64EncodedString())
  }
}

extension QueryCursor: CustomStringConvertible, CustomReflectable {
  /// The record's id, and none of its values.
  public var description: String { "behind \(id)" }

  /// The record's id, and none of its values.
  public var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
