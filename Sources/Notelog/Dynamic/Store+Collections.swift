// The collections of a store, for those who have no record type.

import NotelogBase

extension Store {
  /// The store's collections, in the order in which they were made, without those that the library itself
  /// keeps: their names begin with `notelog.`.
  public var collections: [DynamicCollection] {
    registry.withLock { $0.byNumber.values.map(\.plan).filter { !$0.schema.isOwn } }
      .sorted { $0.schema.collection < $1.schema.collection }
      .map { DynamicCollection(store: self, plan: $0) }
  }

  /// The numbers of collections whose schemas are lost, and how many records there are in each: nothing says
  /// any longer what is in those, and ``collections`` lacks them.
  ///
  /// - Throws: `inputOutput`, `closed`.
  /// - Complexity: O(*n*) in the number of records, of which it reads what segments list.
  public func collectionsWithoutSchema() throws -> [Int: Int] {
    let known = registry.withLock { Set($0.byNumber.keys) }.union([SchemaRecord.collection])
    let counts = try journal.snapshot().recordCounts(besides: known)
    return Dictionary(uniqueKeysWithValues: counts.map { (Int($0.key), $0.value) })
  }

  /// The store's collections, and how many records each has, in one going through what segments list of all.
  ///
  /// - Throws: `inputOutput`, `closed`.
  public func countRecords() throws -> [(collection: DynamicCollection, recordCount: Int)] {
    let counts = try journal.snapshot().recordCounts(besides: [SchemaRecord.collection])
    return collections.map { ($0, counts[$0.plan.schema.collection] ?? 0) }
  }

  /// The collection of a name.
  ///
  /// - Throws: `notFound`.
  public func collection(_ name: String) throws -> DynamicCollection {
    guard let stored = registry.withLock({ $0.find(name) }) else {
      throw NotelogError(.notFound, "the store has no collection \(name)")
    }
    return DynamicCollection(store: self, plan: stored.plan)
  }

  /// Makes a collection, or brings one up to date: fields are added, nothing is taken away.
  ///
  /// - Parameters:
  ///   - name: The collection's name.
  ///   - fields: Its fields. Named keys that don't exist are made.
  /// - Returns: The collection.
  /// - Throws: `locked`, `schemaConflict`, `invalidArgument`.
  @discardableResult
  public func createCollection(_ name: String, fields: [FieldDescription]) throws -> DynamicCollection {
    try createCollections([(name, fields)])
    return try collection(name)
  }

  /// Makes several collections, or brings them up to date, in one transaction: all of them or none.
  ///
  /// - Parameter collections: Their names and fields. Named keys that don't exist are made.
  /// - Throws: `locked`, `schemaConflict`, `invalidArgument`.
  public func createCollections(_ collections: [(name: String, fields: [FieldDescription])]) throws {
    let declared = collections.map { CollectionDescription(name: $0.name, fields: $0.fields) }
    for collection in declared {
      if let mistake = collection.name.hasPrefix(CollectionDescription.ownPrefix)
        ? "its name is kept for the library's own" : collection.mistake
      {
        throw NotelogError(.invalidArgument, "collection \(collection.name): \(mistake)")
      }
    }
    guard schemasAreVerified.isSet else {
      throw NotelogError(.locked, "unlock the store to make or change a collection")
    }
    try write { tx in for collection in declared { _ = try tx.collection(for: collection) } }
  }
}
