// Conditions of a query, and what is made of them by and, or and not.

/// What must be so of a record for a query to find it: conditions on fields, joined by `&&`, `||` and `!`.
///
/// ```swift
/// let found = try store.query(Note.self)
///   .where(.field(\.folder, is: 3) || .field(\.time, in: lastWeek...) && !.field(\.name, hasPrefix: "Re: "))
///   .entries()
/// ```
///
/// Each condition on a field is also a method of ``Query`` (`where(\.folder, is: 3)`), whose conditions all have to hold. What is on the left is
/// asked first, and where that decides, what is on the right is not asked: put a condition on a sealed field, which has to be opened, last.
public struct QueryCondition<R: Record>: Sendable {
  /// A condition as one thread asks it: what does not change from record to record was looked up.
  typealias Bound = (ScannedRecord) throws -> Bool

  enum Node: Sendable {
    case field(FieldCondition<R>)
    /// All of them hold; so it is where there is none.
    case all([QueryCondition])
    /// One of them holds, at least.
    case any([QueryCondition])
    /// Not all of them hold.
    case notAll([QueryCondition])
  }

  let node: Node

  init(_ node: Node) { self.node = node }

  init(_ condition: FieldCondition<R>) { node = .field(condition) }

  /// Both conditions hold.
  public static func && (left: QueryCondition, right: QueryCondition) -> QueryCondition {
    func parts(_ condition: QueryCondition) -> [QueryCondition] {
      if case .all(let conditions) = condition.node { conditions } else { [condition] }
    }
    return QueryCondition(.all(parts(left) + parts(right)))
  }

  /// One of the conditions holds, or both do.
  public static func || (left: QueryCondition, right: QueryCondition) -> QueryCondition {
    func parts(_ condition: QueryCondition) -> [QueryCondition] {
      if case .any(let conditions) = condition.node { conditions } else { [condition] }
    }
    return QueryCondition(.any(parts(left) + parts(right)))
  }

  /// The condition doesn't hold.
  public static prefix func ! (condition: QueryCondition) -> QueryCondition {
    QueryCondition(.notAll([condition]))
  }

  /// The conditions on fields that it is made of.
  var fields: [FieldCondition<R>] {
    switch node {
    case .field(let condition): [condition]
    case .all(let conditions), .any(let conditions), .notAll(let conditions): conditions.flatMap(\.fields)
    }
  }

  /// The condition, ready for a scanner.
  func bound(to scanner: RecordScanner<R>) throws -> Bound {
    switch node {
    case .field(let condition): return try condition.bind(scanner)
    case .all(let conditions):
      let bound = try conditions.map { try $0.bound(to: scanner) }
      return { record in
        for condition in bound where try !condition(record) { return false }
        return true
      }
    case .any(let conditions):
      let bound = try conditions.map { try $0.bound(to: scanner) }
      return { record in
        for condition in bound where try condition(record) { return true }
        return false
      }
    case .notAll(let conditions):
      let bound = try conditions.map { try $0.bound(to: scanner) }
      return { record in
        for condition in bound where try !condition(record) { return true }
        return false
      }
    }
  }
}

extension Query {
  /// The conditions, ready for a scanner; they all have to hold, and the record comes after the cursor if there is one.
  func bound(to scanner: RecordScanner<R>) throws -> QueryCondition<R>.Bound {
    let holds = try QueryCondition(.all(conditions)).bound(to: scanner)
    guard let follows = try following(scanner.reader) else { return holds }
    return { record in try holds(record) && follows(ScannedEntry(record, scanner)) }
  }
}
