// Fields under locked keys of records that are put whole: what may stay as it is.

import NotelogCrypto

extension Store {
  /// Whether a field is under a locked key, and the record has nothing for it: nil, or the initial value where there is an earlier version.
  func isLeft<R: Record>(
    _ slot: RecordPlan<R>.Slot, of record: R, over stored: OwnedRecord?, _ plan: RecordPlan<R>
  ) throws(NotelogError) -> Bool {
    let field = plan.collection.fields[slot.index]
    guard field.isSealed, try lockRefusal(of: slot, of: record, over: stored, plan) != nil else {
      return false
    }
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

  /// Whether values of a collection's fields can't be sealed now, or for some records can't.
  func hasLockedKey(_ plan: CollectionPlan) -> Bool {
    for field in plan.fields where field.isSealed && hasLockedKey(field) { return true }
    return false
  }

  private func hasLockedKey(_ field: FieldPlan) -> Bool {
    guard field.field.isKeyChosen else { return lockRefusal(of: field.keyReference) != nil }
    return field.field.choices.contains { lockRefusal(of: $0.keys.last ?? 0) != nil }
  }

  /// Why a field's value can't be sealed; where the record names the key, of the one that it names or of the one that its last version named.
  private func lockRefusal<R: Record>(
    of slot: RecordPlan<R>.Slot, of record: R, over stored: OwnedRecord?, _ plan: RecordPlan<R>
  ) throws(NotelogError) -> CryptoError? {
    let field = plan.collection.fields[slot.index]
    guard field.field.isKeyChosen else { return lockRefusal(of: field.keyReference) }
    if let stored = try stored?.find(field.number), let refusal = lockRefusal(of: stored.keyReference) {
      return refusal
    }
    guard let keySlot = plan.slot(ofField: field.field.keyField) else { return nil }
    var scratch = FieldScratch()
    do { try plan.slots[keySlot].definition.access.encode(record, &scratch) } catch { return nil }
    let choice = try scratch.withBytes(in: 0..<scratch.count) { name throws(NotelogError) in
      try plan.collection.choice(for: slot.index, named: name, or: .invalidArgument)
    }
    return lockRefusal(of: choice.keys.last ?? 0)
  }

  /// Refuses a record that has a value for a field under a locked key.
  func refuseLocked<R: Record>(_ record: R, _ plan: RecordPlan<R>) throws(NotelogError) {
    var buffer = ReadBuffer()
    let stored = try read(record.id, in: plan.collection.number, &buffer)
    for slot in plan.slots {
      guard plan.collection.fields[slot.index].isSealed,
        let refusal = try lockRefusal(of: slot, of: record, over: stored, plan)
      else { continue }
      guard try isLeft(slot, of: record, over: stored, plan) else {
        throw NotelogError(crypto: refusal, "sealing \(plan.collection.place(slot.index, record.id))")
      }
    }
  }
}
