// What a write closure does: all of it happens, or nothing.

import NotelogBase
import NotelogCrypto

/// What must be so for a record to be written.
public enum WriteCondition: Sendable, Hashable {
  /// Nothing.
  case always
  /// There is no record of this id.
  case absent
  /// The record is at this revision.
  case revision(UInt64)
}

/// The reads and writes of one write closure.
///
/// It reads what was committed before it, and its own writes. What it wrote becomes visible, all at once,
/// when the closure has returned; where the closure throws, nothing was written.
public struct Transaction: RecordSource, ~Copyable {
  let store: Store
  /// What it writes.
  var batch: Batch
  var encoder = RecordEncoder()
  var nonces = NonceRun()
  private var buffer = ReadBuffer()
  /// What is kept for each collection that it writes to.
  var collections: [UInt16: (plan: CollectionPlan, keys: SealingKeys)] = [:]
  /// Whether rules of what no two records share are to be kept to: nobody has to who changes no values.
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
  /// Uploads that records refer to from now on: each lives until the transaction has been committed.
  var uploads: [any Sendable] = []

  init(_ store: Store, _ batch: consuming Batch) {
    self.store = store
    self.batch = batch
    self.batch.isSearched = true
  }

  /// Gives the batch back.
  consuming func end() -> Batch {
    encoder.wipe()
    return batch
  }

  /// The record type's plan, its schema stored with this transaction where need be.
  mutating func plan<R: Record>(for type: R.Type) throws(NotelogError) -> RecordPlan<R> {
    if let plan = plans[ObjectIdentifier(type)] as? RecordPlan<R> { return plan }
    let plan: RecordPlan<R>
    if let known = store.knownReader(of: type), known.isComplete {
      plan = known.plan
    } else {
      let (collection, isComplete) = try follow(R.schema.description)
      plan = try RecordPlan(R.schema, collection)
      if schemas[collection.number] == nil {
        store.keep(RecordReader(plan: plan, opener: store.opener, isComplete: isComplete))
      }
    }
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
    // After a change of the root that was not finished, the former schemas count together or not at all:
    // INV-M5.
    if schemas.isEmpty, store.isUnlocked, store.vault.isRootChangeUnfinished {
      try storeSchemas { [store] schema throws(NotelogError) in try store.followAll(&schema) }
    }
    let declared = store.resolvingTargets(of: declared, pending: schemas)
    let (schema, isChanged, isComplete) = try store.schemaForWriting(
      declared, pending: pending(declared)?.plan.schema, after: highestSchema, besides: &orphans, migration)
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

  /// The schema that this transaction stores for a declaration already.
  private func pending(_ declared: CollectionDescription) -> SchemaRegistry.Stored? {
    for name in declared.allNames {
      if let stored = schemaNumbers[name].flatMap({ schemas[$0] }), stored.plan.schema.name == name {
        return stored
      }
    }
    return nil
  }

  /// Stores a schema with this transaction.
  mutating func put(_ stored: SchemaRegistry.Stored) {
    schemas[stored.plan.number] = stored
    schemaNumbers[stored.plan.schema.name] = stored.plan.number
    highestSchema = max(highestSchema, stored.plan.number)
    collections[stored.plan.number] = nil
    stored.put(in: &batch)
  }

  /// Makes a collection ready to be written to.
  mutating func prepare(_ plan: CollectionPlan) {
    guard collections[plan.schema.collection]?.plan !== plan else { return }
    collections[plan.schema.collection] = (
      plan, SealingKeys(store.vault, store.schemasAreVerified, for: plan)
    )
  }
}

// MARK: - Records in a transaction: put, get, update, delete.

extension Transaction {
  /// Writes a record, in the place of an earlier version if there is one.
  ///
  /// Fields that the type doesn't declare, because a newer version of the app or another type added them, are
  /// carried over as they are. All others are written: where a key is locked that one of them needs, the
  /// record is refused, and ``update(_:_:if:_:)`` changes fields that need none. Only a field that is nil, and
  /// that no earlier version of the record has, needs no key.
  ///
  /// - Parameters:
  ///   - record: The record. All its sealed fields are sealed anew.
  ///   - condition: What must be so.
  /// - Returns: The record's id.
  /// - Throws: `locked` where the key of a field is; `alreadyExists` and `conflict` where the condition is not
  ///   met; `limitExceeded`, `schemaConflict`, and what a value's encoding throws. The transaction's commit
  ///   throws `alreadyExists` where there is a record of another type under the id, and `notUnique` and
  ///   `brokenReference` by the schema's rules: nothing of it is written then.
  @discardableResult
  public mutating func put<R: Record>(_ record: R, if condition: WriteCondition = .always) throws
    -> RecordID
  {
    let plan = try plan(for: R.self)
    try check(condition, record.id, plan.collection)
    if plan.hasRetired { try plan.refuseRetired(record) }
    if plan.leavesFields {
      try putOver(record, plan)
      return record.id
    }
    do throws(NotelogError) {
      try plan.gather(record, into: &encoder)
      try emit(record.id, plan.collection)
    } catch {
      guard error.code == .locked || error.code == .missingKey else { throw error }
      try putOver(record, plan)
    }
    return record.id
  }

