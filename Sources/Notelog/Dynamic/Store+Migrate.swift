// Fields whose values become those of others.

import NotelogBase

/// Fields whose values become those of others, once and for all.
///
/// ```swift
/// static let schema = Schema<Person>("person") {
///   Plain("years", \.years)
///   Migrated("age") { old, person in
///     if case .text(let age) = try old.value("age") { person.set(\.years, Int(age) ?? 0) }
///   }
/// }
/// ```
///
/// `Store.migrate(_:)` calls the closure for each record that has a value in one of the fields, and retires
/// them. Until that has been done, a store that has such a field refuses the record type with
/// `schemaConflict`.
public struct Migrated<R: Record>: Sendable {
  let names: [String]
  let transform: @Sendable (DynamicEntry, inout Draft<R>) throws -> Void

  /// Migrates fields.
  ///
  /// - Parameters:
  ///   - names: The fields' names.
  ///   - transform: Sets fields of a record, given what it was. It may be called again for the same record,
  ///     where its result could not be written.
  public init(
    _ names: String...,
    transform: @escaping @Sendable (_ old: DynamicEntry, _ record: inout Draft<R>) throws -> Void
  ) {
    self.names = names
    self.transform = transform
  }
}

extension SchemaElements {
  /// Takes fields whose values become others.
  public static func buildExpression(_ fields: Migrated<R>) -> SchemaElements<R> {
    SchemaElements(migrated: fields.names, migrations: [fields])
  }
}

// MARK: - Migrating fields: their values become those of others, record by record, and they are retired when none has one any more.

/// What migrating records came to.
public struct MigrationSummary: Sendable {
  /// How many records were changed.
  public internal(set) var recordCount = 0
  /// The records that were left as they are because they are damaged: what they had in migrated fields goes
  /// with their next update. Each names its record.
  public internal(set) var findings: [Finding] = []

  /// A transaction has so many records at most, unless they are large.
  static var recordsPerTransaction: Int { 256 }
  /// A transaction that has grown to so many bytes takes in no further record.
  static var bytesPerTransaction: Int { 1 << 20 }

  /// Changes the first of some records in a transaction, and takes them out of `ids`. `change` says whether a
  /// record was still to be changed. What is damaged is left as it is.
  mutating func change(
    first count: Int = recordsPerTransaction, of ids: inout ArraySlice<RecordID>, in tx: inout Transaction,
    _ change: (RecordID, inout Transaction) throws -> Bool
  ) throws {
    for id in ids.prefix(count) where tx.batch.byteCount < Self.bytesPerTransaction {
      do {
        if try change(id, &tx) { recordCount += 1 }
      } catch let error as NotelogError
        where (error.code == .damaged || error.code == .tampered) && error.record ?? id == id
      {
        tx.store.journal.noteDamage(error, of: id)
        findings.append(Finding(error, id))
      }
      ids.removeFirst()
    }
  }
}

extension Store {
  /// Has the fields of a record type migrated that its schema declares as ``Migrated``; returns at once where
  /// that has been done, or there is nothing to do.
  ///
  /// It stores the schema too, where the store has an earlier one of the type: what it says of references and
  /// of ``Unique`` values holds from then on, and not from the type's first write.
  ///
  /// Call it when the store has been opened and unlocked, before the type is used. Records are changed in
  /// transactions of a few hundred, each with its new values and without the old one, and the fields are
  /// retired with the last. What was interrupted, by whatever it may be, goes on with the next call: no
  /// record is changed twice.
  ///
  /// - Parameter type: The record type.
  /// - Returns: What was done.
  /// - Throws: `locked` where a value can't be opened or sealed; `schemaConflict`, also for what a closure of
  ///   the schema throws, with the record in ``NotelogError/record`` and the closure's error in the message
  ///   (a `CancellationError` and a `NotelogError` stay what they are); `full`, `poisoned`, `closed`,
  ///   `readOnly`. The records that were changed in transactions before stay changed.
  /// - Complexity: O(*n*) in the records of the collection, and 16 bytes of memory for each that is changed.
  @discardableResult
  public func migrate<R: Record>(_ type: R.Type) throws -> MigrationSummary {
    var migration = FieldMigration<R>(store: self)
    try migration.run()
    return migration.summary
  }
}

