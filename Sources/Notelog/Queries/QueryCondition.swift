// One condition of a query.

/// What must be so of a field for a record to be found.
struct QueryCondition<R: Record>: Sendable {
  let path: any PartialKeyPath<R> & Sendable
  /// What an index of the field makes of the condition; nil where it can't help.
  let indexed: IndexedCondition?
  let holds: @Sendable (ScannedEntry<R>) throws -> Bool
}
