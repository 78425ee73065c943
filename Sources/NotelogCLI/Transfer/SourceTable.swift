// A table of something else, as `import --from` takes it: columns whose types are known, and rows in an order that stays.
import Notelog

/// Rows that can be gone through as often as one likes.
protocol SourceTable {
  /// What the collection is called where nobody says otherwise.
  var name: String { get }
  /// What tells this table from others of its kind.
  var identity: String { get }
  /// Its columns; who knows the fields that take them says so here, before rows are asked for.
  var columns: [SourceColumn] { get set }
  /// The columns that are not taken.
  var dropped: [String] { get }
  /// How many rows there are.
  var rowCount: Int { get }
  /// Goes through all rows: a number that is the row's own, and a value of its type for each column, or none where it is optional.
  func forEachRow(_ body: (Int64, [DynamicValue]) throws(ToolError) -> Void) throws(ToolError)
}

extension SourceTable {
  var dropped: [String] { [] }

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
    self.init(
      bytes: [high, low].flatMap { half in
        (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) }
      })
  }

  /// The first eight bytes.
  var high: UInt64 { byteArray.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }

  /// The last eight.
  var low: UInt64 { byteArray.suffix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}
