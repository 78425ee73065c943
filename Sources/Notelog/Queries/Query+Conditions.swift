// Refining a query by conditions, all of which have to hold.

extension Query {
  /// Only records for which a condition holds: one on a field, or several joined by `&&`, `||` and `!`.
  ///
  /// ```swift
  /// let found = try store.query(Note.self).where(.field(\.folder, is: 3) || .field(\.isPinned, is: true)).entries()
  /// ```
  ///
  /// Indexes lead to the records where they help: those of one field of an and, those of each side of an or.
  public func `where`(_ condition: QueryCondition<R>) -> Query { adding(condition) }

  /// Only records whose field has this value: ``QueryCondition/field(_:is:)``.
  public func `where`<Value: Equatable & Sendable>(_ path: FieldKeyPath<R, Value>, is value: Value) -> Query {
    adding(.field(path, is: value))
  }

  /// Only records whose field has another value: ``QueryCondition/field(_:isNot:)``.
  public func `where`<Value: Equatable & Sendable>(
    _ path: FieldKeyPath<R, Value>, isNot value: Value
  ) -> Query {
    adding(.field(path, isNot: value))
  }

  /// Only records whose field has one of these values: ``QueryCondition/field(_:isIn:)``.
  public func `where`<Value: Hashable & Sendable>(
    _ path: FieldKeyPath<R, Value>, isIn values: some Sequence<Value>
  ) -> Query {
    adding(.field(path, isIn: values))
  }

  /// Only records whose field has a value in a range: see the condition of the same name in ``QueryCondition``.
  public func `where`<Value: Comparable & Sendable>(
    _ path: FieldKeyPath<R, Value>, in range: some RangeExpression<Value> & Sendable
  ) -> Query {
    adding(.field(path, in: range))
  }

  /// Only records whose field has a value, and one in a range; nil is in none.
  public func `where`<Value: Comparable & Sendable>(
    _ path: FieldKeyPath<R, Value?>, in range: some RangeExpression<Value> & Sendable
  ) -> Query {
    adding(.field(path, in: range))
  }

  /// Only records whose text field begins with a text, byte by byte.
  public func `where`<Value: FieldValue>(_ path: FieldKeyPath<R, Value>, hasPrefix text: String) -> Query
  where Value.Stored == String {
    adding(.field(path, hasPrefix: text))
  }

  /// Only records whose text field has a text that begins with another, byte by byte.
  public func `where`<Value: FieldValue>(_ path: FieldKeyPath<R, Value>, hasPrefix text: String) -> Query
  where Value.Stored == String? {
    adding(.field(path, hasPrefix: text))
  }

  /// Only records whose field satisfies a condition of your own; a sealed field is opened for it.
  public func filter<Value>(
    _ path: FieldKeyPath<R, Value>, _ condition: @escaping @Sendable (Value) throws -> Bool
  ) -> Query {
    adding(.field(path, satisfies: condition))
  }

  /// Only records whose text field holds a text; a sealed field is opened for it.
  ///
  /// ```swift
  /// let found = try store.query(Note.self).contains(\.body, "Clark").entries()
  /// ```
  ///
  /// The bytes of both are compared, and no string is made: upper case is not lower case, and a letter that can be
  /// composed in two ways is two letters.
  public func contains<Value: FieldValue>(_ path: FieldKeyPath<R, Value>, _ text: String) -> Query
  where Value.Stored == String {
    adding(.field(path, contains: text))
  }

  /// Only records whose text field has a text that holds another; a sealed field is opened for it.
  public func contains<Value: FieldValue>(_ path: FieldKeyPath<R, Value>, _ text: String) -> Query
  where Value.Stored == String? {
    adding(.field(path, contains: text))
  }
}
