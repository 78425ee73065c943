// Sorting what a query finds, by one field or by several.

import NotelogBase

/// A field that records are sorted by, and how.
struct OrderKey: Sendable {
  let field: FieldReference
  let direction: SortDirection
  /// The type of the values where their sort keys have the same order; nil where ``comparison`` knows it, if
  /// there is one.
  fileprivate var type: FieldType?
  /// Compares values as Swift does.
  fileprivate var comparison: (@Sendable (Scanner) throws -> ValueComparison)?

  /// A field by its name, in the order of its sort keys.
  init(_ name: String, _ direction: SortDirection) {
    field = fieldReference(named: name)
    self.direction = direction
  }

  /// A field of a record type.
  init<R: Record, Value: Comparable & FieldValue>(_ path: FieldKeyPath<R, Value>, _ direction: SortDirection)
  {
    self.init(path, direction, by: comesBefore)
  }

  /// A field that may be nil, which comes before all values.
  init<R: Record, Value: Comparable & FieldValue>(
    _ path: FieldKeyPath<R, Value?>, _ direction: SortDirection
  ) {
    self.init(path, direction) { left, right in
      guard let right else { return false }
      guard let left else { return true }
      return comesBefore(left, right)
    }
  }

  private init<R: Record, Value: FieldValue>(
    _ path: FieldKeyPath<R, Value>, _ direction: SortDirection,
    by precedes: @escaping @Sendable (Value, Value) -> Bool
  ) {
    field = fieldReference(path)
    self.direction = direction
    type = hasOrderOfKeys(Value.self) ? Value.Stored.fieldType : nil
    comparison = { scanner in
      let reader = scanner.of(R.self).reader
      let access = reader.plan.slots[try reader.plan.slot(of: path)].definition.access
      @Sendable func value(_ bytes: RawSpan) throws -> Value {
        var record = reader.plan.prototype
        try access.decode(&record, bytes)
        return record[keyPath: path]
      }
      return { left, right in precedes(try value(left), try value(right)) }
    }
  }
}

/// The order of values; what is not equal to itself, as NaN, comes last.
@Sendable
private func comesBefore<Value: Comparable>(_ left: Value, _ right: Value) -> Bool {
  left < right || right != right && left == left
}

/// Whether a value comes before another, told by their bytes; throws where one is no value.
private typealias ValueComparison = @Sendable (RawSpan, RawSpan) throws -> Bool

/// The order of a search's records.
///
/// It compares the *keys* of records: of each field a length of four bytes and, where records that lack the
/// field have no value, a byte that says whether it is there; then the sort key, or the stored value where
/// only Swift's comparison knows the order.
struct RecordOrder: Sendable {
  /// A field that records are sorted by.
  struct Part: Sendable {
    let index: Int
    let field: StoredField
    let direction: SortDirection
    /// What records have that lack the field; nil where they have nothing, which comes first.
    fileprivate let initial: [UInt8]?
    fileprivate let comparison: ValueComparison?

    /// Whether sort keys have the order that is asked for.
    var isByKeys: Bool { comparison == nil }

    /// The sort key in a cursor's.
    func sortKey(of key: QueryCursor.Key) -> [UInt8] { isByName ? Array(key.value.dropFirst()) : key.value }

    /// Whether it is a field by its name: whoever knows no type has no initial value.
    fileprivate var isByName: Bool { initial == nil }

    /// Whether a key of a cursor is one that ``append(_:to:)`` makes: it may have come from anywhere.
    fileprivate func isKey(_ key: QueryCursor.Key) -> Bool {
      guard key.isOptional == field.isOptional else { return false }
      if let comparison { return (try? comparison(key.value.rawSpan, key.value.rawSpan)) != nil }
      if isByName {
        guard let marker = key.value.first, marker <= 1 else { return false }
        if marker == 0 { return key.value.count == 1 }
      }
      // A sort key has the length, the first byte and the text of its value.
      let value = sortKey(of: key)
      return (try? SortKey.check(value.rawSpan, field.type, isOptional: field.isOptional)) != nil
    }

    /// Appends what a value is sorted by.
    fileprivate func append(_ value: RawSpan, to key: inout [UInt8]) throws {
      if isByName { key.append(1) }
      guard let comparison else {
        return try SortKey.append(value, field.type, isOptional: field.isOptional, to: &key)
      }
      _ = try comparison(value, value)
      let start = key.count
      key.append(zeros: value.byteCount)
      key.withBytes(in: start..<key.count) { $0.copy(value) }
    }

