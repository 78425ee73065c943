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
public struct Field<R: Record, Value: FieldValue>: Sendable {
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
    let epoch = store.readers.epoch
    let plan = try store.reader(for: R.self).plan
    let slot = plan.slots[try plan.slot(of: path)]
    var scratch = FieldScratch()
    try slot.definition.access.encode(plan.prototype, &scratch)
    return FieldHandle(
      store, plan.collection, slot.index, scratch.withBytes(in: 0..<scratch.count) { $0.array() },
      epoch: epoch
    ) { try make(store, path) }
  }

  /// The handle that holds now, where that is another one.
  func renewed() throws -> FieldHandle? {
    let now = store.readers.epoch
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
  /// A sealed value's tag vouches for it better than the record's checksum does. That is looked at where there is no tag,
  /// or it doesn't hold: what the disk has damaged is no tampering (decision 0045).
  func load(
    _ id: RecordID, _ record: inout ReadBuffer, into opening: inout Opening
  ) throws(NotelogError) {
    if !record.isChecked {
      if loadSealed(id, &record, into: &opening) { return }
      try record.check()
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