/// A migration of fields that is under way.
struct FieldMigration<R: Record> {
  let store: Store
  /// So many records are changed in a transaction, unless they are large.
  var recordCountMax = MigrationSummary.recordsPerTransaction
  let declared = R.schema.description
  let steps = R.schema.migrations.compactMap { $0 as? Migrated<R> }
  var summary = MigrationSummary()
  /// Records that are damaged, and left out.
  private var leftOut: Set<RecordID> { Set(summary.findings.compactMap(\.record)) }

  /// Changes the records that there are, and retires the fields where none is left.
  mutating func run() throws {
    // Looked up each time: another process may have retired them meanwhile.
    while let schema = store.registry.withLock({ $0.find(declared)?.plan.schema }) {
      let numbers = Set(schema.unmigrated(of: declared).map(\.number))
      if numbers.isEmpty { return try follow(schema) }
      var rest = try pending(numbers, of: schema.collection)[...]
      while !rest.isEmpty { try change(&rest, numbers) }
      let isDone = try store.write { tx in
        // Another record may have come by a value meanwhile.
        guard try pending(numbers, of: schema.collection).isEmpty else { return false }
        _ = try tx.collection(for: declared, .done)
        return true
      }
      if isDone { return }
    }
  }

  /// Stores what the type declares where that is more than what is stored, or another rule.
  private func follow(_ stored: StoredSchema) throws {
    var schema = stored
    let isChanged = try schema.evolve(to: store.resolvingTargets(of: declared)) {
      name, isNew throws(NotelogError) in
      try store.keyReference(name) ?? (isNew ? UInt32.max : nil)
    }
    if isChanged { _ = try store.write { tx in try tx.collection(for: declared).number } }
  }

  /// The records that have a value in a field to be migrated.
  private func pending(_ numbers: Set<UInt16>, of collection: UInt16) throws -> [RecordID] {
    var ids: [RecordID] = []
    let leftOut = self.leftOut
    try store.journal.snapshot().scan(collection, damaged: { _ in }) { record in
      if !leftOut.contains(record.id), try numbers.contains(where: { try record.body.find($0) != nil }) {
        ids.append(record.id)
      }
      return true
    }
    return ids
  }

  /// Changes the first of some records in one transaction.
  private mutating func change(_ ids: inout ArraySlice<RecordID>, _ numbers: Set<UInt16>) throws {
    if Cancellation.flag?.isSet == true { throw CancellationError() }
    try store.write { tx in
      let collection = try tx.collection(for: declared, .underWay)
      let plan = try RecordPlan(R.schema, collection)
      let dropped = Set(numbers.compactMap { collection.index(of: $0) })
      try summary.change(first: recordCountMax, of: &ids, in: &tx) { [self] id, tx in
        try change(id, plan, dropped, in: &tx)
      }
    }
  }

  /// Changes one record.
  ///
  /// - Returns: Whether it has still been to be changed.
  private func change(
    _ id: RecordID, _ plan: RecordPlan<R>, _ dropped: Set<Int>, in tx: inout Transaction
  ) throws -> Bool {
    guard let stored = try tx.read(id, plan.collection) else { return false }
    let present = Set(try stored.entries().compactMap { plan.collection.index(of: $0.number) })
    guard !present.isDisjoint(with: dropped) else { return false }
    var draft = Draft(try tx.entry(stored, plan))
    let old = try DynamicEntry(stored, plan.collection, draft.entry.reader.opener)
    for step in steps {
      let isMeant = dropped.intersection(present).contains { index in
        let field = plan.collection.fields[index]
        return step.names.contains { $0 == field.name || $0 == field.firstName }
      }
      if isMeant { try naming(record: id) { try step.transform(old, &draft) } }
    }
    try naming(record: id) { try tx.write(draft, over: stored, plan, dropping: dropped) }
    return true
  }

  /// Runs what may throw errors of the app's; all but a cancellation become public ones that name the record.
  private func naming(record id: RecordID, _ body: () throws -> Void) throws {
    do { try body() } catch let error as CancellationError {
      throw error
    } catch {
      let place = "\(declared.name): record \(id)"
      guard var known = error as? NotelogError else {
        throw NotelogError(.schemaConflict, "\(place) can't be migrated: \(error)").of(id)
      }
      if !known.message.contains("\(id)") { known.message = "\(place) can't be migrated: \(known.message)" }
      throw known.of(id)
    }
  }
}
