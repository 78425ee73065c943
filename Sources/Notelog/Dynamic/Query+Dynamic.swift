// Queries over records whose type is known at run time only.

import NotelogBase

extension DynamicCollection {
  /// A query over the collection's records.
  ///
  /// ```swift
  /// let found = try notes.query().where(.field("folder", .equal, .integer(3))).sorted(by: "time", .descending).entries()
  /// ```
  ///
  /// Records come in the order of their ids where nothing else is asked for. One that can't be read ends the
  /// query with its error, unless ``Query/onDamage(_:)`` says that the rest is wanted: it is told of each
  /// such record by its id.
  public func query() -> Query<DynamicEntry> {
    let (plan, opener) = (plan, store.opener)
    return Query(store: store) { { Scanner(plan, opener) } }.changing { question in
      question.isByName = true
      question.damageHandler = { finding in throw NotelogError(finding) }
    }
  }
}

extension Query where R == DynamicEntry {
  /// Sorted by a field, and where it was sorted before, within records that are equal so far.
  ///
  /// - Parameters:
  ///   - name: The field; a sealed one is opened for it. Records that lack it come first.
  ///   - direction: The direction. Text is in the order of its UTF-8 bytes.
  /// - Returns: The query with the order. Asking it throws `notFound` where there is no such field.
  public func sorted(by name: String, _ direction: SortDirection = .ascending) -> Query {
    changing { $0.keys.append(OrderKey(name, direction)) }
  }

  /// The records found.
  ///
  /// - Throws: `notFound` where a condition or the order names no field; `locked` where a sealed one can't be
  ///   opened; `damaged` or `tampered` where a record can't be read, and nobody is told.
  /// - Complexity: That of a query of a record type.
  public func entries() throws -> [DynamicEntry] {
    let search = try search()
    return try search.entries().compactMap { try search.dynamicEntry($0) }
  }

  /// The first record found.
  public func first() throws -> DynamicEntry? { try limit(1, offset: question.offset).entries().first }

  /// Calls `body` with the records found, until it returns false.
  ///
  /// - Parameter body: Returns whether to go on.
  /// - Throws: What ``entries()->[DynamicEntry]`` throws, and what `body` throws.
  /// - Complexity: In memory is one record at a time and, where they have to be sorted, what they are sorted
  ///   by; with a limit, so many records.
  public func forEach(_ body: (DynamicEntry) throws -> Bool) throws {
    let search = try search()
    try search.forEachInOrder(keeping: false) { record in try search.dynamicEntry(record).map(body) ?? true }
  }

  /// The place of a record in the query's order, for ``after(_:)``.
  ///
  /// - Throws: `invalidArgument` where the query is not sorted; `locked` where it is sorted by a locked
  ///   field.
  public func cursor(at entry: DynamicEntry) throws -> QueryCursor { try search().cursor(at: entry.stored) }
}

extension Search {
  /// A record by the names of its fields; nil where it can't be read.
  fileprivate func dynamicEntry(_ record: OwnedRecord) throws -> DynamicEntry? {
    var entry: DynamicEntry?
    try sparing(record.id) { entry = try DynamicEntry(record, plan, store.opener) }
    return entry
  }
}

// MARK: - Conditions on fields by their names.

/// How a field's value compares with another.
public enum QueryComparison: Sendable, Hashable, CaseIterable {
  /// It is the same.
  case equal
  /// It is another one, or missing.
  case unequal
  /// It comes before it.
  case less
  /// It comes before it, or is the same.
  case atMost
  /// It comes after it.
  case greater
  /// It comes after it, or is the same.
  case atLeast
}

