// Going through all records of a type, in large reads.

extension StoreSnapshot {
  /// Calls `body` with each record of a type, in the order in which they lie on the disk, until it returns false.
  ///
  /// ```swift
  /// let title = try store.field(\Note.title)
  /// try store.snapshot().scan(Note.self) { entry in
  ///   print(entry.id, try entry.value(of: title))
  ///   return true
  /// }
  /// ```
  ///
  /// Threads that share the work each take a part of the same snapshot.
  ///
  /// - Parameters:
  ///   - type: The record type.
  ///   - part: The part of the records that this call goes through.
  ///   - partCount: How many parts there are.
  ///   - damaged: Called with what can't be read and is left out; ``Store/damage`` knows it too. The rest follows, unless it throws.
  ///   - body: Returns whether to go on.
  /// - Throws: `closed`, `inputOutput`, and what the closures throw.
  /// - Complexity: O(*n*) in the bytes of the store.
  @inlinable
  public func scan<R: Record>(
    _ type: R.Type, part: Int = 0, of partCount: Int = 1,
    damaged: (Finding) throws -> Void = { _ in }, _ body: (ScannedEntry<R>) throws -> Bool
  ) throws {
    let scanner = try scanner(for: type)
    try scan(with: scanner, part: part, of: partCount, damaged: damaged) {
      try body(ScannedEntry($0, scanner))
    }
  }

  @usableFromInline
  func scanner<R: Record>(for type: R.Type) throws -> RecordScanner<R> {
    RecordScanner(try store.reader(for: type))
  }

  @usableFromInline
  func scan(
    with scanner: Scanner, part: Int, of partCount: Int, damaged: (Finding) throws -> Void,
    _ body: (ScannedRecord) throws -> Bool
  ) throws {
    try moment.scan(scanner.plan.number, part: part, of: partCount, damaged: damaged, body)
  }
}

extension Store {
  /// Calls `body` with each record of a type as the store is now, in the order in which they lie on the disk, until it
  /// returns false.
  ///
  /// - Parameters:
  ///   - type: The record type.
  ///   - damaged: Called with what can't be read and is left out; the rest follows, unless it throws.
  ///   - body: Returns whether to go on.
  /// - Throws: `closed`, `inputOutput`, and what the closures throw.
  /// - Complexity: O(*n*) in the bytes of the store.
  @inlinable
  public func scan<R: Record>(
    _ type: R.Type, damaged: (Finding) throws -> Void = { _ in },
    _ body: (ScannedEntry<R>) throws -> Bool
  ) throws {
    try snapshot().scan(type, damaged: damaged, body)
  }
}
