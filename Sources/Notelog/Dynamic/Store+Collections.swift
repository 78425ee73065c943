// The collections of a store, for those who have no record type.

import NotelogBase
import NotelogFormat

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

  /// The ids of records of all collections that begin with some hexadecimal digits, in order. No record is
  /// read, and nothing opened.
  ///
  /// - Parameters:
  ///   - digits: The digits, 32 at most; hyphens between them are ignored.
  ///   - limit: How many ids are wanted at most.
  /// - Returns: The ids; where there are more than are wanted, any of them.
  /// - Throws: `invalidArgument` where `digits` has something else in it; `inputOutput`, `closed`.
  /// - Complexity: O(*n*) in what segments list. Only ids that begin so are looked up.
  public func ids(beginningWith digits: String, limit: Int = .max) throws -> [RecordID] {
    let digits = digits.filter { $0 != "-" }
    guard digits.count <= 32, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
      throw NotelogError(.invalidArgument, "an id has 32 hexadecimal digits at most, and nothing else")
    }
    let rest = 128 - 4 * digits.count
    let beginning = UInt128(digits, radix: 16) ?? 0
    var found: [RecordID] = []
    try journal.snapshot().forEachRecord { entry in
      entry.collection != SchemaRecord.collection && RecordID(entry.id).number >> rest == beginning
    } _: { entry, _ in
      if found.count < limit { found.append(RecordID(entry.id)) }
    }
    return found.sorted()
  }

  /// How short an id can be written: what tells of an id how many of its hexadecimal digits no other record's
  /// id begins with, as of now.
  ///
  /// - Throws: `inputOutput`, `closed`.
  /// - Complexity: O(*n* log *n*) in what segments list, old versions and removed records among them, with 16
  ///   bytes of memory each; then O(log *n*) an id.
  public func distinctDigitCounts() throws -> @Sendable (RecordID) -> Int {
    var numbers: [UInt128] = []
    try journal.snapshot().forEachRecord { entry in
      if entry.collection != SchemaRecord.collection { numbers.append(RecordID(entry.id).number) }
      return false
    } _: { _, _ in
    }
    numbers.sort()
    return { [numbers] id in
      let (before, after) = (numbers.firstPlace { $0 >= id.number }, numbers.firstPlace { $0 > id.number })
      let neighbours = numbers[max(before - 1, 0)..<before] + numbers[after...].prefix(1)
      return 1 + neighbours.reduce(0) { max($0, ($1 ^ id.number).leadingZeroBitCount / 4) }
    }
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

  /// Makes a collection, or brings one up to date: fields are added or renamed, and what is there stays as it
  /// is unless it is named among those that retire.
  ///
  /// - Parameters:
  ///   - name: The collection's name.
  ///   - formerly: A name that it had before: a collection of that name is renamed.
  ///   - fields: Its fields, or some of them. Named keys that don't exist are made.
  ///   - retiring: Fields that are taken out of use for good. Their values are shown no longer, and go with
  ///     the next update of their record; their names are not used again.
  /// - Returns: The collection.
  /// - Throws: `locked`, `schemaConflict`, `invalidArgument`.
  @discardableResult
  public func createCollection(
    _ name: String, formerly: String? = nil, fields: [FieldDescription], retiring: [String] = []
  ) throws -> DynamicCollection {
    let former = formerly.map { [$0] } ?? []
    try declare([CollectionDescription(name: name, formerNames: former, fields: fields, retired: retiring)])
    return try collection(name)
  }

  /// Makes several collections, or brings them up to date, in one transaction: all of them or none.
  ///
  /// - Parameter collections: Their names and fields. Named keys that don't exist are made.
  /// - Throws: `locked`, `schemaConflict`, `invalidArgument`.
  public func createCollections(_ collections: [(name: String, fields: [FieldDescription])]) throws {
    try declare(collections.map { CollectionDescription(name: $0.name, fields: $0.fields) })
  }

  private func declare(_ collections: [CollectionDescription]) throws {
    var declared = collections
    for index in declared.indices {
      // Who declares it without a record type means the one that there is, whatever it was called at first.
      let known = registry.withLock { $0.find(declared[index])?.plan.schema.firstName }
      declared[index].formerNames += known.map { [$0] } ?? []
      let collection = declared[index]
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
