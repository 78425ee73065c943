// Saying how a query is answered, without asking it.

extension Query {
  /// How the query would be answered now. An index that it would make is made.
  ///
  /// ```swift
  /// print(try store.query(Note.self).where(\.time, in: lastWeek...).explain())
  /// ```
  ///
  /// - Returns: The plan, whose description says it in words.
  /// - Throws: `notFound` where a condition or the order names no field; `damaged` and others as they are
  ///   met.
  /// - Complexity: O(*n*) in the records of the collection where no index helps, or where one is made.
  public func explain() throws -> QueryPlan {
    try store.journal.checkOpen()
    let search = try search()
    let collection = search.plan
    var opened: [String] = []
    let tested = search.condition.fields
    let scanner = search.makeScanner()
    let places = try tested.map { try $0.field(scanner).index } + search.order.parts.map(\.index)
    for field in places.map(collection.field(at:)) where field.isSealed && !opened.contains(field.name) {
      opened.append(field.name)
    }
    let (run, candidates) = try search.way()
    let runs = run.map { [$0] } ?? candidates
    let direction = run.map { _ in search.order.direction }
    let candidateCount =
      try search.namedIDs?.count ?? runs?.entryCount ?? search.moment.recordCount(in: collection.number)
    var indexes = (runs ?? []).map { run in
      QueryPlan.Index(
        fields: run.name.fields.map(collection.name(ofIndexed:)), bounds: run.narrowing.words,
        direction: direction)
    }
    if let ids = search.namedIDs {
      indexes = [QueryPlan.Index(fields: ["id"], bounds: ["\(ids.count) ids"], direction: nil)]
    }
    return QueryPlan(
      collection: collection.schema.name, indexes: indexes, candidateCount: candidateCount,
      conditionCount: tested.count, openedFields: opened,
      sortsInMemory: !question.keys.isEmpty && direction == nil, limit: question.limit,
      threadCount: direction == nil ? question.partCount : 1)
  }
}

// MARK: - How a query is answered, as a value and in words.

/// How a query is answered: by which way it gets to the records, what it opens there, and what it has to
/// sort.
public struct QueryPlan: Sendable, Hashable, CustomStringConvertible {
  /// The part of a field's index that leads to the records.
  public struct Index: Sendable, Hashable {
    /// The field's name, or those of two fields, of which the second orders what the first leaves equal.
    public let fields: [String]
    /// The conditions on the first field that leave only a part, such as `5..<9`; all of the index where
    /// there are none.
    public let bounds: [String]
    /// The direction in which it is gone through, where that is the order asked for.
    public let direction: SortDirection?
  }

  /// The collection's name.
  public let collection: String
  /// The indexes that lead to the records, each record by one of them: several where one of several
  /// conditions has to hold. One of `id` where conditions name ids; none where all records of the collection
  /// are gone through.
  public let indexes: [Index]
  /// How many records are read at most; a limit may end it earlier.
  public let candidateCount: Int
  /// How many conditions each candidate is held against.
  public let conditionCount: Int
  /// The sealed fields that conditions and the order open, of each candidate that gets as far.
  public let openedFields: [String]
  /// Whether what is found is gathered in memory and sorted there.
  public let sortsInMemory: Bool
  /// How many records are wanted at most.
  public let limit: Int?
  /// How many threads share the work.
  public let threadCount: Int

  /// The plan in words. They contain the values that indexed fields are compared with.
  public var description: String {
    func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
    var parts = [way, counted(candidateCount, "candidate")]
    if conditionCount > 0 { parts.append(counted(conditionCount, "condition")) }
    parts.append("opens \(openedFields.isEmpty ? "nothing" : openedFields.joined(separator: ", "))")
    if sortsInMemory { parts.append("sorts in memory") }
    if let limit { parts.append("at most \(limit)") }
    if threadCount > 1 { parts.append("\(threadCount) threads") }
    return parts.joined(separator: "; ")
  }

  private var way: String {
    if indexes.isEmpty { return "all of \(collection)" }
    return indexes.map { index in
      let bounds = index.bounds.isEmpty ? "" : " from \(index.bounds.joined(separator: " and "))"
      let order = index.direction.map { ", \($0)" } ?? ""
      return "index on \(index.fields.joined(separator: ", then "))\(bounds)\(order)"
    }.joined(separator: ", or ")
  }
}
