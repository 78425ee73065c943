// Going through all records of a type, in large reads.

import NotelogJournal

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
  ///   - body: Returns whether to go on.
  /// - Throws: `damaged` when it comes to a record that does not check; `closed`, `inputOutput`, and what `body` throws.
  /// - Complexity: O(*n*) in the bytes of the store.
  @inlinable
  public func scan<R: Record>(
    _ type: R.Type, part: Int = 0, of partCount: Int = 1, _ body: (ScannedEntry<R>) throws -> Bool
  ) throws {
    let scanner = try scanner(for: type)
    try scan(with: scanner, part: part, of: partCount) { try body(ScannedEntry($0, scanner)) }
  }

  @usableFromInline
  func scanner<R: Record>(for type: R.Type) throws -> RecordScanner<R> {
    RecordScanner(try store.reader(for: type))
  }

  @usableFromInline
  func scan(
    with scanner: Scanner, part: Int, of partCount: Int, _ body: (ScannedRecord) throws -> Bool
  ) throws {
    try moment.scan(scanner.plan.number, part: part, of: partCount, body)
  }
}

extension Store {
  /// Calls `body` with each record of a type as the store is now, in the order in which they lie on the disk, until it
  /// returns false.
  ///
  /// - Parameters:
  ///   - type: The record type.
  ///   - body: Returns whether to go on.
  /// - Throws: `damaged` when it comes to a record that does not check; `closed`, `inputOutput`, and what `body` throws.
  /// - Complexity: O(*n*) in the bytes of the store.
  @inlinable
  public func scan<R: Record>(_ type: R.Type, _ body: (ScannedEntry<R>) throws -> Bool) throws {
    try snapshot().scan(type, body)
  }
}

extension Snapshot {
  /// Calls `body` with each record of a collection, its bytes checked, until it returns false. They come in the order
  /// in which they lie on the disk.
  func scan(
    _ collection: UInt16, part: Int = 0, of partCount: Int = 1,
    _ body: (ScannedRecord) throws -> Bool
  ) throws {
    var failure: (any Error)?
    var form = DirectoryForm()
    try journaling { () throws(JournalError) in
      try forEach(
        in: collection, part: part, of: partCount,
        onDamage: { damage in
          guard failure == nil else { return }
          failure = NotelogError(
            .damaged, "a record of the collection does not check; verify the store",
            segment: UInt64(damage.segment), offset: UInt64(damage.offset))
        },
        { record, _, bytes throws(JournalError) in
          guard failure == nil else { return false }
          do {
            return try body(
              ScannedRecord(RecordID(record.id), record.revision, RecordBody(checking: bytes, by: &form)))
          } catch {
            failure = error
            return false
          }
        })
    }
    if let failure { throw failure }
  }
}
