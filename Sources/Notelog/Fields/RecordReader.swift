// Reading the fields of a record type's records, wherever their bytes are.

/// A record type's plan and the keys to read its records with.
final class RecordReader<R: Record>: Sendable {
  let plan: RecordPlan<R>
  let opener: FieldOpener
  /// Whether the key of every field is the one that code names now; where it couldn't be looked up, records are read by
  /// this plan and not written.
  let isComplete: Bool

  init(plan: RecordPlan<R>, opener: FieldOpener, isComplete: Bool = true) {
    self.plan = plan
    self.opener = opener
    self.isComplete = isComplete
  }

  /// One field of a record, whose body was checked; its initial value where the record lacks it.
  func value<Value>(of path: KeyPath<R, Value>, _ id: RecordID, _ body: RawSpan) throws -> Value {
    var opening = Opening()
    return try value(of: path, id, body, &opening)
  }

  /// The same in memory that is used again.
  func value<Value>(
    of path: KeyPath<R, Value>, _ id: RecordID, _ body: RawSpan, _ opening: inout Opening
  ) throws -> Value {
    if plan.hasRetired, plan.isRetired(path) { return plan.prototype[keyPath: path] }
    var record = plan.prototype
    let slot = plan.slots[try plan.slot(of: path)]
    try load(slot.index, slot.definition.access, id, RecordBody(checked: body), into: &record, &opening)
    return record[keyPath: path]
  }

  /// All fields of a record.
  func record(_ id: RecordID, _ body: RawSpan) throws -> R {
    var opening = Opening()
    return try record(id, RecordBody(checked: body), &opening)
  }

  /// The same in memory that is used again.
  func record(_ id: RecordID, _ body: RecordBody, _ opening: inout Opening) throws -> R {
    var record = plan.prototype
    record.id = id
    var step = plan.firstStep
    while let current = step {
      try load(current.index, current.access, id, body, into: &record, &opening)
      step = current.next
    }
    return record
  }

  /// The record that was read into a buffer.
  func record(_ id: RecordID, _ buffer: borrowing ReadBuffer, _ opening: inout Opening) throws -> R {
    try record(id, RecordBody(checking: buffer.body), &opening)
  }

  private func load(
    _ index: Int, _ access: FieldAccess<R>, _ id: RecordID, _ body: RecordBody, into record: inout R,
    _ opening: inout Opening
  ) throws {
    guard let entry = try body.find(plan.collection.fields[index].number) else { return }
    var failure: (any Error)?
    try opening.open(entry, in: body.bytes, of: id, index, plan.collection, opener) { bytes in
      do { try access.decode(&record, bytes) } catch { failure = error }
    }
    if let failure { throw failure }
  }
}
