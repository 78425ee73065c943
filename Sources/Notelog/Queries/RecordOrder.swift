// Sorting what a query finds, by one field or by several.

import Foundation
import NotelogBase

/// Which of two comes first.
enum Precedence: Sendable {
  case before
  case same
  case after
}

/// A field that records are sorted by, its type left out.
struct OrderKey<R: Record>: Sendable {
  let path: any PartialKeyPath<R> & Sendable
  let direction: SortDirection
  /// Whether sort keys have the same order as values.
  let isThatOfKeys: Bool
}

/// The order of a query's records: what they are sorted by is known to the compiler, however many fields it is.
protocol RecordOrder<R>: Sendable {
  associatedtype R: Record
  /// The values that a record is sorted by.
  associatedtype Value: Sendable

  /// The fields, the first one first.
  var keys: [OrderKey<R>] { get }

  /// What a record is sorted by.
  func value(of entry: ScannedEntry<R>) throws -> Value

  /// The values as plain fields have them.
  func encode(_ value: Value) throws -> [[UInt8]]

  /// Takes the values off the beginning of such a list.
  func decode(_ stored: inout ArraySlice<[UInt8]>) throws -> Value

  /// Which of two records with these values comes first, in the directions asked for.
  func compare(_ left: Value, _ right: Value) -> Precedence
}

/// The order by one field.
struct FieldOrder<R: Record, Value: FieldValue>: RecordOrder {
  let path: FieldKeyPath<R, Value>
  let direction: SortDirection
  let order: ValueOrder<Value>

  var keys: [OrderKey<R>] { [OrderKey(path: path, direction: direction, isThatOfKeys: order.isThatOfKeys)] }

  func value(of entry: ScannedEntry<R>) throws -> Value { try entry.value(of: path) }

  func encode(_ value: Value) throws -> [[UInt8]] { [try value.stored.storedBytes] }

  func decode(_ stored: inout ArraySlice<[UInt8]>) throws -> Value {
    guard let bytes = stored.popFirst() else { throw NotelogError(.invalidArgument, "a value is missing") }
    return try Value(stored: Value.Stored(loading: bytes.rawSpan))
  }

  func compare(_ left: Value, _ right: Value) -> Precedence {
    if order.precedes(left, right) { return direction == .ascending ? .before : .after }
    if order.precedes(right, left) { return direction == .ascending ? .after : .before }
    return .same
  }
}

/// An order, and by another field where that leaves records equal.
struct ChainedOrder<First: RecordOrder, Value: FieldValue>: RecordOrder {
  let first: First
  let next: FieldOrder<First.R, Value>

  var keys: [OrderKey<First.R>] { first.keys + next.keys }

  func value(of entry: ScannedEntry<First.R>) throws -> (First.Value, Value) {
    (try first.value(of: entry), try next.value(of: entry))
  }

  func encode(_ value: (First.Value, Value)) throws -> [[UInt8]] {
    try first.encode(value.0) + next.encode(value.1)
  }

  func decode(_ stored: inout ArraySlice<[UInt8]>) throws -> (First.Value, Value) {
    (try first.decode(&stored), try next.decode(&stored))
  }

  func compare(_ left: (First.Value, Value), _ right: (First.Value, Value)) -> Precedence {
    let precedence = first.compare(left.0, right.0)
    return precedence == .same ? next.compare(left.1, right.1) : precedence
  }
}

extension RecordOrder {
  /// This order, and by another field where it leaves records equal.
  func then<Value: FieldValue>(_ next: FieldOrder<R, Value>) -> any RecordOrder<R> {
    ChainedOrder(first: self, next: next)
  }

  /// A query's records in order, no more of them kept than are wanted.
  func collect(
    _ query: Query<R>, on way: QueryWay, _ reader: RecordReader<R>, _ moment: Snapshot
  ) throws -> [Entry<R>] {
    if case .inOrder(let run) = way { return try walk(run, query, reader, moment) }
    let parts = try query.inParts { part in
      var best = FirstEntries<Value, Entry<R>>(limit: query.wantedCount, by: compare)
      try query.forEach(on: way, reader, moment, part: part) { entry in
        guard let value = try query.reading(entry.id, { try self.value(of: entry) }) else { return true }
        if best.accepts(value, entry.id) { best.insert(value, entry.id, try entry.entry()) }
        return true
      }
      return best
    }
    var best = parts[0]
    for other in parts.dropFirst() { best.merge(other) }
    return best.sorted()
  }

  /// Goes through an index that has the order, and reads no more records than it must.
  private func walk(
    _ run: IndexRun, _ query: Query<R>, _ reader: RecordReader<R>, _ moment: Snapshot
  ) throws -> [Entry<R>] {
    let wanted = query.wantedCount
    var candidates = try CandidateReader(query, run, reader, moment, .whole)
    var found: [Entry<R>] = []
    try run.forEachGroup(keys[0].direction) { group in
      if group.count == 1 || run.isExact {
        // Nothing to be sorted: so it is with nearly all values.
        for entry in group {
          if let entry = try candidates.read(entry, { try $0.entry() }) { found.append(entry) }
          if found.count == wanted { return false }
        }
        return true
      }
      // Entries that tie may have different values, where those are long, and are sorted by other fields.
      var best = FirstEntries<Value, Entry<R>>(limit: wanted.map { $0 - found.count }, by: compare)
      for entry in group {
        _ = try candidates.read(entry) { candidate in
          guard let value = try query.reading(entry.id, { try self.value(of: candidate) }) else { return }
          best.insert(value, entry.id, try candidate.entry())
        }
      }
      found += best.sorted()
      return found.count != wanted
    }
    candidates.finish()
    return found
  }
}

// MARK: - A place in the order of a query, where its next page begins.

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
