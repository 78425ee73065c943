// A record type's schema married to the collection's: which property is which field.

import NotelogCrypto
import NotelogJournal

/// A record type, ready for use with one store.
final class RecordPlan<R: Record>: Sendable {
  /// A field that the record type declares.
  struct Slot: Sendable {
    /// The field's place in the collection's plan.
    let index: Int
    let definition: FieldDefinition<R>
  }

  /// A field on the way through all of them.
  ///
  /// A list and not an array: not compiled together with the app, an array of what depends on its record type asks the
  /// runtime for that type at every access.
  final class Step: Sendable {
    /// The field's place in the collection's plan.
    let index: Int
    let access: FieldAccess<R>
    let next: Step?

    init(_ slot: Slot, next: Step?) {
      index = slot.index
      access = slot.definition.access
      self.next = next
    }

    /// Gathers the field and those behind it. Each step calls the next: a loop would count references to it.
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
  /// The same as a list.
  let firstStep: Step?
  /// A record with initial values, copied instead of made.
  let prototype: R
  private let slotByPath: [ObjectIdentifier: Int]

  init(_ schema: Schema<R>, _ collection: CollectionPlan) throws(NotelogError) {
    self.collection = collection
    // What is generic asks the runtime at every step here; numbers are sorted without it.
    var order: [(index: Int, field: Int)] = []
    for field in schema.fields.indices {
      order.append((try collection.index(of: schema.fields[field].description.name), field))
    }
    order.sort { $0.index < $1.index }
    var slots: [Slot] = []
    for (index, field) in order { slots.append(Slot(index: index, definition: schema.fields[field])) }
    var first: Step?
    var slotByPath: [ObjectIdentifier: Int] = [:]
    // Of two with one path the first counts.
    for slot in slots.indices.reversed() {
      first = Step(slots[slot], next: first)
      slotByPath[ObjectIdentifier(slots[slot].definition.path)] = slot
    }
    self.slots = slots
    firstStep = first
    self.slotByPath = slotByPath
    prototype = R()
  }

  /// Gathers all fields of a record.
  func gather(_ record: R, into encoder: inout RecordEncoder) throws(NotelogError) {
    encoder.begin()
    try firstStep?.gather(record, collection, into: &encoder)
  }

  /// The slot of a property.
  func slot(of path: PartialKeyPath<R>) throws(NotelogError) -> Int {
    // The literal in the schema and the one at the call are often one object; if not, they still compare equal.
    if let slot = slotByPath[ObjectIdentifier(path)] { return slot }
    guard let slot = slots.firstIndex(where: { $0.definition.path == path }) else {
      throw NotelogError(
        .notFound,
        "the schema of \(R.self) (\(collection.schema.name)) declares no field for \(path); a protocol's key path is none of a type's: "
          + "have the protocol ask for the path (see the article Queries)")
    }
    return slot
  }
}
