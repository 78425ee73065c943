// A record's identity: 16 bytes (FORMAT.md 7).

import NotelogFormat
public import Foundation
import NotelogJournal

/// A record's identity: 16 bytes, random unless the app brings its own.
///
/// An id is kept for the record's whole life: updates, compaction, backup and restore don't change it. It is one record's in the
/// whole store, whatever its type: a record of another type under the same id is refused with `conflict`, and what belongs to
/// a record has an id of its own, and a field that says whose it is. Once a record is deleted, its id is free for any type; a
/// transaction later, not in the same.
public struct RecordID: Hashable, Sendable, BitwiseCopyable {
  let high: UInt64
  let low: UInt64

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Creates a random id.
  ///
  /// 128 bits from the system's generator: two ids meet by chance about as often as two UUIDs.
  public init() {
    // One number of 128 bits is one call of the system, two of 64 are two.
    var generator = SystemRandomNumberGenerator()
    let bits = generator.next() as UInt128
    self.init(high: UInt64(truncatingIfNeeded: bits >> 64), low: UInt64(truncatingIfNeeded: bits))
  }

  /// Creates the id whose bytes are the UUID's.
  public init(_ uuid: UUID) {
    let b = uuid.uuid
    self.init(
      high: Self.word(b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7),
      low: Self.word(b.8, b.9, b.10, b.11, b.12, b.13, b.14, b.15))
  }

  /// Parses 32 hexadecimal digits, hyphens between them ignored.
  public init?(_ text: some StringProtocol) {
    var words: (high: UInt64, low: UInt64) = (0, 0)
    var count = 0
    for character in text where character != "-" {
      guard character.isASCII, let digit = character.hexDigitValue, count < 32 else { return nil }
      if count < 16 {
        words.high = words.high << 4 | UInt64(digit)
      } else {
        words.low = words.low << 4 | UInt64(digit)
      }
      count += 1
    }
    guard count == 32 else { return nil }
    self.init(high: words.high, low: words.low)
  }

  /// The id as a UUID of the same bytes.
  public var uuid: UUID {
    func byte(_ word: UInt64, _ index: UInt64) -> UInt8 {
      UInt8(truncatingIfNeeded: word >> (56 - 8 * index))
    }
    return UUID(
      uuid: (
        byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5),
        byte(high, 6),
        byte(high, 7), byte(low, 0), byte(low, 1), byte(low, 2), byte(low, 3), byte(low, 4), byte(low, 5),
        byte(low, 6), byte(low, 7)
      ))
  }

  private static func word(
    _ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8, _ e: UInt8, _ f: UInt8, _ g: UInt8, _ h: UInt8
  ) -> UInt64 {
    let upper = UInt64(a) << 56 | UInt64(b) << 48 | UInt64(c) << 40 | UInt64(d) << 32
    return upper | UInt64(e) << 24 | UInt64(f) << 16 | UInt64(g) << 8 | UInt64(h)
  }
}

extension RecordID: CustomStringConvertible, LosslessStringConvertible {
  /// 32 lower-case hexadecimal digits.
  public var description: String { Self.hexadecimal(high) + Self.hexadecimal(low) }

  private static func hexadecimal(_ word: UInt64) -> String {
    let digits = String(word, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
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
    left.high == right.high ? left.low < right.low : left.high < right.high
  }
}

extension RecordID {
  /// The id as the journal takes it.
  var key: RecordKey { RecordKey(low: high.byteSwapped, high: low.byteSwapped) }

  init(_ key: RecordKey) { self.init(high: key.low.byteSwapped, low: key.high.byteSwapped) }
}
