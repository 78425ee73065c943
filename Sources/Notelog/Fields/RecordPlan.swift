// A record type's schema married to the collection's: which property is which field.

import NotelogBase
import NotelogCrypto

/// A record type, ready for use with one store.
final class RecordPlan<R: Record>: Sendable {
  /// A field that the record type declares, on the way through all of them.
  ///
  /// A list and not an array: not compiled together with the app, an array of what depends on its record type
  /// asks the runtime for that type at every access.
  final class Slot: Sendable {
    /// The field's place in the collection's plan.
    let index: Int
    let definition: FieldDefinition<R>
    let access: FieldAccess<R>
    let next: Slot?

    init(_ index: Int, _ definition: FieldDefinition<R>, next: Slot?) {
      self.index = index
      self.definition = definition
      access = definition.access
      self.next = next
    }

    /// Gathers the field and those behind it. Each calls the next: a loop would count references to it.
    fileprivate func gather(
      _ record: R, _ plan: CollectionPlan, into encoder: inout RecordEncoder
    ) throws(NotelogError) {
      try encoder.add(index, of: plan) { try access.encode(record, &$0) }
      try next?.gather(record, plan, into: &encoder)
    }
  }

  let collection: CollectionPlan
  /// The declared fields, in ascending order of number.
  let slots: [Slot]
  let firstSlot: Slot?
  /// Declared fields that another version of the app has retired.
  let retired: [FieldDefinition<R>]
  /// Whether there are any: each put and each read of a field asks, and asking an array whose type is known
  /// at run time only takes longer.
  var hasRetired: Bool { !retired.isEmpty }
  /// Whether the collection has fields in use that the type does not declare.
  let leavesFields: Bool
  /// A record with initial values, copied instead of made.
  let prototype: R
  private let slotByPath: [ObjectIdentifier: Int]

  init(_ schema: Schema<R>, _ collection: CollectionPlan) throws(NotelogError) {
    self.collection = collection
    // What is generic asks the runtime at every step here; numbers are sorted without it.
    var order: [(index: Int, field: Int)] = []
    var retired: [FieldDefinition<R>] = []
    for field in schema.fields.indices {
      let description = schema.fields[field].description
      if let index = collection.index(of: description) {
        order.append((index, field))
      } else {
        retired.append(schema.fields[field])
      }
    }
    self.retired = retired
    leavesFields = collection.fields.count - collection.digests.count > order.count
    order.sort { $0.index < $1.index }
    var slots: [Slot] = []
    var slotByPath: [ObjectIdentifier: Int] = [:]
    // From the last to the first: of two with one path the first counts.
    for (slot, place) in order.enumerated().reversed() {
      let definition = schema.fields[place.field]
      slots.append(Slot(place.index, definition, next: slots.last))
      slotByPath[ObjectIdentifier(definition.path)] = slot
    }
    firstSlot = slots.last
    self.slots = slots.reversed()
    self.slotByPath = slotByPath
    prototype = R()
  }

  /// Gathers all fields of a record.
  func gather(_ record: R, into encoder: inout RecordEncoder) throws(NotelogError) {
    encoder.begin()
    try firstSlot?.gather(record, collection, into: &encoder)
  }

  /// The slot of a property.
  func slot(of path: PartialKeyPath<R>) throws(NotelogError) -> Int {
    // The literal in the schema and the one at the call are often one object; if not, they still compare
    // equal.
    if let slot = slotByPath[ObjectIdentifier(path)] { return slot }
    guard let slot = slots.firstIndex(where: { $0.definition.path == path }) else {
      if isRetired(path) {
        throw NotelogError(
          .schemaConflict,
          "the field for \(path) of \(R.self) was retired by another version of the app: it has its initial value, and no other"
        )
      }
      throw NotelogError(
        .invalidArgument,
        "the schema of \(R.self) (\(collection.schema.name)) declares no field for \(path): name a struct's field, as in value(of: \\.login.site); read a computed property that is none from record(); and a protocol's key path is none of a type's, have the protocol ask for the path (see the article Queries)"
      )
    }
    return slot
  }

  /// Whether a key path, which may be that of a protocol, leads to the record's id.
  func isID(_ path: PartialKeyPath<R>) -> Bool {
    guard let path = path as? KeyPath<R, RecordID> else { return false }
    var record = prototype
    record.id = RecordID()
    return record[keyPath: path] == record.id
  }

  /// The place of a property's field in the collection's plan.
  func index(of path: PartialKeyPath<R>) throws(NotelogError) -> Int { slots[try slot(of: path)].index }

  /// The slot of a field's number; nil where the type doesn't declare the field.
  func slot(ofField number: UInt16) -> Int? {
    slots.firstIndex { collection.fields[$0.index].number == number }
  }

  /// Whether a property's field was retired by another version of the app.
  func isRetired(_ path: PartialKeyPath<R>) -> Bool { retired.contains { $0.path == path } }