  /// Writes a record over its last version: what the type doesn't declare is carried over.
  private mutating func putOver<R: Record>(_ record: R, _ plan: RecordPlan<R>) throws(NotelogError) {
    let stored = try read(record.id, plan.collection)
    let written = try store.slotsToWrite(of: record, over: stored, plan)
    try merge(record.id, over: stored, plan.collection, changed: Set(written.keys)) { index, scratch in
      guard let number = written[index] else { return }
      try plan.slots[number].definition.access.encode(record, &scratch)
    }
  }

  /// The record with an id as this transaction sees it; nil where there is none.
  public func get<R: Record>(_ type: R.Type, _ id: RecordID) throws -> Entry<R>? {
    let plan = try planForReading(type)
    var buffer = ReadBuffer()
    let found = try store.journal.read(id.bytes, as: batch, into: &buffer)
    return try OwnedRecord(found, in: plan.collection.number, buffer).map { try entry($0, plan) }
  }

  /// A query over the records of a type as this transaction sees them now: what it writes later is not found.
  ///
  /// - Complexity: That of a query, and besides it goes through what the transaction has written to the
  ///   collection. Where that is something, what is found is sorted in memory.
  public func query<R: Record>(_ type: R.Type) throws -> Query<R> {
    let plan = try planForReading(type)
    let own = try ownWrites(in: plan.collection.number)
    let opener = try opener(of: own.records.values.compactMap(\.self))
    return Query(store: store, moment: store.journal.snapshot(), own: own) {
      let reader = RecordReader(plan: plan, opener: opener)
      return { RecordScanner(reader) }
    }
  }

  /// What was written to a collection so far.
  func ownWrites(in number: UInt16) throws(NotelogError) -> OwnWrites {
    var own = OwnWrites(hasNewSchema: schemas[number] != nil)
    for id in batch.versions(in: number) { own.records.updateValue(nil, forKey: id) }
    try batch.forEachRecord(in: number) { (id, body) throws(NotelogError) in
      let record = StoredRecord(id: id, collection: number, revision: 0, isPossiblyStale: false)
      own.records.updateValue(try OwnedRecord(record, copying: body), forKey: id)
    }
    return own
  }

  /// The record type's plan as this transaction sees it; nothing is stored.
  private func planForReading<R: Record>(_ type: R.Type) throws(NotelogError) -> RecordPlan<R> {
    if let plan = plans[ObjectIdentifier(type)] as? RecordPlan<R> { return plan }
    let pending = schemas.isEmpty ? nil : pending(R.schema.description)
    return try store.reader(for: type, pending: pending).plan
  }

  /// Changes fields of a record. What isn't set is carried over as it is, sealed values unopened: that needs
  /// no key.
  ///
  /// - Throws: `notFound`; `locked` where a field of a locked key is set; what `body` throws.
  public mutating func update<R: Record>(
    _ type: R.Type, _ id: RecordID, if condition: WriteCondition = .always,
    _ body: (inout Draft<R>) throws -> Void
  ) throws {
    let plan = try plan(for: type)
    let stored = try existing(id, plan.collection, if: condition)
    var draft = Draft(try entry(stored, plan))
    try body(&draft)
    try write(draft, over: stored, plan)
  }

  /// A record that was read.
  func entry<R: Record>(_ stored: OwnedRecord, _ plan: RecordPlan<R>) throws(NotelogError) -> Entry<R> {
    Entry(stored: stored, reader: RecordReader(plan: plan, opener: try opener(of: [stored])))
  }

