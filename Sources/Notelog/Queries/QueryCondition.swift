// One condition of a query.

/// What must be so of a field for a record to be found.
struct QueryCondition<R: Record>: Sendable {
  /// A condition as one thread asks it: what does not change from record to record was looked up.
  typealias Bound = (ScannedRecord) throws -> Bool

  let path: any PartialKeyPath<R> & Sendable
  /// What an index of the field makes of the condition; nil where it can't help.
  let indexed: IndexedCondition?
  /// Makes the condition ready for a scanner.
  let bind: @Sendable (RecordScanner<R>) throws -> Bound
}

extension Query {
  /// The conditions, ready for a scanner; they all have to hold.
  func bound(to scanner: RecordScanner<R>) throws -> QueryCondition<R>.Bound {
    let conditions = try conditions.map { try $0.bind(scanner) }
    return { record in
      for condition in conditions where try !condition(record) { return false }
      return true
    }
  }
}
