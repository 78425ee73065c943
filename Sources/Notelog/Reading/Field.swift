// A field of a record type, found once and used again and again.

import NotelogBase
import Synchronization

/// A field of a store's records, looked up once: what hot paths read by.
///
/// ```swift
/// let title = try store.field(\Note.title)
/// var buffer = ValueBuffer()
/// for id in ids { print(try store.get(title, of: id, using: &buffer) ?? "gone") }
/// ```
///
/// It may be used from any thread, for as long as the store is open, also after the schema has changed.
public struct Field<R: Record, Value: FieldValue>: Sendable, Opaque {
  @usableFromInline let handle: FieldHandle
}

extension Store {
  /// Looks a field up.
  ///
  /// - Parameter path: A property that the schema declares as a field.
  /// - Returns: The field, for this store only.
  /// - Throws: `invalidArgument` where the schema declares no such field, `schemaConflict`.
  public func field<R: Record, Value: FieldValue>(
    _ path: FieldKeyPath<R, Value>
  ) throws -> Field<R, Value> {
    Field(handle: try FieldHandle.make(self, path))
  }
}

extension RecordReader {
  /// Where a field is in the collection's plan, and the bytes of its initial value: a record that lacks the
  /// field has that.
  func place(of path: PartialKeyPath<R>) throws -> (index: Int, initial: [UInt8]) {
    let slot = plan.slots[try plan.slot(of: path)]
    var scratch = Buffer(isSecret: true)
    try slot.definition.access.encode(plan.prototype, &scratch)
    return (slot.index, scratch.bytes.array())
  }
}

/// Where a field is in a store's records, and what they have who lack it.
@usableFromInline
final class FieldHandle: Sendable {
  let store: Store
  let plan: CollectionPlan
  // Two of the store's, at hand: going by way of it would count it up and down for every read.
  private let records: RecordFinder
  private let opener: FieldOpener
  /// The field's place in the plan.
  let index: Int
  let number: UInt16
  /// The bytes of the initial value: a record that lacks the field has that.
  let initial: [UInt8]
  /// When it was looked up; at another epoch it is looked up again.
  private let epoch: UInt64
  private let lookUp: @Sendable () throws -> FieldHandle
  private let successor = AtomicLazyReference<FieldHandle>()

  private init(
    _ store: Store, _ plan: CollectionPlan, _ index: Int, _ initial: [UInt8], epoch: UInt64,
    lookUp: @escaping @Sendable () throws -> FieldHandle
  ) {
    self.store = store
    self.plan = plan
    records = store.journal.records
    opener = store.opener
    self.index = index
    self.initial = initial
    self.epoch = epoch
    self.lookUp = lookUp
    number = plan.fields[index].number
  }

  static func make<R: Record, Value: FieldValue>(
    _ store: Store, _ path: FieldKeyPath<R, Value>
  ) throws -> FieldHandle {
    // Read first: a schema that changes from here on makes it look again.
    let epoch = store.schemaEpoch.load(ordering: .acquiring)
    let reader = try store.reader(for: R.self)
    let (index, initial) = try reader.place(of: path)
    return FieldHandle(store, reader.plan.collection, index, initial, epoch: epoch) { try make(store, path) }
  }

  /// The handle that holds now, where that is another one.
  func renewed() throws -> FieldHandle? {
    let now = store.schemaEpoch.load(ordering: .acquiring)
    if epoch == now { return nil }
    var handle = self
    while handle.epoch != now {
      if let next = handle.successor.load() {
        handle = next
      } else {
        handle = handle.successor.storeIfNil(try lookUp())
        break
      }
    }
    return handle
  }

  /// Reads a record's field into a buffer.
  ///
  /// - Returns: Whether there is such a record.
  @usableFromInline
  func read(_ id: RecordID, of store: Store, into buffer: inout ValueBuffer) throws -> Bool {
    precondition(store === self.store, "a field belongs to the store that it was looked up in")
    buffer.loaded = nil
    let found = try records.readUnchecked(id.bytes, into: &buffer.record)
    return try open(found, id, &buffer)
  }

  /// Reads the field of a record that was looked up ahead, with others.
  ///
  /// - Returns: Whether there is such a record.
  @usableFromInline
  func read(
    _ id: RecordID, _ prefetcher: inout Prefetcher, _ place: Int, of store: Store,
    into buffer: inout ValueBuffer
  ) throws -> Bool {
    precondition(store === self.store, "a field belongs to the store that it was looked up in")
    buffer.loaded = nil
    let lookup = prefetcher.next(place)
    let found = try records.readUnchecked(id.bytes, lookup, into: &buffer.record)
    return try open(found, id, &buffer)
  }

  /// Opens the field of what was read, by the handle that holds now.
  private func open(_ found: StoredRecord?, _ id: RecordID, _ buffer: inout ValueBuffer) throws -> Bool {
    if let handle = try renewed() { return try handle.open(found, id, &buffer) }
    guard let found, found.collection == plan.number else {
      buffer.opening.wipe()
      return false
    }
    try load(id, &buffer.record, into: &buffer.opening)
    buffer.loaded = (id, found.collection)
    return true
  }

