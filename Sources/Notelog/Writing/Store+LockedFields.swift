// Fields under locked keys of records that are put whole: what may stay as it is.

import NotelogJournal

extension Store {
  /// Whether a field is under a locked key, and the record has nothing for it: nil, or the initial value where there is an earlier version.
  func isLeft<R: Record>(
    _ slot: RecordPlan<R>.Slot, of record: R, over stored: OwnedRecord?, _ plan: RecordPlan<R>
  ) throws(NotelogError) -> Bool {
    let field = plan.collection.fields[slot.index]
    guard field.isSealed, isLocked(field.keyReference) else { return false }
    let isInitial = try plan.hasInitialValue(record, slot.definition)
    if isInitial, stored != nil { return true }
    // Nil stands for what is stored, or for an initial value that is nil too.
    let isStored = try stored?.find(field.number) != nil
    guard field.isOptional, isInitial || isStored else { return false }
    var scratch = FieldScratch()
    defer { scratch.removeAll() }
    do { try slot.definition.access.encode(record, &scratch) } catch { return false }
    return scratch.count == 1
  }

  /// Refuses a record that has a value for a field under a locked key.
  func refuseLocked<R: Record>(_ record: R, _ plan: RecordPlan<R>) throws(NotelogError) {
    var buffer = ReadBuffer()
    let stored = try read(record.id, in: plan.collection.number, &buffer)
    for slot in plan.slots {
      let field = plan.collection.fields[slot.index]
      guard field.isSealed, let refusal = lockRefusal(of: field.keyReference) else { continue }
      guard try isLeft(slot, of: record, over: stored, plan) else {
        throw NotelogError(crypto: refusal, "sealing \(plan.collection.place(slot.index, record.id))")
      }
    }
  }
}