  /// Refuses a record that has a value in a field that was retired: it would be lost.
  func refuseRetired(_ record: R) throws(NotelogError) {
    for field in retired where try !hasInitialValue(record, field) {
      throw NotelogError(
        .schemaConflict,
        "\(collection.schema.name).\(field.description.name) was retired by another version of the app, and a value in it would be lost: update the app, or name a new field otherwise"
      )
    }
  }

  /// Whether a record has a field's initial value.
  func hasInitialValue(_ record: R, _ field: FieldDefinition<R>) throws(NotelogError) -> Bool {
    var scratch = Buffer(isSecret: true)
    do {
      try field.access.encode(record, &scratch)
      let count = scratch.count
      try field.access.encode(prototype, &scratch)
      return scratch.bytes.extracting(first: count).elementsEqual(
        scratch.bytes.extracting(droppingFirst: count))
    } catch { throw NotelogError(storing: "\(collection.schema.name).\(field.description.name)", error) }
  }
}

// MARK: - The keys of a collection's fields, looked up once a transaction.

/// The keys that a transaction seals a collection's fields with; each is looked up when it is first needed.
struct SealingKeys {
  private let vault: Vault
  /// Whether the schemas were checked that say what is sealed under which key.
  private let mayBeUsed: Flag
  private var keys: [HeldKey?]
  /// What records get their seals with, once it was asked for.
  private var evidenceKeys: EvidenceKeys?
  private var knowsEvidence = false

  init(_ vault: Vault, _ mayBeUsed: Flag, for plan: CollectionPlan) {
    self.vault = vault
    self.mayBeUsed = mayBeUsed
    keys = Array(repeating: nil, count: plan.fields.count)
  }

  /// Gets ready for another transaction: keys that were wiped are forgotten.
  mutating func reset(for plan: CollectionPlan) {
    knowsEvidence = false
    if keys.count != plan.fields.count { keys = Array(repeating: nil, count: plan.fields.count) }
    for index in keys.indices {
      guard let held = keys[index] else { continue }
      let isOpen = (try? vault.sealingKey(held.key.reference)) === held.key
      if !isOpen { keys[index] = nil }
    }
  }

  /// What the records of the transaction get their seals with; nil where the store keeps no evidence.
  mutating func evidence() throws(NotelogError) -> EvidenceKeys? {
    if !knowsEvidence {
      evidenceKeys = try EvidenceKeys.inForce(vault, known: evidenceKeys)
      knowsEvidence = true
    }
    return evidenceKeys
  }

  /// The key that a field's value is to be sealed under: the one in force, or that which its record names.
  mutating func key(
    _ index: Int, _ reference: UInt32, of plan: CollectionPlan
  ) throws(NotelogError) -> HeldKey {
    if let held = keys[index], held.key.reference.rawValue == reference { return held }
    // A key may be open all the same: one that is always, or by a grant.
    guard mayBeUsed.isSet else {
      throw NotelogError(
        .locked, "\(plan.name(of: index)): nothing is sealed before the store was unlocked")
    }
    let key = try vault.sealingKey(reference, for: plan.name(of: index))
    let held = HeldKey(key, vault)
    keys[index] = held
    return held
  }
}

// MARK: - Reading the fields of a record type's records, wherever their bytes are.

/// A record type's plan and the keys to read its records with.
final class RecordReader<R: Record>: Sendable {
  let plan: RecordPlan<R>
  let opener: FieldOpener
  /// Whether the key of every field is the one that code names now; where it couldn't be looked up, records
  /// are read by this plan and not written.
  let isComplete: Bool

  init(plan: RecordPlan<R>, opener: FieldOpener, isComplete: Bool = true) {
    self.plan = plan
    self.opener = opener
    self.isComplete = isComplete
  }

  /// One field of a record, its initial value where the record lacks it; or its id.
  func value<Value>(
    of path: KeyPath<R, Value>, _ stored: ScannedRecord, _ opening: inout Opening
  ) throws -> Value {
    if plan.hasRetired, plan.isRetired(path) { return plan.prototype[keyPath: path] }
    var record = plan.prototype
    let slot: RecordPlan<R>.Slot
    do { slot = plan.slots[try plan.slot(of: path)] } catch {
      guard plan.isID(path), let id = stored.id as? Value else { throw error }
      return id
    }
    try load(slot, stored, into: &record, &opening)
    return record[keyPath: path]
  }

  /// All fields of a record.
  func record(_ stored: ScannedRecord, _ opening: inout Opening) throws -> R {
    var record = plan.prototype
    record.id = stored.id
    var slot = plan.firstSlot
    while let current = slot {
      try load(current, stored, into: &record, &opening)
      slot = current.next
    }
    return record
  }

  private func load(
    _ slot: RecordPlan<R>.Slot, _ stored: ScannedRecord, into record: inout R, _ opening: inout Opening
  ) throws {
    let number = plan.collection.fields[slot.index].number
    guard let entry = try stored.body.find(number) else { return }
    try opening.open(entry, in: stored.body.bytes, of: stored.id, slot.index, plan.collection, opener) {
      try slot.access.decode(&record, $0)
    }
  }
}
