// A table of something else, as `import --from` takes it: columns whose types are known, and rows in an order that stays.
import Foundation
import Notelog

/// A column, and what all of its values are.
struct SourceColumn: Equatable, Sendable {
  var name: String
  var type: FieldType
  /// Whether some row has nothing there.
  var isOptional: Bool
}

/// Rows that can be gone through as often as one likes.
protocol SourceTable {
  /// What the collection is called where nobody says otherwise.
  var name: String { get }
  /// What tells this table from others of its kind.
  var identity: String { get }
  var columns: [SourceColumn] { get }
  /// How many rows there are.
  var rowCount: Int { get }
  /// Goes through all rows: a number that is the row's own, and a value for each column.
  func forEachRow(_ body: (Int64, [DynamicValue]) throws(ToolError) -> Void) throws(ToolError)
}

extension SourceTable {
  /// The first half of the ids of this table's records in a collection, the second being the row's number: always the same, so that an import
  /// that was interrupted knows what it has.
  func idPrefix(in collection: String) -> UInt64 {
    // FNV-1a: two tables whose prefixes are equal by chance would be noticed when counts are compared.
    (identity + "\n" + collection).utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
      | 1
  }
}

extension RecordID {
  init(high: UInt64, low: UInt64) {
    let bytes = [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) }
    }
    self.init(
      UUID(
        uuid: (
          bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9],
          bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
        )))
  }

  /// The first eight bytes.
  var high: UInt64 {
    let b = uuid.uuid
    return [b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7].reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// What values of one column are, found out value by value.
struct ColumnKinds: Sendable {
  var integers = 0
  var doubles = 0
  var booleans = 0
  var texts = 0
  var bytes = 0
  var documents = 0
  var nothing = 0
  /// How many of the integers are 0 or 1.
  var zerosAndOnes = 0

  /// The type that holds all of them: numbers become text beside text.
  func type(of column: String) throws(ToolError) -> FieldType {
    let others = integers + doubles + booleans + texts
    if bytes > 0 || documents > 0 {
      guard others == 0, bytes == 0 || documents == 0 else {
        throw ToolError(
          .failed, "the column '\(column)' holds \(bytes > 0 ? "bytes" : "lists or objects") and other values"
        )
      }
      return bytes > 0 ? .bytes : .json
    }
    if texts > 0 || booleans > 0 && integers + doubles > 0 { return .text }
    if booleans > 0 { return .boolean }
    return doubles > 0 ? .double : integers > 0 ? .integer : .text
  }
}