  /// Writes what was set in a draft.
  mutating func write<R: Record>(
    _ draft: Draft<R>, over stored: OwnedRecord, _ plan: RecordPlan<R>, dropping dropped: Set<Int> = []
  ) throws(NotelogError) {
    if let mistake = draft.mistake { throw mistake }
    let values = draft.values
    var changed: [Int: Int] = [:]
    for slot in draft.changes.keys { changed[plan.slots[slot].index] = slot }
    if plan.collection.hasChosenKeys { try addKeyFields(to: &changed, stored, plan) }
    var uploaded: [Int: SealedContent] = [:]
    for case (let slot, let upload?) in draft.changes {
      let index = plan.slots[slot].index
      try plan.collection.checkKey(of: upload.content, index, stored.id)
      uploaded[index] = upload.content
      uploads.append(upload)
    }
    try merge(
      stored.id, over: stored, plan.collection, changed: Set(changed.keys), uploaded, dropping: dropped
    ) { index, scratch in
      guard let slot = changed[index] else { return }
      try plan.slots[slot].definition.access.encode(values, &scratch)
    }
  }

  /// Deletes a record, also one that can't be read.
  ///
  /// - Returns: Whether there was one.
  /// - Throws: `conflict` where the condition is not met; the transaction's commit throws
  ///   `brokenReference` where another record refers to this one, and refuses that (``DeleteRule/refuse``).
  @discardableResult
  public mutating func delete<R: Record>(
    _ type: R.Type, _ id: RecordID, if condition: WriteCondition = .always
  ) throws -> Bool {
    let plan = try plan(for: type)
    try check(condition, id, plan.collection)
    return try delete(id, plan.collection)
  }

  mutating func delete(_ id: RecordID, _ plan: CollectionPlan) throws(NotelogError) -> Bool {
    do throws(NotelogError) {
      if try read(id, plan) == nil { return false }
    } catch {
      guard error.code == .damaged else { throw error }
      // What can't be read can be deleted, from the collection that it is listed in.
      let catalog = store.journal.catalog
      var listed = catalog.beginLookup(of: id.bytes)
      try fromStorage(catalog.find(&listed, of: id.bytes))
      if listed.location?.collection != plan.number { return false }
    }
    batch.delete(id.bytes, collection: plan.schema.collection)
    return true
  }

  /// Writes a record's next version: changed fields anew, the others as they are, except those that are
  /// dropped. One that is not stored yet has no others.
  mutating func merge(
    _ id: RecordID, over stored: OwnedRecord?, _ plan: CollectionPlan, changed: Set<Int>,
    _ uploaded: [Int: SealedContent] = [:], dropping dropped: Set<Int> = [],
    encoding encode: (Int, inout Buffer) throws -> Void
  ) throws(NotelogError) {
    encoder.begin(over: stored != nil)
    func add(_ index: Int, to encoder: inout RecordEncoder) throws(NotelogError) {
      if let content = uploaded[index] { return encoder.add(content, index) }
      try encoder.add(index, of: plan) { try encode(index, &$0) }
    }
    var new = changed.sorted()[...]
    for entry in try stored?.entries() ?? [] {
      while let index = new.first, plan.fields[index].number <= entry.number {
        try add(index, to: &encoder)
        new.removeFirst()
      }
      let index = plan.index(of: entry.number)
      let isLeftOut = index.map { changed.contains($0) || dropped.contains($0) } ?? false
      if let stored, !isLeftOut, index != nil || plan.schema.field(entry.number)?.isRetired != true {
        encoder.carry(entry, from: stored.body.rawSpan, index: index)
      }
    }
    for index in new { try add(index, to: &encoder) }
    if let stored, plan.hasChosenKeys { return try emitUnderChosenKeys(stored, plan, changed: changed) }
    try emit(id, plan)
  }

  /// A record that is to be changed.
  mutating func existing(
    _ id: RecordID, _ plan: CollectionPlan, if condition: WriteCondition
  ) throws(NotelogError) -> OwnedRecord {
    try check(condition, id, plan)
    if let stored = try read(id, plan) { return stored }
    throw NotelogError(.notFound, "there is no record \(id) in \(plan.schema.name)").of(id)
  }

