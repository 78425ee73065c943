// A record that a scan has come to.

import NotelogBase

/// A record as it lies in the memory that a scan reads into: each field is opened there when it is read, and
/// no other.
///
/// It is gone when the closure it was handed to returns; ``entry()`` makes one to keep.
@dynamicMemberLookup
public struct ScannedEntry<R: Record>: ~Escapable {
  @usableFromInline let stored: ScannedRecord
  @usableFromInline let scanner: RecordScanner<R>

  @_lifetime(copy stored)
  @inlinable
  init(_ stored: ScannedRecord, _ scanner: RecordScanner<R>) {
    self.stored = stored
    self.scanner = scanner
  }

  /// The record's identity.
  public var id: RecordID { stored.id }
  /// The version of the record: the number of the transaction that wrote it.
  public var revision: UInt64 { stored.record.revision }
  /// Whether the record may have been changed or removed in something that is lost: see
  /// ``Entry/isPossiblyStale``.
  public var isPossiblyStale: Bool { stored.record.isPossiblyStale }

  /// The value of a field; what the stored record lacks has its initial value.
  ///
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`.
  public subscript<Value>(dynamicMember path: KeyPath<R, Value>) -> Value {
    get throws { try value(of: path) }
  }

  func value<Value>(of path: KeyPath<R, Value>) throws -> Value {
    try scanner.withOpening { opening in try scanner.reader.value(of: path, stored, &opening) }
  }

  /// The value of a field that was looked up before.
  ///
  /// - Parameter field: The field.
  /// - Returns: The value.
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`.
  @inlinable
  public func value<Value: FieldValue>(of field: Field<R, Value>) throws -> Value {
    try withBytes(of: field) { try Value(stored: Value.Stored(_loading: $0)) }
  }

  /// Runs `use` on the bytes of a field's value, opened if it is sealed, and overwritten afterwards.
  ///
  /// - Parameters:
  ///   - field: The field.
  ///   - use: Takes the bytes, as FORMAT.md 7.3 has them: of an optional field, a presence byte first.
  /// - Returns: What `use` returns.
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`, and what `use` throws.
  @inlinable
  public func withBytes<Value, Result>(
    of field: Field<R, Value>, _ use: (RawSpan) throws -> Result
  ) throws -> Result {
    var result: Result?
    try scanner.open(field.handle, of: stored) { bytes in result = try use(bytes) }
    // That can't happen: opening a field either throws or hands the value on.
    guard let result else { throw NotelogError(.damaged, "the value was not opened") }
    return result
  }

  /// The record to keep, its fields unopened.
  public func entry() -> Entry<R> { Entry(stored: OwnedRecord(stored), reader: scanner.reader) }

  /// The whole record, every field opened.
  ///
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`.
  public func record() throws -> R {
    try scanner.withOpening { opening in try scanner.reader.record(stored, &opening) }
  }
}

// MARK: - What one thread keeps while it goes through a collection.

/// A collection's plan, with memory to open values in.
///
/// Nothing in it depends on the record type: code that does, and is not compiled together with the app's,
/// asks the runtime for types at every step, which costs as much as opening a short value.
@usableFromInline
class Scanner {
  let plan: CollectionPlan
  let opener: FieldOpener
  /// There unless it is in use: a value that is opened while another is read gets memory of its own.
  @exclusivity(unchecked) private var spare: Opening?

  init(_ plan: CollectionPlan, _ opener: FieldOpener) {
    self.plan = plan
    self.opener = opener
  }

  /// Runs `body` with memory to open values in.
  final func withOpening<Result>(_ body: (inout Opening) throws -> Result) throws -> Result {
    // SAFETY: one thread uses a scanner, and no access to `spare` lasts longer than the line that takes it or
    // puts it back: here and below nothing runs meanwhile that could come upon it.
    var opening: Opening
    if let found = unsafe spare.take() { opening = found } else { opening = Opening() }
    let result: Result
    do { result = try body(&opening) } catch {
      unsafe spare = consume opening
      throw error
    }
    unsafe spare = consume opening
    return result
  }

  /// Opens a field, which was looked up, of a record.
  @usableFromInline
  final func open(_ field: FieldHandle, of record: ScannedRecord, _ use: (RawSpan) throws -> Void) throws {
    try withOpening { opening in
      if let renewed = try field.renewed() {
        try renewed.load(record.id, record.body, into: &opening)
      } else {
        try field.load(record.id, record.body, into: &opening)
      }
      defer { opening.wipe() }
      try use(opening.bytes)
    }
  }

  /// Calls `use` with the value of a record's field as it is stored, or with its id; nil where the record
  /// lacks the field.
  final func withValue(
    in index: Int, of record: ScannedRecord, _ use: (RawSpan) throws -> Bool
  ) throws -> Bool? {
    if index == CollectionPlan.idIndex {
      return try withScratch { bytes in
        record.id._store(into: &bytes)
        return try use(bytes.bytes.extracting(first: record.id._storedByteCount))
      }
    }
    guard let entry = try record.body.find(plan.fields[index].number) else { return nil }
    return try withOpening { opening in
      try opening.open(entry, in: record.body.bytes, of: record.id, index, plan, opener, use)
    }
  }
}

/// The scanner of a record type's collection.
@usableFromInline
final class RecordScanner<R: Record>: Scanner {
  let reader: RecordReader<R>

  init(_ reader: RecordReader<R>) {
    self.reader = reader
    super.init(reader.plan.collection, reader.opener)
  }
}

// MARK: - Going through all records of a type, in large reads.

extension StoreSnapshot {
  /// Calls `body` with each record of a type, in the order in which they lie on the disk, until it returns
  /// false.
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
  ///   - damaged: Called with what can't be read and is left out; ``Store/damage`` knows it too. The rest
  ///     follows, unless it throws.
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
  /// Calls `body` with each record of a type as the store is now, in the order in which they lie on the disk,
  /// until it returns false.
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
