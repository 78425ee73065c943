// The ordered indexes that queries ask for.

import NotelogBase
import NotelogCrypto
import NotelogFormat

extension Store {
  /// The ordered index of a field, made if there is none yet. nil where some record lacks the field, and where what is
  /// asked about came before the index was made: it knows no keys that were gone by then.
  ///
  /// - Complexity: O(*n*) the first time it is asked for, if the checkpoint doesn't hold it; else in what came after that.
  func index(
    _ name: FieldIndexes.Name, at moment: Snapshot, _ part: QueryPart? = nil
  ) throws -> OrderedIndex? {
    let made =
      try indexes.index(name)
      ?? indexes.make(name) { mayUseStored in
        if mayUseStored, let made = try journal.storedIndex(of: name) { return made }
        return try journal.index(of: name, at: journal.snapshot()) { try part?.check(at: $0) }
      }
    guard let made, made.since <= moment.sequence else { return nil }
    return made.index
  }

  /// What is walked where a field's index can't be read.
  func substitute(for name: FieldIndexes.Name, at moment: Snapshot) -> OrderSubstitute {
    OrderSubstitute { [indexes, journal] in
      indexes.distrust(name)
      guard let made = try journal.index(of: name, at: moment) else {
        throw NotelogError(.damaged, "the checkpoint has an ordered index of a field that records lack")
      }
      return made.index
    }
  }
}

extension RecordReader {
  /// The index that a condition asks, and where the records are in it that may satisfy it: the field's own, or that of its digests. nil where none
  /// helps.
  func lookup(
    _ condition: FieldCondition<R>
  ) -> (name: FieldIndexes.Name, ranges: [KeyRange], words: String)? {
    if let indexed = condition.indexed, let name = indexName(of: condition.path) {
      return (name, indexed.ranges, indexed.description)
    }
    guard plan.collection.hasDigests, let values = condition.values,
      let source = try? plan.index(of: condition.path),
      let digest = plan.collection.digest(of: source), let ranges = digestRanges(of: values, source)
    else { return nil }
    let number = plan.collection.fields[digest].number
    let words = values.count == 1 ? "one value" : "\(values.count) values"
    return (FieldIndexes.Name(collection: plan.collection.number, field: number), ranges, words)
  }

  /// Where digests of values are in their index; nil where a key is locked or gone under which there may be some: then all values are to be
  /// opened, as far as they can be.
  private func digestRanges(of values: [[UInt8]], _ source: Int) -> [KeyRange]? {
    var ranges: [KeyRange] = []
    for reference in plan.collection.fields[source].field.keys {
      guard let key = try? opener.vault.sealingKey(KeyReference(rawValue: reference)) else { return nil }
      for value in values {
        guard let digest = try? plan.collection.storedDigest(value.rawSpan, source, under: key) else {
          return nil
        }
        ranges.append(KeyRange(of: digest))
      }
    }
    return ranges
  }

  /// The index of two fields that records are sorted by, where both have one and the key of the first leaves room for the second.
  func indexName(of first: OrderKey<R>, _ second: OrderKey<R>) -> FieldIndexes.Name? {
    guard first.isThatOfKeys, second.isThatOfKeys, let name = indexName(of: first.path),
      let next = indexName(of: second.path), next != name,
      let index = plan.collection.index(of: name.field)
    else { return nil }
    let byteCount = plan.collection.fields[index].type.fixedByteCount
    guard byteCount ?? 0 < OrderedEntry.keyByteCount else { return nil }
    return FieldIndexes.Name(
      collection: name.collection, field: name.field,
      second: FieldIndexes.Name.Second(
        field: next.field, isReversed: first.direction != second.direction, followsText: byteCount == nil))
  }

  /// The index of a property's field, where it has one.
  ///
  /// Fields that became optional are left to a scan: records may have been written before, and their keys don't say that there is a
  /// value.
  func indexName(of path: PartialKeyPath<R>) -> FieldIndexes.Name? {
    guard plan.collection.isStored, let index = try? plan.index(of: path) else { return nil }
    let field = plan.collection.fields[index].field
    guard field.isIndexed, !field.isOptional || field.wasAlwaysOptional else { return nil }
    return FieldIndexes.Name(collection: plan.collection.schema.collection, field: field.number)
  }
}
