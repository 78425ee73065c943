// The ordered indexes that queries ask for.

import NotelogBase
import NotelogCrypto

extension Store {
  /// The ordered index of a field, made if there is none yet. nil where some record lacks the field, and
  /// where what is asked about came before the index was made: it knows no keys that were gone by then.
  ///
  /// - Complexity: O(*n*) the first time it is asked for, if the checkpoint doesn't hold it; else in what
  ///   came after that.
  func index(
    _ name: OrderName, at moment: Snapshot, _ part: QueryPart? = nil
  ) throws -> OrderedIndex? {
    let made =
      try indexes.index(name)
      ?? indexes.make(name) { mayUseStored in
        let order = mayUseStored ? journal.storedOrder(name) : nil
        let now = journal.snapshot()
        if let order, let made = try journal.index(of: name, from: order, at: now) { return made }
        return try journal.index(of: name, at: now) { try part?.check(at: $0) }
      }
    guard let made, made.since <= moment.sequence else { return nil }
    return made.index
  }

  /// What is walked where a field's index can't be read.
  func substitute(for name: OrderName, at moment: Snapshot) -> OrderSubstitute {
    let substitute = Lock<OrderedIndex?>(nil)
    return { [indexes, journal] in
      try substitute.withLock { substitute in
        if let substitute { return substitute }
        indexes.distrust(name)
        guard let made = try journal.index(of: name, at: moment) else {
          throw NotelogError(.damaged, "the checkpoint has an ordered index of a field that records lack")
        }
        substitute = made.index
        return made.index
      }
    }
  }
}

extension Search {
  /// The index that a condition asks, and where the records are in it that may satisfy it: the field's own,
  /// or that of its digests. nil where none helps.
  func lookup(_ condition: FieldCondition) -> (name: OrderName, ranges: [KeyRange], words: String)? {
    guard let keys = condition.keys, let place = try? condition.field(makeScanner()) else { return nil }
    let field = plan.field(at: place.index)
    guard field.type == keys.type else { return nil }
    if !keys.ignoresCase, let name = plan.indexName(of: place.index) {
      return (name, keys.ranges(isOptional: field.isOptional), keys.words)
    }
    guard plan.isStored, let digest = plan.digest(of: place.index),
      plan.fields[digest].ignoresCase || !keys.ignoresCase,
      let values = keys.values(isOptional: field.isOptional),
      let ranges = digestRanges(of: values, place.index)
    else { return nil }
    let name = OrderName(collection: plan.number, field: plan.fields[digest].number)
    return (name, ranges, values.count == 1 ? "one value" : "\(values.count) values")
  }

  /// Where digests of values are in their index; nil where a key is locked or gone under which there may be
  /// some: then all values are to be opened, as far as they can be.
  private func digestRanges(of values: [[UInt8]], _ source: Int) -> [KeyRange]? {
    var ranges: [KeyRange] = []
    for reference in plan.fields[source].keys {
      guard let key = try? store.vault.sealingKey(KeyReference(rawValue: reference)) else { return nil }
      for value in values {
        guard let digest = try? plan.storedDigest(value.rawSpan, source, under: key) else { return nil }
        ranges.append(KeyRange(of: digest))
      }
    }
    return ranges
  }
}

extension CollectionPlan {
  /// The index of a field, where it has one.
  ///
  /// Fields that became optional are left to a scan: records may have been written before, and their keys
  /// don't say that there is a value.
  func indexName(of index: Int) -> OrderName? {
    let field = field(at: index)
    guard isStored, field.isIndexed, !field.isOptional || field.wasAlwaysOptional else { return nil }
    return OrderName(collection: number, field: field.number)
  }

  /// The index of two fields that records are sorted by, where both have one and the key of the first leaves
  /// room for the second.
  func indexName(of first: RecordOrder.Part, _ second: RecordOrder.Part) -> OrderName? {
    guard first.isByKeys, second.isByKeys, let name = indexName(of: first.index),
      let next = indexName(of: second.index), next != name
    else { return nil }
    let byteCount = first.field.type.fixedByteCount
    guard byteCount ?? 0 < OrderedEntry.keyByteCount else { return nil }
    return OrderName(
      collection: number, field: name.field,
      second: OrderName.Second(
        field: next.field, isReversed: first.direction != second.direction, followsText: byteCount == nil))
  }
}