extension QueryCondition where R == DynamicEntry {
  /// The field's value compares with a value of its type as said. Text is compared by its bytes. NaN equals
  /// nothing, and is in no order.
  ///
  /// An index leads to the records where it helps; a sealed field is opened. Asking throws `notFound` where
  /// there is no such field, and `typeMismatch` where it is of another type.
  ///
  /// - Parameters:
  ///   - name: The field.
  ///   - comparison: How its value compares.
  ///   - value: The value that it is compared with.
  /// - Returns: The condition.
  /// - Throws: `invalidArgument` for a value that no field can have, such as a URL that is none.
  public static func field(
    _ name: String, _ comparison: QueryComparison, _ value: DynamicValue
  ) throws -> QueryCondition {
    if comparison == .unequal { return try !field(name, .equal, value) }
    guard let type = value.type else {
      // Nothing comes before or after a missing value.
      let isEqual = comparison != .less && comparison != .greater
      // One that left its record is there, and too long to be opened for that.
      return condition(on: name, ifLong: false) { isEqual && $0 == .missing }
    }
    var scratch = Buffer()
    try value.store(as: type, isOptional: false, into: &scratch)
    let bytes = scratch.bytes.array()
    let key = KeySet.key(of: bytes, type)
    let isOrdered = type.isSortable && value == value
    let keys =
      switch comparison {
      case .less where isOrdered:
        KeySet(type, from: nil, to: key, includingUpper: false, "..<\(value)")
      case .atMost where isOrdered:
        KeySet(type, from: nil, to: key, includingUpper: true, "...\(value)")
      case .greater where isOrdered:
        KeySet(type, from: key + [0], to: nil, includingUpper: true, "after \(value)")
      case .atLeast where isOrdered: KeySet(type, from: key, to: nil, includingUpper: true, "\(value)...")
      case .equal, .atMost, .atLeast:
        KeySet(
          value == value ? [bytes] : [], includesMissing: false, of: type, "\(value)", decides: true)
      case .less, .greater, .unequal:
        KeySet([], includesMissing: false, of: type, "nothing", decides: true)
      }
    return QueryCondition(field: fieldReference(named: name), keys: keys)
  }

  /// The text field is this text, the case of ASCII letters ignored where that is said. Asking throws
  /// `notFound` where there is no such field, and `typeMismatch` where it is not text.
  public static func field(_ name: String, is text: String, ignoringCase: Bool) -> QueryCondition {
    QueryCondition(fieldReference(named: name), is: text, ignoringCase: ignoringCase)
  }

  /// The text field holds a text; a sealed field is opened for it. Asking throws `notFound` where there is no
  /// such field, and `typeMismatch` where it is of another type.
  ///
  /// - Parameters:
  ///   - name: The field.
  ///   - text: What it holds; a missing value holds nothing.
  ///   - ignoringCaseAndAccents: Whether "cafe" is found in "Café". Otherwise bytes are compared.
  /// - Returns: The condition.
  public static func field(
    _ name: String, contains text: String, ignoringCaseAndAccents: Bool = false
  ) -> QueryCondition {
    let pattern = TextPattern(text, ignoringCaseAndAccents: ignoringCaseAndAccents)
    return QueryCondition(textOf: fieldReference(named: name)) { try pattern.isIn($0) }
  }

  /// The field's value satisfies a condition of your own; a sealed field is opened for it. It is
  /// ``DynamicValue/missing`` where the record has none.
  public static func field(
    _ name: String, satisfies condition: @escaping @Sendable (DynamicValue) throws -> Bool
  ) -> QueryCondition {
    self.condition(on: name, condition)
  }

  /// A condition that looks at a value; of one that left its record, `long` is the answer, where it is given.
  private static func condition(
    on name: String, ifLong long: Bool? = nil,
    _ holds: @escaping @Sendable (DynamicValue) throws -> Bool
  ) -> QueryCondition {
    QueryCondition(field: fieldReference(named: name)) { scanner in
      let index = try scanner.plan.index(of: name)
      let field = scanner.plan.fields[index]
      return { record in
        if let long, try record.body.find(field.number)?.flags.contains(.chunked) == true { return long }
        return try scanner.withValue(in: index, of: record) { bytes in
          try holds(DynamicValue(loading: bytes, as: field.type, isOptional: field.isOptional))
        } ?? holds(.missing)
      }
    }
  }
}
