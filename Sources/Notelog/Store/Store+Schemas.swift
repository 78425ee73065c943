// Stored schemas: loading, checking, and following what code declares (FORMAT.md 9).

import NotelogBase
import NotelogCrypto
import Synchronization

extension Store {
  /// Makes the schemas known that were read when the store was opened. Their MACs can't be checked before it
  /// is unlocked.
  func register(_ schemas: SchemaCopies) {
    registry.withLock { registry in
      registry.lost = Set(schemas.finding.lost)
      registry.recordRevisions = schemas.revisions
    }
    register(schemas.chosen.values)
    for stored in schemas.chosen.values { hub.name(stored.plan.schema) }
  }

  /// Makes stored schemas known; readers made of older versions no longer hold.
  ///
  /// - Parameters:
  ///   - schemas: The schemas.
  ///   - revision: That of their records, where this process has just written them.
  func register(_ schemas: some Sequence<SchemaRegistry.Stored>, at revision: UInt64? = nil) {
    registry.withLock { registry in
      for stored in schemas { registry.register(stored, at: revision) }
      readers.change { $0 = [:] }
      schemaEpoch.add(1, ordering: .acquiringAndReleasing)
    }
  }

  /// The reader of a record type, if one was made that still holds.
  func knownReader<R: Record>(of type: R.Type) -> RecordReader<R>? {
    readers.read { $0[ObjectIdentifier(type)] } as? RecordReader<R>
  }

  /// Keeps the reader of a record type, unless the schema it was made of has been replaced meanwhile.
  func keep<R: Record>(_ reader: RecordReader<R>) {
    let collection = reader.plan.collection
    registry.withLock { registry in
      guard registry.byNumber[collection.number]?.plan === collection else { return }
      readers.change { $0[ObjectIdentifier(R.self)] = reader }
    }
  }

  /// Puts schemas that are about to be committed into the second copy, with those that are in force. The
  /// caller has the turn to write.
  ///
  /// - Throws: `limitExceeded` where all schemas together are too long; `full`, `inputOutput`. The copy is
  ///   then as it was.
  func copySchemas(
    _ changed: [UInt16: SchemaRegistry.Stored], takingReserve takesReserve: Bool
  ) throws(NotelogError) {
    let all = Array(registry.withLock { $0.byNumber }.merging(changed) { _, new in new }.values)
    func replace() throws(NotelogError) { try SchemaFile(storage: storage).replace(with: all, of: storeID) }
    if takesReserve { try journal.log.space.lendingReserve(replace) } else { try replace() }
  }

  /// What reads records of a type. Nothing is written: a schema that is new, or newer than the stored one, is
  /// followed in memory, and stored with the first write. Until then no record is of a new one. Whoever reads
  /// a moment makes the moment first: then the schema is known of every record in it.
  ///
  /// - Parameters:
  ///   - type: The record type.
  ///   - pending: The schema that the transaction which asks stores for it, if it does.
  /// - Returns: The reader.
  /// - Throws: `schemaConflict`, `closed`.
  func reader<R: Record>(
    for type: R.Type, pending: SchemaRegistry.Stored? = nil
  ) throws(NotelogError) -> RecordReader<R> {
    if pending == nil, let reader = knownReader(of: type) { return reader }
    let declared = resolvingTargets(of: R.schema.description)
    var stored = pending ?? registry.withLock { $0.find(declared) }
    if stored == nil {
      // What another process has committed is visible a little earlier than its schemas are known.
      journal.awaitFollowing()
      stored = registry.withLock { $0.find(declared) }
    }
    // A key that doesn't exist yet sealed nothing yet either: any number will do to look for it.
    func newKey(_ name: String) throws(NotelogError) -> UInt32 { try keyReference(name) ?? UInt32.max }
    guard let stored else {
      let schema = try StoredSchema(declaring: declared, collection: CollectionPlan.unstored, key: newKey)
      return RecordReader(
        plan: try RecordPlan(R.schema, CollectionPlan(schema, storeID: storeID, vault)), opener: opener)
    }
    var schema = stored.plan.schema
    // A key that can't be looked up leaves a field with the one it has: good enough to read, not to write.
    var isComplete = true
    let isChanged = try schema.evolve(to: declared) { name, isNew throws(NotelogError) in
      if isNew { return try newKey(name) }
      let reference = try keyReference(name)
      if reference == nil { isComplete = false }
      return reference
    }
    let collection = isChanged ? try CollectionPlan(schema, storeID: storeID, vault) : stored.plan
    let reader = RecordReader(
      plan: try RecordPlan(R.schema, collection), opener: opener, isComplete: isComplete)
    if !isChanged { keep(reader) }
    return reader
  }

