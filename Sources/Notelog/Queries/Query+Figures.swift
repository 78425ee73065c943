// Figures about what a query finds: how many, the least, the greatest, the sum.

extension Query {
  /// How many records there are, limit and offset applied; those that can't be read are left out, as in
  /// `entries()`.
  ///
  /// Without conditions, and where nothing is known to be damaged, none is read: then a record counts of
  /// which nobody knows yet that it can't be read. A query with ``onDamage(_:)`` reads all of them.
  ///
  /// - Throws: `CancellationError` where the task was cancelled; what `entries()` throws.
  public func count() throws -> Int { try search().count() }
}

extension Query where R: Record {
  /// The least value of a field among the records found; nil where there is none. NaN is passed over.
  ///
  /// - Complexity: That of the first record sorted by the field: with an index, hardly more than one record
  ///   is read.
  /// - Throws: `locked` where a locked field is needed; what `entries()` throws.
  public func min<Value: Comparable & FieldValue>(of path: FieldKeyPath<R, Value>) throws -> Value? {
    try first(path, OrderKey(path, .ascending))
  }

  /// The least value of a field among the records found, nil and NaN passed over; nil where there is none.
  public func min<Value: Comparable & FieldValue>(of path: FieldKeyPath<R, Value?>) throws -> Value? {
    try first(path, OrderKey(path, .ascending)) ?? nil
  }

  /// The greatest value of a field among the records found; nil where there is none. NaN is passed over.
  ///
  /// - Complexity: That of the first record sorted by the field: with an index, hardly more than one record
  ///   is read.
  /// - Throws: `locked` where a locked field is needed; what `entries()` throws.
  public func max<Value: Comparable & FieldValue>(of path: FieldKeyPath<R, Value>) throws -> Value? {
    try first(path, OrderKey(path, .descending))
  }

  /// The greatest value of a field among the records found, nil and NaN passed over; nil where there is none.
  public func max<Value: Comparable & FieldValue>(of path: FieldKeyPath<R, Value?>) throws -> Value? {
    try first(path, OrderKey(path, .descending)) ?? nil
  }

  /// The sum of a field's values in the records found.
  ///
  /// - Complexity: O(*n*) in the records.
  /// - Throws: `limitExceeded` where the sum is no value of the type; `locked` where a locked field is
  ///   needed; what `entries()` throws.
  public func sum<Value: FixedWidthInteger & FieldValue>(of path: FieldKeyPath<R, Value>) throws -> Value {
    try total(of: path, { $0 }, Self.add)
  }

  /// The sum of a field's values in the records found, nil passed over.
  public func sum<Value: FixedWidthInteger & FieldValue>(of path: FieldKeyPath<R, Value?>) throws -> Value {
    try total(of: path, { $0 ?? 0 }, Self.add)
  }

  /// The sum of a field's values in the records found. They are added as they lie in the store: the last
  /// digits may differ from one time to the next.
  public func sum<Value: BinaryFloatingPoint & FieldValue>(of path: FieldKeyPath<R, Value>) throws -> Value {
    try total(of: path, { $0 }, { $0 + $1 })
  }

  /// The sum of a field's values in the records found, nil passed over.
  public func sum<Value: BinaryFloatingPoint & FieldValue>(of path: FieldKeyPath<R, Value?>) throws -> Value {
    try total(of: path, { $0 ?? 0 }, { $0 + $1 })
  }

  @Sendable
  private static func add<Value: FixedWidthInteger>(_ left: Value, _ right: Value) throws -> Value {
    let (sum, overflow) = left.addingReportingOverflow(right)
    guard !overflow else { throw NotelogError(.limitExceeded, "the sum doesn't fit the type \(Value.self)") }
    return sum
  }

  /// The first value in an order, of those that are there and no NaN.
  private func first<Value: FieldValue>(_ path: FieldKeyPath<R, Value>, _ key: OrderKey) throws -> Value? {
    let values = KeySet(Value.Stored.fieldType, from: nil, to: nil, includingUpper: true, "any value")
    let condition = QueryCondition<R>(field: fieldReference(path), keys: values)
    guard question.limit != nil || question.offset != 0 || question.cursor != nil else {
      let first = self.where(condition).changing { $0.keys = [key] }.limit(1)
      return try first.entries().first?.value(of: path)
    }
    // Of a page, the first is found among its records.
    let (search, reader) = try ask()
    let scanner = search.makeScanner()
    var rows = SortedRows(try RecordOrder([key], scanner), limit: 1)
    let holds = try condition.node.bound(to: scanner)
    for record in try search.entries() {
      try search.sparing(record.id) {
        if try holds(record.scanned) { try rows.insert(record.scanned, scanner, isKept: true) }
      }
    }
    return try rows.sorted().first?.record.map { try Entry(stored: $0, reader: reader).value(of: path) }
  }

  /// Adds a field's values up, each made to what is added.
  private func total<Field: FieldValue, Sum: AdditiveArithmetic & Sendable>(
    of path: FieldKeyPath<R, Field>, _ summand: @escaping @Sendable (Field) -> Sum,
    _ add: @escaping @Sendable (Sum, Sum) throws -> Sum
  ) throws -> Sum {
    let (search, reader) = try ask()
    var sum = Sum.zero
    if question.limit != nil || question.offset != 0 {
      for record in try search.entries() {
        try search.sparing(record.id) {
          sum = try add(sum, summand(Entry(stored: record, reader: reader).value(of: path)))
        }
      }
      return sum
    }
    let sums = try search.gather(into: Sum.zero, in: search.fewest(search.condition)) {
      sum, record, scanner in
      try search.sparing(record.id) {
        let value = try scanner.withOpening { opening in try reader.value(of: path, record, &opening) }
        sum = try add(sum, summand(value))
      }
      return true
    }
    return try sums.dropFirst().reduce(sums[0], add)
  }
}
