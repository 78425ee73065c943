// A record's identity: 16 bytes (FORMAT.md 7).

public import Foundation
import NotelogBase
import NotelogCrypto

/// A record's identity: 16 bytes, random unless the app brings its own.
///
/// An id is kept for the record's whole life: updates, compaction, backup and restore don't change it. It is
/// one record's in the whole store, whatever its type: a record of another type under the same id is refused
/// with `alreadyExists`, however it is written, and what belongs to a record has an id of its own, and a field
/// that says whose it is. Once a record is deleted, its id is free for any type; a transaction later, not in
/// the same. Ids are in the clear.
///
/// A property of this type is a field: a record names another of the same store by its id alone, 16 bytes,
/// indexed and asked for as any value is. Optional is best, as its initial value says that there is none. The
/// field says neither of which type the other record is nor whether it still is there: the app asks for it by
/// the type it knows, `store.get(Recipe.self, id)`, and gets nil where it is gone. What is kept outside of
/// the store, or may point into another one, is a URI: ``Store/reference(to:_:)``.
///
/// ```swift
/// struct Cooked: Record {
///   var id = RecordID()
///   var recipe: RecordID?
///   static let schema = Schema<Cooked>("cooked") { Plain("recipe", \.recipe, indexed: true) }
/// }
/// ```
public struct RecordID: Hashable, Sendable, BitwiseCopyable, LosslessStringConvertible {
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

  /// The id of what has a primary key of your own, a number: always the same, for this name and this key.
  ///
  /// ```swift
  /// let album = Album(id: try RecordID(of: row.albumNumber, in: "album"), title: row.title)
  /// ```
  ///
  /// Ids are unique in a store, whatever the type: name the table, so that album 7 and artist 7 have two. Ids
  /// are in the clear, and who can guess a key finds its id by trying: a key that is to stay secret gets a
  /// random id, and is a sealed field.
  ///
  /// - Parameters:
  ///   - key: The primary key.
  ///   - name: What has it: a table's name, for instance.
  /// - Throws: `inputOutput` where the cryptographic library fails.
  public init(of key: some BinaryInteger, in name: String) throws {
    try self.init(hashing: [name, "integer", "\(key)"])
  }

  /// The id of what has a primary key of your own, a text: always the same, for this name and this key. Texts
  /// are compared by their UTF-8 bytes; otherwise as the one of a number.
  public init(of key: String, in name: String) throws { try self.init(hashing: [name, "text", key]) }

  private init(hashing texts: [String]) throws {
    self.init(try naming("an id", ID16(hashing: texts, in: "NL1recid")))
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
  public static func < (left: RecordID, right: RecordID) -> Bool { left.number < right.number }

  /// The bytes as one number, the first of them on top.
  var number: UInt128 { UInt128(bytes.low.byteSwapped) << 64 | UInt128(bytes.high.byteSwapped) }
}