    /// Appends what a record that lacks the field is sorted by: its initial value; by name, as one that has nil
    /// or, where there is no nil, before all others.
    fileprivate func appendMissing(to key: inout [UInt8]) throws {
      if let initial { return try append(initial.rawSpan, to: &key) }
      if field.isOptional { key.append(1) }
      key.append(0)
    }

    /// Which of two comes first, in ascending order.
    fileprivate func compare(_ left: RawSpan, _ right: RawSpan) -> Int {
      guard let comparison else { return left.compare(right) }
      if (try? comparison(left, right)) == true { return -1 }
      return (try? comparison(right, left)) == true ? 1 : 0
    }
  }

  private static let lengthByteCount = 4

  let parts: [Part]
  private let collection: UInt16

  /// The direction of the first field; that of ids where there is none.
  var direction: SortDirection { parts.first?.direction ?? .ascending }

  init(_ keys: [OrderKey], _ scanner: Scanner) throws {
    collection = scanner.plan.number
    parts = try keys.map { key in
      let place = try key.field(scanner)
      let field = scanner.plan.field(at: place.index)
      return Part(
        index: place.index, field: field, direction: key.direction, initial: place.initial,
        comparison: key.type == field.type ? nil : try key.comparison?(scanner))
    }
  }

  /// Appends a record's key.
  func append(_ record: ScannedRecord, _ scanner: Scanner, to key: inout [UInt8]) throws {
    for part in parts {
      let start = key.count
      key.append(zeros: Self.lengthByteCount)
      let isThere = try scanner.withValue(in: part.index, of: record) { value in
        try part.append(value, to: &key)
        return true
      }
      if isThere == nil { try part.appendMissing(to: &key) }
      let byteCount = UInt32(key.count - start - Self.lengthByteCount)
      key.withBytes(in: start..<start + Self.lengthByteCount) { $0.store(byteCount, at: 0) }
    }
  }

  /// Which of two records comes first by their keys: below zero for the left one, zero where neither does.
  func compare(_ left: RawSpan, _ right: RawSpan) -> Int {
    var (leftStart, rightStart) = (0, 0)
    for part in parts {
      let (leftRange, rightRange) = (Self.range(at: leftStart, left), Self.range(at: rightStart, right))
      let precedence = part.compare(left.extracting(leftRange), right.extracting(rightRange))
      if precedence != 0 { return part.direction == .ascending ? precedence : -precedence }
      (leftStart, rightStart) = (leftRange.upperBound, rightRange.upperBound)
    }
    return 0
  }

  private static func range(at start: Int, _ key: RawSpan) -> Range<Int> {
    let first = start + lengthByteCount
    return first..<first + Int(key.load(UInt32.self, at: start))
  }

  /// A place in this order.
  func cursor(at id: RecordID, _ key: [UInt8]) -> QueryCursor {
    var start = 0
    let keys = parts.map { part in
      let range = Self.range(at: start, key.rawSpan)
      start = range.upperBound
      return QueryCursor.Key(
        field: part.field.number, isDescending: part.direction == .descending, isSealed: part.field.isSealed,
        isOptional: part.field.isOptional, isByName: part.isByName, value: Array(key[range]))
    }
    return QueryCursor(collection: collection, keys: keys, id: id)
  }

  /// The key of the record that a cursor is behind.
  ///
  /// - Throws: `invalidArgument` where it is one of another order.
  func key(of cursor: QueryCursor) throws -> [UInt8] {
    guard !parts.isEmpty else {
      throw NotelogError(
        .invalidArgument,
        "this query has no order, and the cursor is of one that was sorted: sort it the same way")
    }
    let isSame =
      cursor.collection == collection && cursor.keys.count == parts.count
      && zip(cursor.keys, parts).allSatisfy { key, part in
        key.field == part.field.number && key.isDescending == (part.direction == .descending)
          && key.isByName == part.isByName
      }
    guard isSame else {
      throw NotelogError(.invalidArgument, "the cursor is of a query that was sorted otherwise")
    }
    var bytes: [UInt8] = []
    for (key, part) in zip(cursor.keys, parts) {
      guard part.isKey(key) else {
        throw NotelogError(.invalidArgument, "the cursor's values are none of the fields'")
      }
      bytes.append(littleEndian: UInt32(key.value.count))
      bytes += key.value
    }
    return bytes
  }
}