  /// A declaration whose fields name the collections that they refer to as those were first declared: that
  /// name stays.
  func resolvingTargets(
    of declared: CollectionDescription, pending: [UInt16: SchemaRegistry.Stored] = [:]
  ) -> CollectionDescription {
    var declared = declared
    for index in declared.fields.indices {
      for name in declared.fields[index].targets {
        let new = pending.values.first { [$0.plan.schema.name, $0.plan.schema.firstName].contains(name) }
        guard let found = new ?? registry.withLock({ $0.find(name) }) else { continue }
        declared.fields[index].target = found.plan.schema.firstName
        break
      }
    }
    return declared
  }

  /// The schema that a declaration leads to, when it is about to be written with: keys that it names are
  /// made.
  ///
  /// - Parameters:
  ///   - declared: The declaration.
  ///   - pending: The schema that the transaction stores for it already.
  ///   - highest: The highest number that a schema has which the transaction stores.
  ///   - orphans: The collections of records whose schema is gone, which are of another type; nil where
  ///     nobody has looked.
  ///   - migration: How far a migration has come.
  /// - Returns: The schema, and whether it must be stored.
  /// - Throws: `locked`, `schemaConflict`, `limitExceeded`.
  func schemaForWriting(
    _ declared: CollectionDescription, pending: StoredSchema?, after highest: UInt16,
    besides orphans: inout Set<UInt16>?, _ migration: MigrationStage = .none
  ) throws(NotelogError) -> (schema: StoredSchema, isChanged: Bool, isComplete: Bool) {
    let known = pending ?? registry.withLock { $0.find(declared)?.plan.schema }
    guard var schema = known else {
      if orphans == nil {
        let stored = registry.withLock { Set($0.byNumber.keys) }.union([SchemaRecord.collection])
        orphans = try Set(journal.snapshot().recordCounts(besides: stored).keys)
      }
      let number = try registry.withLock { registry throws(NotelogError) in
        try registry.nextNumber(after: highest, besides: orphans ?? [])
      }
      guard isUnlocked else {
        throw NotelogError(.locked, "collection \(declared.name) is new: unlock the store to add it")
      }
      let schema = try StoredSchema(declaring: declared, collection: number) { name throws(NotelogError) in
        try keyReference(creating: name)
      }
      return (schema, true, true)
    }
    let canCreate = isUnlocked
    let isChanged = try schema.evolve(to: declared, migration) { name, _ throws(NotelogError) in
      canCreate && !isShredded(name) ? try keyReference(creating: name) : try keyReference(name)
    }
    return (schema, isChanged, canCreate)
  }

  /// A schema's record, ready to be written.
  func sealSchema(_ schema: StoredSchema) throws(NotelogError) -> SchemaRegistry.Stored {
    // What was not checked is not given a fresh MAC.
    guard schemasAreVerified.isSet else {
      throw NotelogError(.locked, "the store's schemas have not been checked yet: unlock it")
    }
    try refuseMissingSchemas("storing the schema of \(schema.name)")
    let bytes = schema.encoded()
    let mac = try naming("storing the schema of \(schema.name)", vault.schemaMAC(bytes.rawSpan))
    return SchemaRegistry.Stored(
      plan: try CollectionPlan(schema, storeID: storeID, vault), bytes: bytes, mac: mac)
  }

  // MARK: - The keyring counts the schemas' revisions, so that nobody takes a schema away, or puts an earlier
  // one back: INV-M7.

  /// How many revisions the keyring counts that the stored schemas lack: some were lost or taken away, or are
  /// earlier ones. No schema is stored then, until ``acceptSchemas()``.
  public var missingSchemaRevisions: Int {
    // Whoever follows others reads the log again after the keyring: what it counts is known then.
    let (counted, found) = (vault.keyring.schemaRevisions, registry.withLock { $0.revisions })
    return counted > found ? Int(clamping: counted - found) : 0
  }

  /// The same in words; nil where none is missing.
  var missingSchemaWords: String? {
    let count = missingSchemaRevisions
    guard count > 0 else { return nil }
    let revisions = count == 1 ? "a revision" : "\(count) revisions"
    return
      "schemas are missing, or are earlier ones: the keyring counts \(revisions) more; restore the store, or accept its schemas"
  }

  /// Refuses to store a schema where one is missing: a collection that was sealed would be made anew, and
  /// plain.
  func refuseMissingSchemas(_ place: String) throws(NotelogError) {
    if let words = missingSchemaWords { throw NotelogError(.tampered, "\(place): \(words)") }
  }

  /// Has the keyring count the schemas, once they are durable. What can't be written now is at the next
  /// unlocking, or at closing.
  func countSchemas() {
    guard isUnlocked, journal.holdsLock,
      registry.withLock({ $0.revisions }) > vault.keyring.schemaRevisions,
      (try? journal.synchronize()) != nil
    else { return }
    try? changeSchemaCount("counting the schemas")
  }