  mutating func read(_ id: RecordID, _ plan: CollectionPlan) throws(NotelogError) -> OwnedRecord? {
    try OwnedRecord(store.journal.read(id.bytes, as: batch, into: &buffer), in: plan.number, buffer)
  }

  /// What opens records that were read: there may be some that the transaction has just written.
  func opener(of records: [OwnedRecord]) throws(NotelogError) -> FieldOpener {
    var sealed: [ID16: [UInt8]] = [:]
    // Revision 0 is the transaction's own, and so may chunks be.
    for stored in records where stored.revision == 0 {
      for entry in try stored.entries() where entry.flags.contains(.chunked) {
        let value = ValueReference.value(in: stored.body.rawSpan.extracting(entry.range))
        batch.forEachChunk(of: value) { sealed[value, default: []] += $0.array() }
      }
    }
    return sealed.isEmpty ? store.opener : store.opener.reading(sealed)
  }

  mutating func check(_ condition: WriteCondition, _ id: RecordID, _ plan: CollectionPlan)
    throws(NotelogError)
  {
    switch condition {
    case .always: return
    case .absent:
      guard try read(id, plan) == nil else {
        var error = NotelogError(.alreadyExists, "there is a record \(id) in \(plan.schema.name) already")
        error.sentence = "It is there already."
        throw error.of(id)
      }
    case .revision(let revision):
      let stored = try read(id, plan)
      guard stored?.revision == revision else {
        let found = stored.map { "at revision \($0.revision)" } ?? "deleted"
        throw NotelogError(.conflict, "record \(id) is \(found), not at revision \(revision): read it again")
          .of(id)
      }
    }
  }

  /// Seals the gathered record into the batch.
  mutating func emit(_ id: RecordID, _ plan: CollectionPlan) throws(NotelogError) {
    guard !id.isReserved else {
      throw NotelogError(.invalidArgument, "id \(id) is one of those that the store keeps for itself")
    }
    guard var writing = collections[plan.schema.collection] else {
      throw NotelogError(.invalidArgument, "collection \(plan.schema.name) was not prepared")
    }
    try encoder.put(id, plan, &writing.keys, &nonces, into: &batch)
    collections[plan.schema.collection] = writing
  }
}

extension CollectionPlan {
  /// Refuses an uploaded value that is not under the key in force. Where the record names the key, it is
  /// compared with that once all is known of the record.
  func checkKey(of content: SealedContent, _ index: Int, _ id: RecordID) throws(NotelogError) {
    guard fields[index].isKeyChosen || content.entry.keyReference == keyReferences[index] else {
      throw NotelogError(
        .conflict, "\(place(index, id)): its key was rotated since the value was uploaded; upload it again")
    }
  }
}

extension RecordID {
  /// Whether the store's own records may have this id.
  var isReserved: Bool { bytes.high == 0 && bytes.low >> 16 == 0 }
}

extension RecordEncoder {
  /// Seals the gathered record into a batch.
  mutating func put(
    _ id: RecordID, _ plan: CollectionPlan, _ keys: inout SealingKeys, _ nonces: inout NonceRun,
    into batch: inout Batch
  ) throws(NotelogError) {
    if plan.hasChosenKeys { try chooseKeys(id, plan) }
    if plan.hasDigests { try addDigests(plan, &keys) }
    let envelopeByteCount = envelopeByteCount(plan)
    guard envelopeByteCount + bodyByteCount <= Limits.recordBytes else {
      throw NotelogError(
        .limitExceeded,
        "record \(id) of \(plan.schema.name) would have \(envelopeByteCount + bodyByteCount) bytes, over the limit"
      ).of(id)
    }
    guard envelopeByteCount <= Limits.envelopeBytes else {
      throw NotelogError(
        .limitExceeded, "record \(id) of \(plan.schema.name) has too many indexed fields, or large values"
      ).of(id)
    }
    let count = batch.count
    let evidence = try keys.evidence()
    let collection = plan.schema.collection
    do throws(NotelogError) {
      try writeChunks(id, of: plan, keys: &keys, nonces: &nonces, into: &batch)
      try batch.put(
        id.bytes, collection: collection, envelopeByteCount: envelopeByteCount,
        bodyByteCount: bodyByteCount, hasSeal: evidence != nil,
        carries: evidence != nil && isOver
      ) { (bytes: inout MutableRawSpan) throws(NotelogError) in
        var envelope = bytes.part(0..<envelopeByteCount)
        if envelopeByteCount > 0 { writeEnvelope(plan, into: &envelope) }
        let end = envelopeByteCount + bodyByteCount
        var body = bytes.part(envelopeByteCount..<end)
        try write(id, of: plan, keys: &keys, nonces: &nonces, into: &body)
        guard let evidence else { return }
        let seal: ID16
        do throws(CryptoError) {
          seal = try evidence.seal(
            id.bytes, collection, hasEnvelope: envelopeByteCount > 0, bytes.bytes.extracting(first: end))
        } catch { throw NotelogError(crypto: error, "record \(id)") }
        seal.write(into: &bytes, at: end)
      }
      if let evidence { batch.sealReference = evidence.reference }
    } catch {
      // The chunks of a record that isn't there would be nobody's.
      batch.removeAll(since: count)
      throw error
    }
  }
}

// MARK: - Changing and deleting all records for which something holds.

extension Transaction {
  /// Deletes all records for which a condition holds, as this transaction sees them: its own writes among
  /// them.
  ///
  /// ```swift
  /// let count = try store.write { tx in try tx.deleteAll(Note.self, where: .field(\.folder, is: 3)) }
  /// ```
  ///
  /// Records that can't be read stay where there is a condition: whether it holds for them, nobody knows.
  ///
  /// - Parameters:
  ///   - type: The record type.
  ///   - condition: The condition. Indexes lead to the records, as in a query. Without one all records go, and
  ///     none is read.
  ///   - onDamage: Told of each record that can't be read; what it throws ends the transaction.
  ///     ``Store/damage`` knows of them afterwards, too.
  /// - Returns: How many were deleted.
  /// - Throws: `locked` where the condition needs a locked field; what a query throws. The commit throws
  ///   `limitExceeded` where more is deleted than one transaction may hold, a million records and more, and
  ///   `brokenReference` where another record refers to one of them, and refuses that (``DeleteRule/refuse``).
  @discardableResult
  public mutating func deleteAll<R: Record>(
    _ type: R.Type, where condition: QueryCondition<R>? = nil,
    onDamage: (@Sendable (Finding) throws -> Void)? = nil
  ) throws -> Int {
    let number = try plan(for: type).collection.number
    let search = try search(type, condition, onDamage)
    let ids = try condition == nil ? search.listedIDs() : search.ids()
    for id in ids { batch.delete(id.bytes, collection: number) }
    return ids.count
  }