// MARK: - The first of a row that comes in any order.

/// The first records in an order, of those seen so far: no more than twice as many are kept as are wanted.
struct SortedRows: Sendable {
  /// A record's id, where its key is among those of all, and the record if it is kept.
  private typealias Row = (id: RecordID, range: Range<Int>, record: OwnedRecord?)

  private let order: RecordOrder
  private let limit: Int?
  /// The keys of the rows, one behind the other: none is allocated by itself.
  private var keys: [UInt8] = []
  private var rows: [Row] = []
  /// The last that is still among the first, once there are as many as are wanted.
  private var last: Row?

  init(_ order: RecordOrder, limit: Int?) {
    self.order = order
    self.limit = limit
  }

  /// Takes in a record if it is among the first.
  mutating func insert(_ record: ScannedRecord, _ scanner: Scanner, isKept: Bool) throws {
    let start = keys.count
    var isAmong = false
    defer { if !isAmong { keys.removeLast(keys.count - start) } }
    try order.append(record, scanner, to: &keys)
    var row: Row = (record.id, start..<keys.count, nil)
    if let last, !Self.isInOrder(row, last, keys, order) { return }
    if isKept { row.record = OwnedRecord(record) }
    rows.append(row)
    isAmong = true
    // Sorting when twice as many have gathered costs O(log limit) a record.
    if let limit, rows.count / 2 >= limit { cut(to: limit) }
  }

  mutating func merge(_ other: SortedRows) {
    for row in other.rows {
      let start = keys.count
      keys += other.keys[row.range]
      rows.append((row.id, start..<keys.count, row.record))
    }
  }

  mutating func sorted() -> [(id: RecordID, record: OwnedRecord?)] {
    cut(to: limit ?? rows.count)
    return rows.map { ($0.id, $0.record) }
  }

  private mutating func cut(to count: Int) {
    let (keys, order) = (keys, order)
    rows.sort { Self.isInOrder($0, $1, keys, order) }
    guard rows.count > count else { return }
    rows.removeLast(rows.count - count)
    self.keys = []
    for index in rows.indices {
      let start = self.keys.count
      self.keys += keys[rows[index].range]
      rows[index].range = start..<self.keys.count
    }
    last = rows.last
  }

  /// Whether a row comes before another; where neither does, the ids decide.
  private static func isInOrder(_ left: Row, _ right: Row, _ keys: [UInt8], _ order: RecordOrder) -> Bool {
    let all = keys.rawSpan
    let precedence = order.compare(all.extracting(left.range), all.extracting(right.range))
    return precedence < 0 || precedence == 0 && left.id < right.id
  }
}

// MARK: - A place in the order of a query, where its next page begins.

/// A place behind a record in the order of a query: the values that the record is sorted by, and its id.
///
/// It holds wherever records are inserted, changed or deleted meanwhile, the record itself among them, and in
/// later openings too. What it looks like encoded is nobody's business, and may change.
///
/// It holds values of the record, and is as secret as they are: a cursor of an order by a sealed field can't
/// be encoded.
public struct QueryCursor: Sendable, Hashable {
  /// A field that the record was sorted by, and its value there.
  struct Key: Sendable, Hashable, Codable {
    let field: UInt16
    let isDescending: Bool
    let isSealed: Bool
    let isOptional: Bool
    /// Whether the query knows fields by their names only.
    let isByName: Bool
    /// What the record is sorted by in the field.
    let value: [UInt8]
  }

  /// The collection's number.
  let collection: UInt16
  let keys: [Key]
  let id: RecordID
}

extension QueryCursor: Codable, CustomStringConvertible, CustomReflectable {
  /// Encodes what it holds.
  ///
  /// - Throws: `EncodingError` where the order is one by a sealed field: what opens it would stand in the
  ///   clear.
  public func encode(to encoder: any Encoder) throws {
    guard !keys.contains(where: \.isSealed) else {
      throw EncodingError.invalidValue(
        self,
        EncodingError.Context(
          codingPath: encoder.codingPath, debugDescription: "a cursor holds the value of a sealed field"))
    }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(collection, forKey: .collection)
    try container.encode(keys, forKey: .keys)
    try container.encode(id, forKey: .id)
  }

  /// The record's id, and none of its values.
  public var description: String { "behind \(id)" }

  /// The record's id, and none of its values.
  public var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