  /// Takes the schemas that are there as all there are: where some were lost, or an earlier moment was
  /// restored. Until then none is stored, no collection is made, and everything else is served.
  ///
  /// Look first which are there: whoever can write the files may have taken one away, so that its collection
  /// is made anew with plain fields.
  ///
  /// - Throws: `locked`, `busy`, `full`, `inputOutput`, `readOnly`, `closed`.
  public func acceptSchemas() throws {
    if missingSchemaRevisions > 0 { try changeSchemaCount("accepting the schemas") }
  }

  private func changeSchemaCount(_ place: String) throws(NotelogError) {
    try changeKeyring(place) { $0.countSchemas(registry.withLock { $0.revisions }) }
  }
}

// MARK: - The schemas of an open store: as stored, and as code declares them.

/// The collections of an open store.
struct SchemaRegistry: Sendable {
  /// A collection as it is stored.
  struct Stored: Sendable {
    let plan: CollectionPlan
    let bytes: [UInt8]
    let mac: [UInt8]
  }

  private(set) var byNumber: [UInt16: Stored] = [:]
  /// Those whose records refer to others.
  private(set) var referring: [CollectionPlan] = []
  /// What the revisions of all schemas add up to.
  var revisions: UInt64 { byNumber.values.reduce(0) { $0 + UInt64($1.plan.schema.revision) } }
  /// The collections whose schemas can't be read: their numbers are taken all the same.
  var lost: Set<UInt16> = []
  /// The revisions of the schemas' records: another one is another process's.
  var recordRevisions: [ID16: UInt64] = [:]

  /// The collection that a declaration means, by its name or a former one.
  func find(_ declared: CollectionDescription) -> Stored? {
    declared.allNames.lazy.compactMap { find($0) }.first
  }

  /// The collection of a name.
  func find(_ name: String) -> Stored? {
    byNumber.values.first { $0.plan.schema.name == name }
      ?? byNumber.values.first { $0.plan.schema.firstName == name }
  }

  /// Makes a stored schema known.
  mutating func register(_ stored: Stored, at revision: UInt64?) {
    if let revision { recordRevisions[SchemaRecord.key(stored.plan.number)] = revision }
    lost.remove(stored.plan.number)
    byNumber[stored.plan.number] = stored
    referring.removeAll { $0.number == stored.plan.number }
    if !stored.plan.references.isEmpty { referring.append(stored.plan) }
  }

  /// The number that the next collection gets: higher than that of any schema and than `pending`, and none
  /// that others have.
  func nextNumber(after pending: UInt16 = 0, besides taken: Set<UInt16> = []) throws(NotelogError) -> UInt16 {
    var next = Int(max(byNumber.keys.max() ?? 0, lost.max() ?? 0, pending)) + 1
    while next <= Limits.collections, taken.contains(UInt16(next)) { next += 1 }
    guard next <= Limits.collections else {
      throw NotelogError(.limitExceeded, "the store has \(Limits.collections) collections already")
    }
    return UInt16(next)
  }
}

extension [UInt16: SchemaRegistry.Stored] {
  /// The schemas in order of their collections, for their MACs to be checked.
  var sealed: [SealedSchema] { sorted { $0.key < $1.key }.map { ($0.value.bytes, $0.value.mac) } }
}

// MARK: - Record types compared with the stored schemas, before any of them is used.

extension Store {
  /// Refuses record types that don't fit the stored schemas, and collections that were renamed unsaid.
  /// Nothing is stored.
  func compareSchemas(of types: [any Record.Type]) throws(NotelogError) {
    if types.isEmpty { return }
    let declarations = types.map { declaration(of: $0) }
    var unclaimed = registry.withLock { $0.byNumber.mapValues(\.plan.schema).filter { !$1.isOwn } }
    var new: [CollectionDescription] = []
    for declared in declarations {
      guard var schema = registry.withLock({ $0.find(declared)?.plan.schema }) else {
        new.append(declared)
        continue
      }
      unclaimed[schema.collection] = nil
      try schema.evolve(to: declared, .underWay) { name, isNew throws(NotelogError) in
        try self.keyReference(name) ?? (isNew ? UInt32.max : nil)
      }
    }
    for declared in new {
      // All of its fields in use are declared, of the same type and sealed alike.
      let old = unclaimed.values.first { schema in
        let inUse = schema.fields.filter { !$0.isRetired && !$0.isDigest }
        return !inUse.isEmpty
          && inUse.allSatisfy { old in
            declared.fields.contains {
              $0.name == old.name && $0.type == old.type && $0.isSealed == old.isSealed
            }
          }
      }
      guard let type = declared.typeName, let old else { continue }
      throw NotelogError(
        .schemaConflict,
        "\(type) declares collection \(declared.name), which is new, and no type declares the stored \(old.name), all of whose fields it has: if it was renamed, add formerly: \"\(old.name)\" to its schema"
      )
    }
  }

  private func declaration<R: Record>(of type: R.Type) -> CollectionDescription { R.schema.description }
}