  /// Changes fields of all records for which a condition holds, as this transaction sees them: its own writes
  /// among them. What isn't set is carried over, as by ``update(_:_:if:_:)``.
  ///
  /// ```swift
  /// try store.write { tx in
  ///   try tx.updateAll(Note.self, where: .field(\.folder, is: 3)) { $0.set(\.folder, 4) }
  /// }
  /// ```
  ///
  /// Records that can't be read stay as they are.
  ///
  /// - Parameters:
  ///   - type: The record type.
  ///   - condition: The condition. Indexes lead to the records, as in a query. Without one all are changed.
  ///   - onDamage: Told of each record that can't be read; what it throws ends the transaction.
  ///   - body: Sets fields of a record.
  /// - Returns: How many were changed.
  /// - Throws: `locked` where the condition needs a locked field, or one is set; `limitExceeded` where more is
  ///   changed than one transaction may hold; what a query and `body` throw.
  @discardableResult
  public mutating func updateAll<R: Record>(
    _ type: R.Type, where condition: QueryCondition<R>? = nil,
    onDamage: (@Sendable (Finding) throws -> Void)? = nil, _ body: (inout Draft<R>) throws -> Void
  ) throws -> Int {
    let ids = try search(type, condition, onDamage).ids()
    for id in ids { try update(type, id, body) }
    return ids.count
  }

  private func search<R: Record>(
    _ type: R.Type, _ condition: QueryCondition<R>?, _ onDamage: (@Sendable (Finding) throws -> Void)?
  ) throws -> Search {
    var query = try query(type)
    if let condition { query = query.where(condition) }
    if let onDamage { query = query.onDamage(onDamage) }
    return try query.search()
  }
}
