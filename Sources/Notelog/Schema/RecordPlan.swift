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
  // Key paths are immutable; those in a schema were Sendable when they were declared.
  private let slotByPath: [ObjectIdentifier: Int]
  private let paths: [any PartialKeyPath<R> & Sendable]

  init(_ schema: Schema<R>, _ collection: CollectionPlan) throws(NotelogError) {
    self.collection = collection
    var slots: [Slot] = []
    for definition in schema.fields {
      slots.append(Slot(index: try collection.index(of: definition.description.name), definition: definition))
    }
    slots.sort { $0.index < $1.index }
    self.slots = slots
    var first: Step?
    for slot in slots.reversed() { first = Step(slot, next: first) }
    firstStep = first
    prototype = R()
    paths = slots.map { $0.definition.path }
    slotByPath = Dictionary(
      slots.enumerated().map { (ObjectIdentifier($1.definition.path), $0) },
      uniquingKeysWith: { first, _ in first })
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
    guard let slot = paths.firstIndex(where: { $0 == path }) else {
      throw NotelogError(
        .notFound, "the schema of \(R.self) (\(collection.schema.name)) declares no field for \(path)")
    }
    return slot
  }
}
