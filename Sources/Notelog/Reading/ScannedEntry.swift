// A record that a scan has come to.

/// A record as it lies in the memory that a scan reads into: each field is opened there when it is read, and no other.
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
  public var revision: UInt64 { stored.revision }
  /// Whether the record may have been changed or removed in something that is lost: see ``Entry/isPossiblyStale``.
  public var isPossiblyStale: Bool { stored.isPossiblyStale }

  private var body: RecordBody {
    @_lifetime(copy self)
    get { stored.body }
  }

  /// The value of a field; what the stored record lacks has its initial value.
  ///
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`.
  public subscript<Value>(dynamicMember path: KeyPath<R, Value>) -> Value {
    get throws { try value(of: path) }
  }

  /// The value of a field; what the stored record lacks has its initial value.
  ///
  /// - Parameter path: A property that the schema declares as a field.
  /// - Returns: The value.
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`.
  public func value<Value>(of path: KeyPath<R, Value>) throws -> Value {
    try scanner.withOpening { opening in
      try scanner.reader.value(of: path, id, body.bytes, &opening)
    }
  }

  /// The value of a field that was looked up before.
  ///
  /// - Parameter field: The field.
  /// - Returns: The value.
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`.
  @inlinable
  public func value<Value: FieldValue>(of field: Field<R, Value>) throws -> Value {
    try withBytes(of: field) { try Value(stored: Value.Stored(loading: $0)) }
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
    var result: Swift.Result<Result, any Error>?
    try scanner.open(field.handle, of: stored) { bytes in result = Swift.Result { try use(bytes) } }
    guard let result else { throw NotelogError.unopened }
    return try result.get()
  }

  /// The record to keep, its fields unopened.
  public func entry() throws -> Entry<R> { try scanner.reader.entry(stored) }

  /// The whole record, every field opened.
  ///
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`.
  public func record() throws -> R {
    try scanner.withOpening { opening in try scanner.reader.record(id, body, &opening) }
  }
}

extension NotelogError {
  /// What can't happen: opening a field neither threw nor handed the value on.
  @usableFromInline static var unopened: NotelogError { NotelogError(.damaged, "the value was not opened") }
}
