// Saying how a query is answered, without asking it.

extension Query {
  /// How the query would be answered now. An index that it would make is made.
  ///
  /// ```swift
  /// print(try store.query(Note.self).where(\.time, in: lastWeek...).explain())
  /// ```
  ///
  /// - Returns: The plan, whose description says it in words.
  /// - Throws: `notFound` where a condition or the order names no field; `damaged` and others as they are met.
  /// - Complexity: O(*n*) in the records of the collection where no index helps, or where one is made.
  public func explain() throws -> QueryPlan {
    try store.journal.checkOpen()
    let moment = moment ?? store.journal.snapshot()
    let reader = try store.reader(for: R.self)
    let collection = reader.plan.collection
    var opened: [String] = []
    let tested = conditions.flatMap(\.fields)
    for path in tested.map(\.path) + (order?.keys.map(\.path) ?? []) {
      let field = collection.fields[try reader.plan.index(of: path)]
      if field.isSealed, !opened.contains(field.field.name) { opened.append(field.field.name) }
    }
    var runs: [IndexRun] = []
    let candidateCount: Int
    var direction: SortDirection?
    switch try way(reader, moment) {
    case .scan:
      candidateCount = try moment.records(in: collection.number).count
    case .inOrder(let run):
      direction = order?.keys[0].direction
      runs = [run]
      candidateCount = run.count
    case .candidates(let found):
      runs = found
      candidateCount = found.reduce(0) { $0 + $1.count }
    }
    let indexes = runs.map { run in
      QueryPlan.Index(
        fields: run.name.fields.map { field in
          collection.name(ofIndexed: field)
        },
        bounds: run.bounds, direction: direction)
    }
    return QueryPlan(
      collection: collection.schema.name, indexes: indexes, candidateCount: candidateCount,
      conditionCount: tested.count, openedFields: opened,
      sortsInMemory: order != nil && direction == nil, limit: limit,
      threadCount: direction == nil ? partCount : 1)
  }
}
