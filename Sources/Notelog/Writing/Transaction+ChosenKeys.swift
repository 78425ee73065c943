// Records that name the key of their values: values that stay go along when another key is named (FORMAT.md
// 21.3, INV-M6).

import NotelogBase
import NotelogCrypto

extension Transaction {
  /// Has what names the key of a field that is set written too, with its initial value, where the record
  /// lacks it.
  func addKeyFields<R: Record>(
    to changed: inout [Int: Int], _ stored: OwnedRecord, _ plan: RecordPlan<R>
  ) throws(NotelogError) {
    for index in changed.keys where plan.collection.fields[index].isKeyChosen {
      let number = plan.collection.fields[index].keyField
      guard try stored.find(number) == nil, let slot = plan.slot(ofField: number),
        changed[plan.slots[slot].index] == nil
      else { continue }
      changed[plan.slots[slot].index] = slot
    }
  }

  /// Seals the gathered next version of a record into the batch. What was carried over and is under another
  /// key than the record then names is sealed anew.
  mutating func emitUnderChosenKeys(
    _ stored: OwnedRecord, _ plan: CollectionPlan, changed: Set<Int>
  ) throws(NotelogError) {
    let count = batch.count
    do throws(NotelogError) {
      // The fields that stay as they are, and name the key of a value that is to be sealed.
      let named = Set(changed.map { plan.fields[$0].keyField })
      for number in named.subtracting(changed.map { plan.fields[$0].number }).subtracting([0]) {
        try store.opener.prove(number, of: stored, plan)
      }
      for (place, reference) in try encoder.movedValues(stored.id, plan) {
        let content = try resealed(encoder.fields[place].index, under: reference, of: stored, plan)
        encoder.replace(place, by: content)
      }
      try emit(stored.id, plan)
    } catch {
      // The chunks of a value that isn't written would be nobody's.
      batch.removeAll(since: count)
      throw error
    }
  }

  /// A value of a record's last version, sealed under the key that its next one names.
  private mutating func resealed(
    _ index: Int, under reference: UInt32, of stored: OwnedRecord, _ plan: CollectionPlan
  ) throws(NotelogError) -> SealedContent {
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
        entry, in: body, of: stored.id, index, plan, under: reference, &nonces)
    }
    try plan.check(entry, index, stored.id, in: body)
    let chunks = try ChunkOpener(opener(of: [stored]), entry, in: body, of: stored.id, index, plan)
    guard chunks.reference.byteCount < Limits.transactionBytes else {
      throw NotelogError(
        .limitExceeded,
        "\(plan.place(index, stored.id)) is too long to be sealed under another key as it is: upload it anew")
    }
    return try chunks.resealed(under: reference, as: .randomValue, into: &batch)
  }
}

extension FieldOpener {
  /// Opens a value whose key a field names. The field is in the clear: who altered it on the disk would have
  /// a new value sealed under a key of their choice.
  ///
  /// - Throws: What opening the value throws, where no other opens. A record that has none proves nothing.
  func prove(
    _ keyField: UInt16, of stored: OwnedRecord, _ plan: CollectionPlan
  ) throws(NotelogError) {
    var failure: NotelogError?
    for entry in try stored.entries() {
      guard let index = plan.index(of: entry.number), plan.fields[index].keyField == keyField else {
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

// MARK: - Schemas that are stored anew because keys or the root changed: docs/format-keyring.md.

extension Store {
  /// Has all fields of a schema seal under the generations in force; the schema is stored anew in any case.
  func followAll(_ schema: inout StoredSchema) throws(NotelogError) -> Bool {
    for key in vault.keyring.namedKeys { _ = try follow(&schema, key.number) }
    return true
  }

  /// Has the fields that are sealed under a key seal under its generation in force.
  ///
  /// - Returns: Whether anything changed.
  func follow(_ schema: inout StoredSchema, _ number: UInt16) throws(NotelogError) -> Bool {
    let keyring = vault.keyring
    guard let current = keyring.namedKey(number)?.current.rawValue, current != 0 else { return false }
    var isChanged = false
    for index in schema.fields.indices {
      let place = "\(schema.name).\(schema.fields[index].name)"
      try schema.fields[index].changeKeys { keys throws(NotelogError) in
        guard let last = keys.last, keyring.dataKey(KeyReference(rawValue: last))?.number == number else {
          return
        }
        if try keys.putInForce(current, of: place) { isChanged = true }
      }
    }
    return isChanged
  }
}

extension Transaction {
  /// Changes stored schemas, and stores those anew that were changed; all, where a change of the root is not
  /// finished: INV-M5.
  mutating func storeSchemas(
    _ change: (inout StoredSchema) throws(NotelogError) -> Bool
  ) throws(NotelogError) {
    batch.isOfKeys = true
    let isAll = store.vault.isRootChangeUnfinished
    for stored in store.registry.withLock({ Array($0.byNumber.values) }) {
      var schema = stored.plan.schema
      guard try change(&schema) || isAll else { continue }
      try schema.revise()
      put(try store.sealSchema(schema))
    }
  }
}

// MARK: - Fields under locked keys of records that are put whole.

extension Store {
  /// The fields to be written of a record that is put, each with its slot. One under a locked key is left out
  /// where it is nil, is nil initially, and no earlier version has it: a record that lacks it says the same.
  ///
  /// - Throws: `locked` where another field is under a locked key.
  func slotsToWrite<R: Record>(
    of record: R, over stored: OwnedRecord?, _ plan: RecordPlan<R>
  ) throws(NotelogError) -> [Int: Int] {
    var written: [Int: Int] = [:]
    for (number, slot) in plan.slots.enumerated() {
      let field = plan.collection.fields[slot.index]
      guard field.isSealed, let refusal = try lockRefusal(of: slot, of: record, plan) else {
        written[slot.index] = number
        continue
      }
      // Nil is one zero.
      var scratch = Buffer(isSecret: true)
      for one in [plan.prototype, record] { try? slot.access.encode(one, &scratch) }
      let isNil = field.isOptional && scratch.count == 2 && scratch.bytes.isZero
      guard isNil, try stored?.find(field.number) == nil else {
        var error = NotelogError(crypto: refusal, plan.collection.place(slot.index, record.id))
        error.message += ", or use update, which keeps what it doesn't set"
        throw error
      }
    }
    return written
  }

  /// Whether values of a collection's fields can't be sealed now, or for some records can't.
  func hasLockedKey(_ plan: CollectionPlan) -> Bool {
    plan.fields.contains { field in
      guard field.isSealed else { return false }
      guard field.isKeyChosen else { return lockRefusal(of: field.keys.last ?? 0) != nil }
      return field.choices.contains { lockRefusal(of: $0.keys.last ?? 0) != nil }
    }
  }

  /// Why a field's value can't be sealed, under the key that the record names if it names one.
  private func lockRefusal<R: Record>(
    of slot: RecordPlan<R>.Slot, of record: R, _ plan: RecordPlan<R>
  ) throws(NotelogError) -> CryptoError? {
    let field = plan.collection.fields[slot.index]
    guard field.isKeyChosen else { return lockRefusal(of: field.keys.last ?? 0) }
    guard let keySlot = plan.slot(ofField: field.keyField) else { return nil }
    var scratch = Buffer()
    do { try plan.slots[keySlot].definition.access.encode(record, &scratch) } catch { return nil }
    let choice = try plan.collection.choice(
      for: slot.index, named: scratch.bytes, or: .invalidArgument)
    return lockRefusal(of: choice.keys.last ?? 0)
  }
}