  /// Opens the field of a record that was read.
  ///
  /// A sealed value's tag vouches for it better than the record's checksum does. That is looked at where
  /// there is no tag, or it doesn't hold: what the disk has damaged is no tampering (decision 0045).
  func load(
    _ id: RecordID, _ record: inout ReadBuffer, into opening: inout Opening
  ) throws(NotelogError) {
    if !record.isChecked {
      if loadSealed(id, &record, into: &opening) { return }
      do { try record.check() } catch { throw records.noted(error, id.bytes) }
    }
    try load(id, RecordBody(checking: record.body), into: &opening)
  }

  /// Opens the field of a record that nobody has checked, and that may be there in part.
  ///
  /// - Returns: Whether it is sealed in the record itself, and its tag holds.
  private func loadSealed(
    _ id: RecordID, _ record: inout ReadBuffer, into opening: inout Opening
  ) -> Bool {
    do {
      let isWhole = record.isWhole
      if !isWhole, RecordBody.directoryEnd(record.body) > record.body.byteCount { try record.complete() }
      // Once for all the fields that are opened of it.
      let found =
        record.isBodyChecked
        ? try RecordBody(checked: record.body).find(number)
        : try RecordBody.find(number, checking: record.body, of: record.bodyByteCount)
      record.isBodyChecked = true
      guard let entry = found, entry.flags.contains(.sealed), !entry.flags.contains(.chunked) else {
        return false
      }
      if !isWhole, entry.range.upperBound > record.body.byteCount { try record.complete() }
      try opening.load(entry, in: record.body, of: id, index, plan, opener)
      return true
    } catch { return false }
  }

  /// Opens the field of a checked body, or takes its initial value where the record lacks it.
  func load(_ id: RecordID, _ body: RecordBody, into opening: inout Opening) throws(NotelogError) {
    guard let entry = try body.find(number) else { return opening.load(plain: initial) }
    try opening.load(entry, in: body.bytes, of: id, index, plan, opener)
  }
}

// MARK: - Memory of the caller's that values are read into.

/// Memory to read values into, one after another: once it has grown to what they need, nothing is allocated
/// any more, but a kilobyte for a derived key that is needed a second time, at most 256 of them a thread.
///
/// A buffer is used by one thread at a time. What it holds is overwritten by the next read, and when the
/// buffer goes; not by ``Store/lock(_:)``. After a field of a long record it holds the file that the record
/// is in, until the next read.
public struct ValueBuffer: ~Copyable {
  var record = ReadBuffer()
  var opening = Opening()
  /// Which record was read last.
  var loaded: (id: RecordID, collection: UInt16)?

  /// An empty buffer.
  public init() {}

  /// The bytes of the value that was read last, as FORMAT.md 7.3 has them: of an optional field, a presence
  /// byte first.
  public var bytes: RawSpan {
    @_lifetime(borrow self)
    borrowing get { opening.bytes }
  }

  /// Opens another field of the record that was read last, in the version that was read. Of a long record,
  /// what is not in memory yet is read.
  ///
  /// - Parameter field: A field of the same record type.
  /// - Throws: `notFound` where no record was read; `locked`, `missingKey`, `tampered`, `typeMismatch`,
  ///   `damaged`, `inputOutput`.
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
    return try Value(stored: Value.Stored(_loading: buffer.bytes))
  }

  /// Calls `body` with the values that a field has in records, in the order of the ids.
  ///
  /// Records are looked up some way ahead, so that they come from memory while others are opened: what is
  /// written meanwhile, by `body` for instance, may not show in those that were looked up before. The record
  /// that was read last is in the buffer then.
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
      try body(place, try Value(stored: Value.Stored(_loading: buffer.bytes)))
    }
  }

  /// Calls `body` with the bytes of the values that a field has in records, in the order of the ids; ids
  /// without a record are passed over. They are looked up as by ``getMany(_:of:using:_:)``.
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
}

// MARK: - Records that are read one after another are prefetched (decision 0055).

/// Looks records up ahead: while one is opened, the next ones come from memory.
///
/// Each stage prefetches what the next one looks at: the index, the cache's set, the frame. All at once, the
/// processor would wait for memory three times in a row. What one stage alone costs was not measured apart
/// from other changes (decision 0055).
@usableFromInline
struct Prefetcher: ~Copyable {
  /// How far ahead of the record that is read each stage is. Once a record is located, what is written of it
  /// may not show.
  private static let (beginDistance, locateDistance, fetchDistance) = (12, 8, 4)

  private let ids: [RecordID]
  private let records: RecordFinder
  /// The lookups under way, by the lowest bits of the record's place.
  private var lookups = InlineArray<16, PendingLookup>(repeating: (0, .none))

  @usableFromInline
  init(_ ids: [RecordID], _ store: Store) {
    self.ids = ids
    records = store.journal.records
    for place in 0..<min(Self.beginDistance, ids.count) { lookups[place] = records.begin(ids[place].bytes) }
    for place in 0..<min(Self.locateDistance, ids.count) { records.locate(&lookups[place]) }
    for place in 0..<min(Self.fetchDistance, ids.count) { records.prefetch(lookups[place]) }
  }

  /// The lookup of the record that is to be read now. Places are asked for one after another.
  mutating func next(_ place: Int) -> PendingLookup {
    let (begun, located, fetched) = (
      place + Self.beginDistance, place + Self.locateDistance, place + Self.fetchDistance
    )
    if begun < ids.count { lookups[begun & 15] = records.begin(ids[begun].bytes) }
    if located < ids.count { records.locate(&lookups[located & 15]) }
    if fetched < ids.count { records.prefetch(lookups[fetched & 15]) }
    return lookups[place & 15]
  }
}
