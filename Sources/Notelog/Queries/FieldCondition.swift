// One condition of a query on one field.

import NotelogBase

/// What must be so of a field for a record to be found.
struct FieldCondition<R: Record>: Sendable {
  let path: any PartialKeyPath<R> & Sendable
  /// What an index of the field makes of the condition; nil where it can't help.
  let indexed: IndexedCondition?
  /// The values of which the field has one, as they are stored; nil where the condition says something else.
  let values: [[UInt8]]?
  /// Makes the condition ready for a scanner.
  let bind: @Sendable (RecordScanner<R>) throws -> QueryCondition<R>.Bound

  /// A condition that looks at a record's bytes.
  init(
    _ path: any PartialKeyPath<R> & Sendable, indexed: IndexedCondition?, values: [[UInt8]]? = nil,
    bind: @escaping @Sendable (RecordScanner<R>) throws -> QueryCondition<R>.Bound
  ) {
    self.path = path
    self.indexed = indexed
    self.values = values
    self.bind = bind
  }

  /// A condition that looks at a value.
  init(
    _ path: any PartialKeyPath<R> & Sendable, _ indexed: IndexedCondition? = nil, values: [[UInt8]]? = nil,
    _ holds: @escaping @Sendable (ScannedEntry<R>) throws -> Bool
  ) {
    self.init(path, indexed: indexed, values: values) { scanner in
      { record in try holds(ScannedEntry(record, scanner)) }
    }
  }

  /// A condition that looks at the bytes of a text, which may be optional.
  init<Value: FieldValue>(
    textOf path: FieldKeyPath<R, Value>, _ indexed: IndexedCondition? = nil,
    _ holds: @escaping @Sendable (RawSpan) -> Bool
  ) {
    self.init(path, indexed: indexed) { scanner in
      let index = try scanner.reader.plan.index(of: path)
      let isOptional = Value.Stored.isOptional
      // What a record has that lacks the field.
      let initial = try scanner.reader.plan.prototype[keyPath: path].stored as? String
      let isInitial = initial.map { $0.withUTF8Bytes(holds) } ?? false
      return { record in
        try scanner.text(in: index, isOptional: isOptional, of: record, holds) ?? isInitial
      }
    }
  }
}
