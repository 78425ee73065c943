// What a write closure does: all of it happens, or nothing.

import NotelogBase
import NotelogCrypto

/// What must be so for a record to be written.
public enum Condition: Sendable, Hashable {
  /// Nothing.
  case always
  /// There is no record of this id.
  case absent
  /// The record is at this revision.
  case revision(UInt64)
}

/// The reads and writes of one write closure.
///
/// It reads what was committed before it, and its own writes. What it wrote becomes visible, all at once, when the
/// closure has returned; where the closure throws, nothing was written.
public struct Transaction: ~Copyable {
  /// What a transaction keeps for each collection that it writes to.
  struct Writing {
    let plan: CollectionPlan
    var keys: SealingKeys
  }

  let store: Store
  var turn: Turn
  var encoder = RecordEncoder()
  var nonces = NonceRun()
  var buffer = ReadBuffer()
  var collections: [UInt16: Writing] = [:]
  /// Whether a collection that it writes to has rules of what no two records share.
  private(set) var hasRules = false
  /// Whether they are to be kept to: nobody has to who changes no values.
  var checksRules = true
  /// The record types used, with the plans that hold inside this transaction.
  var plans: [ObjectIdentifier: any Sendable] = [:]
  /// Schemas that are stored with this transaction.
  var schemas: [UInt16: SchemaRegistry.Stored] = [:]
  /// Their numbers by the names of collections, and the highest: a store may get thousands at once.
  private var schemaNumbers: [String: UInt16] = [:]
  private var highestSchema: UInt16 = 0
  /// The collections of records whose schema is gone, once they were looked for.
  private var orphans: Set<UInt16>?
  /// The keys that records will have in ordered indexes.
  var additions: [FieldIndexes.Addition] = []

  /// Uploads that records refer to from now on: each lives until the transaction has been committed.
  var uploads: [any Sendable] = []

  init(_ store: Store, _ turn: consuming Turn) {
    self.store = store
    self.turn = turn
  }

  /// Gives the journal's turn back.
  consuming func end() -> Turn {
    encoder.wipe()
    return turn
  }

  /// The record type's plan, its schema stored with this transaction where need be.
  mutating func plan<R: Record>(for type: R.Type) throws(NotelogError) -> RecordPlan<R> {
    if let plan = plans[ObjectIdentifier(type)] as? RecordPlan<R> { return plan }
    let known = store.readers.find(type)
    var plan = known?.isComplete == true ? known?.plan : nil
    if plan == nil {
      let (collection, isComplete) = try follow(R.schema.description)
      plan = try RecordPlan(R.schema, collection)
      if let plan, schemas[collection.number] == nil {
        let reader = RecordReader(plan: plan, opener: store.opener, isComplete: isComplete)
        store.registry.withLock { $0.keep(reader) }
      }
    }
    guard let plan else { throw NotelogError(.notFound, "the schema of \(R.self) can't be followed") }
    plans[ObjectIdentifier(type)] = plan
    prepare(plan.collection)
    return plan
  }

  /// The collection that a declaration leads to, its schema stored with this transaction where need be.
  mutating func collection(
    for declared: CollectionDescription, _ migration: MigrationStage = .none
  ) throws(NotelogError) -> CollectionPlan {
    let plan = try follow(declared, migration).plan
    prepare(plan)
    return plan
  }

  /// The same, and whether the keys that the declaration names could all be looked up.
  private mutating func follow(
    _ declared: CollectionDescription, _ migration: MigrationStage = .none
  ) throws(NotelogError) -> (plan: CollectionPlan, isComplete: Bool) {
    // After a change of the root that was not finished, the former schemas count together or not at all: INV-M5.
    if schemas.isEmpty, store.isUnlocked, store.vault.isRootChangeUnfinished {
      try storeSchemas { [store] schema throws(NotelogError) in try store.followAll(&schema) }
    }
    var pending: StoredSchema?
    for name in declared.allNames where pending == nil {
      let schema = schemaNumbers[name].flatMap { schemas[$0]?.plan.schema }
      if schema?.name == name { pending = schema }
    }
    let (schema, isChanged, isComplete) = try store.schemaForWriting(
      declared, pending: pending, after: highestSchema, besides: &orphans, migration)
    guard isChanged else {
      let number = schema.collection
      guard let known = schemas[number] ?? store.registry.withLock({ $0.byNumber[number] }) else {
        throw NotelogError(.notFound, "collection \(declared.name) is gone")
      }
      return (known.plan, isComplete)
    }
    let stored = try store.sealSchema(schema)
    put(stored)
    return (stored.plan, isComplete)
  }

  /// Stores a schema with this transaction.
  mutating func put(_ stored: SchemaRegistry.Stored) {
    schemas[stored.plan.number] = stored
    schemaNumbers[stored.plan.schema.name] = stored.plan.number
    highestSchema = max(highestSchema, stored.plan.number)
    collections[stored.plan.number] = nil
    stored.put(in: &turn.batch)
  }

  /// Makes a collection ready to be written to.
  mutating func prepare(_ plan: CollectionPlan) {
    guard collections[plan.schema.collection]?.plan !== plan else { return }
    if !plan.unique.isEmpty { hasRules = true }
    collections[plan.schema.collection] = Writing(
      plan: plan, keys: SealingKeys(store.vault, store.schemasAreVerified, for: plan))
  }
}
