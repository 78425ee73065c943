// Memory of the caller's that values are read into.

/// Memory to read values into, one after another: once it has grown to what they need, nothing is allocated any more, but a
/// kilobyte for a derived key that is needed a second time, at most 256 of them a thread.
///
/// A buffer is used by one thread at a time. What it holds is overwritten by the next read, and when the buffer goes; not
/// by ``Store/lock(_:)``. After a field of a long record it holds the file that the record is in, until the next read.
public struct ValueBuffer: ~Copyable {
  var record = ReadBuffer()
  var opening = Opening()
  /// Which record was read last.
  var loaded: (id: RecordID, collection: UInt16)?

  /// An empty buffer.
  public init() {}

  /// The bytes of the value that was read last, as FORMAT.md 7.3 has them: of an optional field, a presence byte first.
  public var bytes: RawSpan {
    @_lifetime(borrow self)
    borrowing get { opening.bytes }
  }

  /// Opens another field of the record that was read last, in the version that was read. Of a long record, what is not in
  /// memory yet is read.
  ///
  /// - Parameter field: A field of the same record type.
  /// - Throws: `notFound` where no record was read; `locked`, `missingKey`, `tampered`, `typeMismatch`, `damaged`,
  ///   `inputOutput`.
  @inlinable
  public mutating func open<R: Record, Value: FieldValue>(_ field: Field<R, Value>) throws {
    try open(field.handle)
  }

  @usableFromInline
  mutating func open(_ field: FieldHandle) throws {
    guard let loaded else { throw NotelogError(.notFound, "no record was read into the buffer") }
    let renewed = try field.renewed()
    let field = renewed ?? field
    precondition(loaded.collection == field.plan.number, "a field is opened of a record of its own type")
    try field.load(loaded.id, &record, into: &opening)
  }

  /// Overwrites the value.
  public mutating func wipe() { opening.wipe() }
}

extension Store {
  /// Reads a record's field into a buffer: the way that allocates nothing.
  ///
  /// - Parameters:
  ///   - field: The field.
  ///   - id: The record's id.
  ///   - buffer: Where the value's bytes are then; a record that lacks the field has its initial value.
  /// - Returns: Whether there is such a record.
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch`, `damaged`, `closed`, `inputOutput`.
  @inlinable
  public func read<R: Record, Value: FieldValue>(
    _ field: Field<R, Value>, of id: RecordID, into buffer: inout ValueBuffer
  ) throws -> Bool {
    try field.handle.read(id, of: self, into: &buffer)
  }

  /// The value of a record's field; nil where there is no such record.
  ///
  /// - Parameters:
  ///   - field: The field.
  ///   - id: The record's id.
  ///   - buffer: Memory to work in.
  /// - Returns: The value.
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch`, `damaged`, `closed`, `inputOutput`.
  @inlinable
  public func get<R: Record, Value: FieldValue>(
    _ field: Field<R, Value>, of id: RecordID, using buffer: inout ValueBuffer
  ) throws -> Value? {
    guard try field.handle.read(id, of: self, into: &buffer) else { return nil }
    return try Value(stored: Value.Stored(loading: buffer.bytes))
  }

  /// Calls `body` with the values that a field has in records, in the order of the ids.
  ///
  /// Records are looked up some way ahead, so that they come from memory while others are opened: what is written meanwhile, by
  /// `body` for instance, may not show in those that were looked up before. The record that was read last is in the buffer then.
  ///
  /// - Parameters:
  ///   - field: The field.
  ///   - ids: The records' ids.
  ///   - buffer: Memory to work in.
  ///   - body: Takes an id's place in `ids`, and the value; nil where there is no such record.
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch`, `damaged`, `closed`, `inputOutput`.
  @inlinable
  public func getMany<R: Record, Value: FieldValue>(
    _ field: Field<R, Value>, of ids: [RecordID], using buffer: inout ValueBuffer,
    _ body: (Int, Value?) throws -> Void
  ) throws {
    var prefetcher = Prefetcher(ids, self)
    for place in ids.indices {
      guard try field.handle.read(ids[place], &prefetcher, place, of: self, into: &buffer) else {
        try body(place, nil)
        continue
      }
      try body(place, try Value(stored: Value.Stored(loading: buffer.bytes)))
    }
  }

  /// Calls `body` with the bytes of the values that a field has in records, in the order of the ids; ids without a record
  /// are passed over. They are looked up as by ``getMany(_:of:using:_:)``.
  ///
  /// - Parameters:
  ///   - field: The field.
  ///   - ids: The records' ids.
  ///   - buffer: Memory to work in.
  ///   - body: Takes an id's place in `ids`, and the value's bytes.
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch`, `damaged`, `closed`, `inputOutput`.
  @inlinable
  public func readMany<R: Record, Value: FieldValue>(
    _ field: Field<R, Value>, of ids: [RecordID], into buffer: inout ValueBuffer,
    _ body: (Int, RawSpan) throws -> Void
  ) throws {
    var prefetcher = Prefetcher(ids, self)
    for place in ids.indices
    where try field.handle.read(ids[place], &prefetcher, place, of: self, into: &buffer) {
      try body(place, buffer.bytes)
    }
  }

  /// A whole record, every field opened; nil where there is none.
  ///
  /// - Parameters:
  ///   - type: The record type.
  ///   - id: The record's id.
  ///   - buffer: Memory to work in.
  /// - Returns: The record.
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch`, `damaged`, `closed`, `inputOutput`.
  public func get<R: Record>(_ type: R.Type, _ id: RecordID, using buffer: inout ValueBuffer) throws -> R? {
    buffer.loaded = nil
    let reader = try reader(for: type)
    let found = try journal.read(id.bytes, into: &buffer.record)
    guard let found, found.collection == reader.plan.collection.number else { return nil }
    buffer.loaded = (id, found.collection)
    return try reader.record(id, buffer.record, &buffer.opening)
  }
}
