// What an order is of, and the key that it has of a record: docs/format-derived.md §32.

import NotelogFormat
import NotelogBase

/// The field of a collection that an order is of, or the two fields.
struct OrderName: Hashable, Sendable {
  /// The field that records are ordered by where the first leaves them equal.
  struct Second: Hashable, Sendable {
    let field: UInt16
    /// Whether it goes down where the first goes up.
    let isReversed: Bool
    /// Whether keys of the first have no fixed length: then something says where they end.
    let followsText: Bool

    init(field: UInt16, isReversed: Bool, followsText: Bool) {
      self.field = field
      self.isReversed = isReversed
      self.followsText = followsText
    }
  }

  /// How much of a key an order holds.
  static let keyByteCount = 16

  let collection: UInt16
  let field: UInt16
  let second: Second?

  init(collection: UInt16, field: UInt16, second: Second? = nil) {
    self.collection = collection
    self.field = field
    self.second = second
  }

  /// The order of the first field alone.
  var first: OrderName { OrderName(collection: collection, field: field) }

  /// Its fields.
  var fields: [UInt16] { [field] + (second.map { [$0.field] } ?? []) }

  /// The beginning of the key of a record, out of the sort keys of its fields. Of the second field's there may be zeros behind it.
  func key(_ first: RawSpan, _ secondKey: RawSpan) -> [UInt8] {
    var key = beginning(first)
    if second?.followsText == true { key += [0, 0] }
    let start = min(key.count, Self.keyByteCount)
    for index in 0..<min(secondKey.byteCount, Self.keyByteCount - start) {
      key.append(secondKey.byte(at: index))
    }
    key += [UInt8](repeating: 0, count: Self.keyByteCount)
    key.removeLast(key.count - Self.keyByteCount)
    if second?.isReversed == true { for index in start..<key.count { key[index] = ~key[index] } }
    return key
  }

  /// What all keys begin with whose first field's sort key begins with some bytes.
  func beginning(_ first: RawSpan) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(2 * Self.keyByteCount)
    for index in 0..<min(first.byteCount, Self.keyByteCount) {
      key.append(first.byte(at: index))
      // Two zeros are an end.
      if second?.followsText == true, first.byte(at: index) == 0 { key.append(.max) }
    }
    return key
  }

  /// The beginning of the key that a record with an envelope has in an order of two fields; nil where the envelope lacks one.
  func key(ofTwoIn envelope: RawSpan) -> [UInt8]? {
    guard let second, let first = Envelope.sortKey(of: field, in: envelope),
      let next = Envelope.sortKey(of: second.field, in: envelope)
    else { return nil }
    return key(envelope.extracting(first), envelope.extracting(next))
  }
}
