// A record's identity: 16 bytes (FORMAT.md 7).

public import Foundation
import NotelogBase

/// A record's identity: 16 bytes, random unless the app brings its own.
///
/// An id is kept for the record's whole life: updates, compaction, backup and restore don't change it. It is one record's in the
/// whole store, whatever its type: a record of another type under the same id is refused with `conflict`, and what belongs to
/// a record has an id of its own, and a field that says whose it is. Once a record is deleted, its id is free for any type; a
/// transaction later, not in the same.
///
/// A property of this type is a field: a record names another of the same store by its id alone, 16 bytes, indexed and asked for as any value is.
/// Optional is best, as its initial value says that there is none. The field says neither of which type the other record is nor whether it still is
/// there: the app asks for it by the type it knows, `store.get(Recipe.self, id)`, and gets nil where it is gone. What is kept outside of
/// the store, or may point into another one, is a ``RecordReference``.
///
/// ```swift
/// struct Cooked: Record {
///   var id = RecordID()
///   var recipe: RecordID?
///   static let schema = Schema<Cooked>("cooked") { Plain("recipe", \.recipe, indexed: true) }
/// }
/// ```
public struct RecordID: Hashable, Sendable, BitwiseCopyable {
  let bytes: ID16

  init(_ bytes: ID16) { self.bytes = bytes }

  /// Creates a random id.
  ///
  /// 128 bits from the system's generator: two ids meet by chance about as often as two UUIDs.
  public init() {
    // One number of 128 bits is one call of the system, two of 64 are two.
    var generator = SystemRandomNumberGenerator()
    let bits = generator.next() as UInt128
    self.init(ID16(low: UInt64(truncatingIfNeeded: bits), high: UInt64(truncatingIfNeeded: bits >> 64)))
  }

  /// Creates the id whose bytes are the UUID's.
  public init(_ uuid: UUID) {
    let b = uuid.uuid
    self.init(
      ID16([
        b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7, b.8, b.9, b.10, b.11, b.12, b.13, b.14, b.15,
      ]))
  }

  /// Parses 32 hexadecimal digits, hyphens between them ignored.
  public init?(_ text: some StringProtocol) {
    var bytes: [UInt8] = []
    var upper: Int?
    for character in text where character != "-" {
      guard character.isASCII, let digit = character.hexDigitValue, bytes.count < 16 else { return nil }
      if let high = upper.take() { bytes.append(UInt8(high << 4 | digit)) } else { upper = digit }
    }
    guard bytes.count == 16, upper == nil else { return nil }
    self.init(ID16(bytes))
  }

  /// The id as a UUID of the same bytes.
  public var uuid: UUID {
    let b = bytes.array
    return UUID(
      uuid: (
        b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]
      ))
  }
}

extension RecordID: CustomStringConvertible, LosslessStringConvertible {
  /// 32 lower-case hexadecimal digits.
  public var description: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.array.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

extension RecordID: Codable {
  /// Decodes the hexadecimal text.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let id = RecordID(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a record id")
    }
    self = id
  }

  /// Encodes the hexadecimal text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

extension RecordID: Comparable {
  /// Orders ids by their bytes.
  public static func < (left: RecordID, right: RecordID) -> Bool {
    (left.bytes.low.byteSwapped, left.bytes.high.byteSwapped)
      < (right.bytes.low.byteSwapped, right.bytes.high.byteSwapped)
  }
}
