// Records that name the key of their values: values that stay go along when another key is named (FORMAT.md 21.3, INV-M6).

import NotelogBase
import NotelogCrypto

extension Transaction {
  /// Has what names the key of a field that is set written too, with its initial value, where the record lacks it.
  func addKeyFields<R: Record>(
    to changed: inout [Int: Int], _ stored: OwnedRecord, _ plan: RecordPlan<R>
  ) throws(NotelogError) {
    for index in changed.keys where plan.collection.fields[index].field.isKeyChosen {
      let number = plan.collection.fields[index].field.keyField
      guard try stored.find(number) == nil, let slot = plan.slot(ofField: number),
        changed[plan.slots[slot].index] == nil
      else { continue }
      changed[plan.slots[slot].index] = slot
    }
  }

  /// Seals the gathered next version of a record into the batch. What was carried over and is under another key than the record then names is
  /// sealed anew.
  mutating func emitUnderChosenKeys(
    _ stored: OwnedRecord, _ plan: CollectionPlan, changed: Set<Int>
  ) throws(NotelogError) {
    let end = turn.batch.end
    do throws(NotelogError) {
      for number in keyFieldsTaken(plan, changed: changed) {
        try store.opener.prove(number, of: stored, plan)
      }
      for moved in try encoder.movedValues(stored.id, plan, carriedFrom: stored.body.rawSpan) {
        let content = try resealed(moved, of: stored, plan)
        encoder.replace(moved, by: content)
      }
      try emit(stored.id, plan, carriedFrom: stored.body)
    } catch {
      // The chunks of a value that isn't written would be nobody's.
      turn.batch.removeAll(since: end)
      throw error
    }
  }

  /// The fields that stay as they are, and name the key of a value that is to be sealed.
  private func keyFieldsTaken(_ plan: CollectionPlan, changed: Set<Int>) -> Set<UInt16> {
    let taken = Set(changed.map { plan.fields[$0].field.keyField })
    return taken.subtracting(changed.map { plan.fields[$0].number }).subtracting([0])
  }

  /// A value of a record's last version, sealed under the key that its next one names.
  private mutating func resealed(
    _ moved: RecordEncoder.MovedValue, of stored: OwnedRecord, _ plan: CollectionPlan
  ) throws(NotelogError) -> SealedContent {
    let index = moved.index
    let body = stored.body.rawSpan
    guard let entry = try stored.find(plan.fields[index].number) else {
      throw NotelogError(.damaged, "\(plan.place(index, stored.id)) is gone")
    }
    guard store.schemasAreVerified.isSet else {
      throw NotelogError(
        .locked, "\(plan.place(index, stored.id)): nothing is sealed before the store was unlocked")
    }
    guard entry.flags.contains(.chunked) else {
      return try store.opener.resealed(
        entry, in: body, of: stored.id, index, plan, under: moved.keyReference, &nonces)
    }
    try plan.check(entry, index, stored.id, in: body)
    let chunks = try ChunkOpener(
      store.opener.reading(stored), entry, in: body, of: stored.id, index, plan)
    guard chunks.reference.byteCount < Limits.transactionBytes else {
      throw NotelogError(
        .limitExceeded,
        "\(plan.place(index, stored.id)) is too long to be sealed under another key as it is: upload it anew")
    }
    return try chunks.resealed(under: moved.keyReference, as: .randomValue, into: &turn.batch)
  }
}

extension FieldOpener {
  /// Opens a value whose key a field names. The field is in the clear: who altered it on the disk would have a new value sealed under a key of
  /// their choice.
  ///
  /// - Throws: What opening the value throws, where no other opens. A record that has none proves nothing.
  func prove(
    _ keyField: UInt16, of stored: OwnedRecord, _ plan: CollectionPlan
  ) throws(NotelogError) {
    var failure: NotelogError?
    for entry in try stored.entries() {
      guard let index = plan.index(of: entry.number), plan.fields[index].field.keyField == keyField else {
        continue
      }
      do throws(NotelogError) { return try open(entry, index, of: stored, plan) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  private func open(
    _ entry: FieldEntry, _ index: Int, of stored: OwnedRecord, _ plan: CollectionPlan
  ) throws(NotelogError) {
    let body = stored.body.rawSpan
    try plan.check(entry, index, stored.id, in: body)
    if entry.flags.contains(.chunked) {
      _ = try ChunkOpener(self, entry, in: body, of: stored.id, index, plan)
    } else {
      try self.open(entry, in: body, of: stored.id, index, plan) { _ in }
    }
  }
}
