// Making a field's ordered index from the records that there are.

import NotelogFormat
import NotelogBase

extension Journal {
  /// An index of what an order holds, and of the keys that came after; nil where something can't be read, or
  /// a record came without a key.
  func index(
    of name: OrderName, from order: StoredOrder, at moment: Snapshot
  ) throws -> FieldIndexes.Made? {
    guard order.since <= moment.sequence, var index = OrderedIndex(order),
      var entries = try listedKeys(of: name, at: moment, behind: order)
    else { return nil }
    // One after another, those that go into the same block.
    entries.sort()
    for entry in entries where !index.insert(entry) { return nil }
    return FieldIndexes.Made(index: index, since: moment.sequence, isStored: true)
  }

  /// An index of the keys that all records of a collection have in a field; nil where one lacks it.
  ///
  /// - Parameters:
  ///   - name: The field.
  ///   - moment: The moment.
  ///   - check: Called with the number of each key; what it throws ends the making.
  /// - Returns: The index.
  /// - Throws: What `check` throws; `inputOutput` where the system fails.
  func index(
    of name: OrderName, at moment: Snapshot, _ check: (Int) throws -> Void = { _ in }
  ) throws -> FieldIndexes.Made? {
    guard
      let entries = try listedKeys(of: name, at: moment, check)
        ?? scannedKeys(of: name, at: moment, check)
    else { return nil }
    return FieldIndexes.Made(index: OrderedIndex(entries), since: moment.sequence, isStored: false)
  }

  private func scannedKeys(
    of name: OrderName, at moment: Snapshot, _ check: (Int) throws -> Void
  ) throws -> [OrderedEntry]? {
    var entries: [OrderedEntry] = []
    var isComplete = true
    // An index that lacks what can't be read would hide that it is lost.
    try moment.scan(name.collection, damaged: { _ in isComplete = false }) { record in
      try check(entries.count)
      guard let entry = try OrderedEntry(keyOf: name, record.id, record.body.bytes) else {
        isComplete = false
        return false
      }
      entries.append(entry)
      return true
    }
    return isComplete ? entries : nil
  }

  /// The keys that the records' envelopes have, most of which stand together in footers. nil where one lacks
  /// the key, as it may be older than the index or not check, and where not all of them could be read. Behind
  /// an order, only of what came after it.
  private func listedKeys(
    of name: OrderName, at moment: Snapshot, behind order: StoredOrder? = nil,
    _ check: (Int) throws -> Void = { _ in }
  ) throws -> [OrderedEntry]? {
    var entries: [OrderedEntry] = []
    var failure: (any Error)?
    let isComplete = try moment.forEachEnvelope(in: name.collection, behind: order) { id, envelope in
      do { try check(entries.count) } catch { failure = error }
      guard failure == nil, let entry = OrderedEntry(keyOf: name, id, envelope: envelope) else {
        return false
      }
      entries.append(entry)
      return true
    }
    if let failure { throw failure }
    return isComplete ? entries : nil
  }
}

extension OrderedEntry {
  /// The entry that a record has in an index now; nil where it lacks a field.
  init?(keyOf name: OrderName, _ id: RecordID, _ body: RawSpan) throws(NotelogError) {
    guard var key = try SortKey.key(of: name.field, in: body) else { return nil }
    if let second = name.second {
      guard let next = try SortKey.key(of: second.field, in: body) else { return nil }
      key = name.key(key.rawSpan, next.rawSpan)
    }
    self.init(key: key.rawSpan, id)
  }

  /// The entry of which a record's envelope has the key; nil where it has none.
  init?(keyOf name: OrderName, _ id: ID16, envelope: RawSpan) {
    if name.second != nil {
      guard let key = name.key(in: envelope) else { return nil }
      self.init(key: key.rawSpan, RecordID(id))
      return
    }
    guard let key = Envelope.sortKey(of: name.field, in: envelope) else { return nil }
    self.init(key: envelope.extracting(key), RecordID(id))
  }
}

extension SortKey {
  /// The key that a record has in a plain field; nil where it lacks the field.
  fileprivate static func key(of field: UInt16, in body: RawSpan) throws(NotelogError) -> [UInt8]? {
    guard let entry = try RecordBody(checked: body).find(field), !entry.flags.contains(.sealed) else {
      return nil
    }
    let value = body.extracting(entry.range)
    return key(
      of: value, entry.type, isOptional: entry.flags.contains(.optional),
      byteCount: byteCount(ofValue: value.byteCount))
  }
}
