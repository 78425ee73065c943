// A collection used without a record type, by the names of its fields.

import NotelogBase
import NotelogCrypto
import NotelogFormat
import Synchronization

/// A collection whose records are read and written by field name, as the stored schema describes them.
///
/// Plain fields are read while the store is locked. Writing needs an unlocked store: without a schema in code, the stored
/// one is the only word on what must be sealed, and only the unlocked store can check it.
public struct DynamicCollection: Sendable {
  let store: Store
  let plan: CollectionPlan

  /// The collection's name.
  public var name: String { plan.schema.name }
  /// The collection's number.
  public var number: Int { Int(plan.schema.collection) }

  /// All fields that ever were, in ascending order of number.
  public var fields: [FieldInfo] {
    let revealed = Set(plan.schema.fields.filter { $0.isDigest && !$0.isRetired }.map(\.digestOf))
    return plan.schema.fields.filter { !$0.isDigest }.map { field in
      FieldInfo(
        field, keyName: field.keys.last.flatMap { store.vault.name(of: KeyReference(rawValue: $0)) },
        keyField: plan.schema.fields.find(UInt32(field.keyField)) { UInt32($0.number) }?.name,
        revealsEquality: revealed.contains(field.number))
    }
  }

  /// Adds records.
  ///
  /// - Parameters:
  ///   - records: The values of each record by field name; a field left out has no value.
  ///   - durability: What the commit survives.
  /// - Returns: The records' ids.
  /// - Throws: `locked`, `notFound` for a name that isn't a field's, `typeMismatch`.
  @discardableResult
  public func add(
    _ records: [[String: DynamicValue]], _ durability: Durability = .durable
  ) throws -> [RecordID] {
    try store.write(durability) { tx in
      try records.map { values in try tx.put(in: self, RecordID(), values) }
    }
  }

  /// Adds a record.
  ///
  /// - Parameter values: The values by field name; a field left out has no value.
  /// - Returns: The record's id.
  /// - Throws: `locked`, `notFound` for a name that isn't a field's, `typeMismatch`.
  @discardableResult
  public func add(_ values: [String: DynamicValue]) throws -> RecordID {
    try store.write { tx in try tx.put(in: self, RecordID(), values) }
  }

  /// The record with an id; nil where there is none.
  public func get(_ id: RecordID) throws -> DynamicEntry? {
    var buffer = ReadBuffer()
    return try get(id, &buffer)
  }

  /// Sets fields of a record; the others are carried over as they are, sealed values unopened.
  ///
  /// - Throws: `notFound`, `locked`, `typeMismatch`.
  public func update(_ id: RecordID, _ values: [String: DynamicValue]) throws {
    try store.write { tx in try tx.update(in: self, id, values) }
  }

  /// Removes a record.
  ///
  /// - Returns: Whether there was one.
  @discardableResult
  public func remove(_ id: RecordID) throws -> Bool {
    try store.write { tx in try tx.delete(id, plan) }
  }

  /// Calls `body` with each record, in the order of ids, until it returns false.
  ///
  /// A record that can't be read is handed to `damaged`, and the rest follows.
  ///
  /// - Complexity: O(*n* log *n*); in memory 16 bytes for each record of the collection, as that order is not the disk's.
  public func forEach(
    _ body: (DynamicEntry) throws -> Bool,
    damaged: (RecordID, NotelogError) throws -> Bool = { _, error in throw error }
  ) throws {
    var buffer = ReadBuffer()
    let keys = try store.journal.records(in: plan.schema.collection)
    for key in keys {
      let id = RecordID(key)
      let entry: DynamicEntry?
      do throws(NotelogError) {
        entry = try get(id, &buffer)
      } catch {
        guard try damaged(id, error) else { return }
        continue
      }
      if let entry, try !body(entry) { return }
    }
  }

  private func get(_ id: RecordID, _ buffer: inout ReadBuffer) throws(NotelogError) -> DynamicEntry? {
    guard let stored = try store.read(id, in: plan.number, &buffer) else { return nil }
    return try DynamicEntry(stored, plan, store.opener)
  }

  /// How many records there are, those that can't be read among them.
  public var count: Int {
    get throws {
      try store.journal.snapshot().recordCount(in: plan.schema.collection)
    }
  }
}

// MARK: - The records of a collection as a list: in an order, at most so many, those for which something holds.

extension DynamicCollection {
  /// The records, sorted by a field where one is named, or else by id: what ``forEach(sortedBy:_:limit:where:_:damaged:)`` goes through.
  ///
  /// - Parameters:
  ///   - field: The field to sort by.
  ///   - direction: The direction.
  ///   - limit: How many records are wanted at most.
  ///   - holds: Whether a record is wanted; all are where nothing is said.
  ///   - damaged: Called with the record and what is wrong with it; returns whether to go on.
  /// - Returns: The records.
  /// - Throws: The same.
  public func entries(
    sortedBy field: String? = nil, _ direction: SortDirection = .ascending, limit: Int? = nil,
    where holds: ((DynamicEntry) throws -> Bool)? = nil,
    damaged: (RecordID, NotelogError) throws -> Bool = { _, error in throw error }
  ) throws -> [DynamicEntry] {
    var found: [DynamicEntry] = []
    try forEach(
      sortedBy: field, direction, limit: limit, where: holds, { found.append($0) }, damaged: damaged)
    return found
  }

  /// Calls `body` with the records, sorted by a field where one is named, or else by id. Text is in the order of its UTF-8 bytes.
  ///
  /// A record that can't be read, or of which the field to sort by can't be opened because it is damaged, is handed to `damaged`,
  /// and the rest follows.
  ///
  /// - Parameters:
  ///   - field: The field to sort by; a sealed one is opened for it. Records that lack it come first.
  ///   - direction: The direction.
  ///   - limit: How many records are wanted at most.
  ///   - holds: Whether a record is wanted; what it throws of a damaged record is handed to `damaged` too. All are where nothing is said.
  ///   - body: Called with each record.
  ///   - damaged: Called with the record and what is wrong with it; returns whether to go on.
  /// - Throws: `notFound` where there is no such field; `locked` where a sealed one can't be opened; what `body` throws; what `damaged` throws,
  ///   which is the error that it is handed where nothing else is said.
  /// - Complexity: O(*n*) in the records of the collection, of which at most 64 bytes each are kept in memory. Without a condition, by an indexed
  ///   field, no more is read than is wanted, once there is an index.
  public func forEach(
    sortedBy field: String?, _ direction: SortDirection = .ascending, limit: Int? = nil,
    where holds: ((DynamicEntry) throws -> Bool)? = nil, _ body: (DynamicEntry) throws -> Void,
    damaged: (RecordID, NotelogError) throws -> Bool = { _, error in throw error }
  ) throws {
    guard limit != 0 else { return }
    var left = limit ?? .max
    func show(_ entry: DynamicEntry) throws -> Bool {
      try body(entry)
      left -= 1
      return left > 0
    }
    if let field { return try walk(by: plan.index(of: field), direction, holds, show, damaged) }
    try forEach(
      { entry in
        var isWanted = false
        let goesOn = try sparing(entry.id, damaged) { isWanted = try holds?(entry) ?? true }
        return try isWanted ? show(entry) : goesOn
      }, damaged: damaged)
  }

  /// Goes through the field's index or, where it has none or not all records are wanted, through the keys of those that are: nothing else of
  /// them is kept in memory.
  private func walk(
    by index: Int, _ direction: SortDirection, _ holds: ((DynamicEntry) throws -> Bool)?,
    _ body: (DynamicEntry) throws -> Bool, _ damaged: (RecordID, NotelogError) throws -> Bool
  ) throws {
    let moment = store.journal.snapshot()
    let field = plan.fields[index].field
    let name = OrderName(collection: plan.number, field: field.number)
    let hasIndex = field.isIndexed && (!field.isOptional || field.wasAlwaysOptional)
    let known = holds == nil && hasIndex ? try store.index(name, at: moment) : nil
    let order = try known ?? OrderedIndex(keys(of: index, at: moment, holds, damaged))
    let width = field.type.fixedByteCount.map { $0 + (field.isOptional ? 1 : 0) + (known == nil ? 1 : 0) }
    let isExact = width ?? .max <= OrderedEntry.keyByteCount
    let scanner = Scanner(plan, store.opener)
    var buffer = ReadBuffer()
    let substitute = known.map { _ in store.substitute(for: name, at: moment) }
    try order.forEachGroup(direction, substitute: substitute) { group in
      var ties = group.map { (key: [UInt8](), id: $0.id) }
      if !isExact, ties.count > 1 {
        for place in ties.indices {
          _ = try sparing(ties[place].id, { _, _ in true }) {
            guard let found = try read(ties[place].id, at: moment, &buffer) else { return }
            let record = ScannedRecord(found, RecordBody(checked: buffer.body))
            try scanner.readKey(of: index, record, into: &ties[place].key)
          }
        }
        ties.sort { left, right in
          if left.key == right.key { return left.id < right.id }
          return left.key.lexicographicallyPrecedes(right.key) == (direction == .ascending)
        }
      }
      for (_, id) in ties {
        var entry: DynamicEntry?
        let goesOn = try sparing(id, damaged) {
          guard let found = try read(id, at: moment, &buffer) else { return }
          // With another key by now it is found there.
          if known != nil {
            let now = try OrderedEntry(keyOf: name, id, buffer.body)
            guard let first = group.first, now?.ties(with: first) == true else { return }
          }
          entry = try OwnedRecord(found, in: plan.number, buffer).map { stored throws(NotelogError) in
            try DynamicEntry(stored, plan, store.opener)
          }
        }
        guard try entry.map(body) ?? goesOn else { return false }
      }
      return true
    }
  }

  /// Reads a record of the collection as it was.
  private func read(
    _ id: RecordID, at moment: Snapshot, _ buffer: inout ReadBuffer
  ) throws(NotelogError) -> StoredRecord? {
    let found = try moment.read(id.bytes, into: &buffer)
    guard let found, found.collection == plan.number else { return nil }
    _ = try RecordBody(checking: buffer.body)
    return found
  }

  /// What the wanted records are sorted by: the beginnings of their keys, behind a byte that says whether there is one.
  private func keys(
    of index: Int, at moment: Snapshot, _ holds: ((DynamicEntry) throws -> Bool)?,
    _ damaged: (RecordID, NotelogError) throws -> Bool
  ) throws -> [OrderedEntry] {
    let scanner = Scanner(plan, store.opener)
    var (found, key): ([OrderedEntry], [UInt8]) = ([], [])
    try scan(at: moment, damaged) { record in
      try scanner.readKey(of: index, record, into: &key)
      if let holds {
        let entry = try DynamicEntry(OwnedRecord(record, in: plan.number), plan, store.opener)
        guard try holds(entry) else { return }
      }
      let beginning = key.isEmpty ? [0] : [1] + key.prefix(OrderedEntry.keyByteCount)
      found.append(OrderedEntry(key: beginning.rawSpan, record.id))
    }
    return found
  }

  /// Calls `body` with each record, in the order in which they lie on the disk, and `damaged` with those that can't be read or of
  /// which `body` says that they are damaged.
  private func scan(
    at moment: Snapshot, _ damaged: (RecordID, NotelogError) throws -> Bool,
    _ body: (ScannedRecord) throws -> Void
  ) throws {
    var isWhole = true
    var goesOn = true
    try moment.scan(plan.number, damaged: { _ in isWhole = false }) { record in
      goesOn = try sparing(record.id, damaged) { try body(record) }
      return goesOn
    }
    if goesOn, !isWhole { try reportUnreadable(at: moment, damaged) }
  }

  /// Reads the records one by one, by the ids that footers have, to say of which the frames do not check.
  private func reportUnreadable(
    at moment: Snapshot, _ damaged: (RecordID, NotelogError) throws -> Bool
  ) throws {
    var buffer = ReadBuffer()
    let keys = try moment.records(in: plan.number)
    for key in keys {
      let goesOn = try sparing(RecordID(key), damaged) {
        if try moment.read(key, into: &buffer) != nil {
          _ = try RecordBody(checking: buffer.body)
        }
      }
      guard goesOn else { return }
    }
  }

  /// Runs `body`, and hands what it says of damage in a record to `damaged`.
  ///
  /// - Returns: Whether to go on.
  private func sparing(
    _ id: RecordID, _ damaged: (RecordID, NotelogError) throws -> Bool, _ body: () throws -> Void
  ) throws -> Bool {
    do {
      try body()
      return true
    } catch let error as NotelogError where error.code == .damaged || error.code == .tampered {
      return try damaged(id, error)
    }
  }
}

extension Scanner {
  /// Reads the bytes by which records are sorted; none where the record lacks the field.
  fileprivate func readKey(of index: Int, _ record: ScannedRecord, into key: inout [UInt8]) throws {
    key.removeAll(keepingCapacity: true)
    let field = plan.fields[index]
    guard let entry = try record.body.find(field.number) else { return }
    try withOpening { opening in
      try opening.open(entry, in: record.body.bytes, of: record.id, index, plan, opener) { bytes in
        // All of it, and not what an index has room for: texts may begin alike.
        key.append(contentsOf: repeatElement(0, count: bytes.byteCount))
        key.withBytes(in: 0..<key.count) { target in
          SortKey.write(field.type, isOptional: field.isOptional, bytes, into: &target)
        }
      }
    }
  }
}

// MARK: - A value of any length for a field that is known by its name.

extension DynamicCollection {
  /// Sets a sealed field of bytes of a record to a value that is never in memory as a whole. It is sealed as it comes, ahead of the
  /// record's update, as by `Store.upload`: don't call this inside a write closure.
  ///
  /// - Parameters:
  ///   - id: The record's id.
  ///   - name: The field: sealed, of bytes, neither padded nor compressed. Any other throws `invalidArgument`, and says why.
  ///   - values: The values of other fields, set with it.
  ///   - read: Fills a buffer from its start, and returns how many bytes it wrote; 0 at the value's end.
  /// - Throws: `notFound`, `locked`, `typeMismatch`, `invalidArgument`, `limitExceeded`, `conflict`, `full`, and what `read` throws.
  public func update(
    _ id: RecordID, streaming name: String, _ values: [String: DynamicValue] = [:],
    reading read: (inout MutableRawSpan) throws -> Int
  ) throws {
    var uploader = try Uploader(store, plan, plan.index(of: name), id)
    try uploader.append(reading: read)
    let content = try uploader.finish()
    // From its end on the uploader no longer keeps the value alive, and later the record does.
    defer { if let value = content.value { store.journal.endUpload(value) } }
    try store.write { tx in try tx.update(in: self, id, values, uploaded: (name, content)) }
  }
}

// MARK: - A record read without a record type: what the tool and a dump see.

/// A record whose fields are read by name, as the stored schema describes them.
public struct DynamicEntry: Sendable, Identifiable {
  /// A field as it lies in a record.
  public struct Field: Sendable, Hashable {
    /// The field's name; `field 7` where the schema doesn't know the number.
    public let name: String
    /// The field's number.
    public let number: Int
    /// The type of its value.
    public let type: FieldType
    /// The number of the key that the value is sealed under; nil for a plain value.
    public let keyNumber: UInt32?
    /// How many bytes it takes, its seal included. Of a value that left its record, those of its chunks are counted, as the record
    /// says: that is certain once ``DynamicEntry/content(of:)`` has returned.
    public let storedByteCount: Int
    /// Whether the schema has a field of this number in use. A value that it has none for is carried over, or goes with the record's next
    /// update where its field was retired.
    public let isInSchema: Bool

    /// Whether the value is sealed.
    public var isSealed: Bool { keyNumber != nil }
  }

  let stored: OwnedRecord
  let plan: CollectionPlan
  let opener: FieldOpener
  /// The record's directory, in ascending order of number.
  private let entries: [FieldEntry]
  /// The fields that the record has, in ascending order of number.
  public let fields: [Field]

  init(_ stored: OwnedRecord, _ plan: CollectionPlan, _ opener: FieldOpener) throws(NotelogError) {
    self.stored = stored
    self.plan = plan
    self.opener = opener
    entries = try stored.entries()
    fields = entries.filter { !plan.isDigest($0.number) }.map { entry in
      let reference =
        entry.flags.contains(.chunked)
        ? ValueReference(stored.body.rawSpan.extracting(entry.range)) : nil
      let index = plan.index(of: entry.number)
      return Field(
        name: index.map { plan.fields[$0].field.name } ?? "field \(entry.number)",
        number: Int(entry.number), type: entry.type,
        keyNumber: entry.flags.contains(.sealed) ? entry.keyReference : nil,
        storedByteCount: reference?.sealedByteCount ?? entry.range.count, isInSchema: index != nil)
    }
  }

  /// The record's identity.
  public var id: RecordID { stored.id }
  /// The version of the record: the number of the transaction that wrote it.
  public var revision: UInt64 { stored.revision }
  /// Whether the record may have been changed or removed in something that is lost: see ``Entry/isPossiblyStale``.
  public var isPossiblyStale: Bool { stored.isPossiblyStale }
  /// The name of the record's collection.
  public var collection: String { plan.schema.name }
  /// How many bytes the record takes.
  public var byteCount: Int { stored.body.count }

  /// The value of a field, opened if it is sealed; ``DynamicValue/missing`` where the record has none.
  ///
  /// - Throws: `notFound` if the schema has no such field; `locked`, `missingKey`, `tampered`, `damaged`.
  public func value(_ name: String) throws -> DynamicValue {
    let index = try plan.index(of: name)
    let field = plan.fields[index].field
    guard let entry = entries.find(UInt32(field.number), by: { UInt32($0.number) }) else { return .missing }
    return try opener.open(entry, in: stored.body.rawSpan, of: id, index, plan) {
      bytes throws(NotelogError) in
      try DynamicValue(loading: bytes, as: field.type, isOptional: field.isOptional)
    }
  }
}

extension DynamicEntry: CustomStringConvertible {
  /// Collection, id and revision, and nothing of the record's values.
  public var description: String { "\(collection) \(id) at revision \(revision)" }
}

extension DynamicEntry {
  /// The bytes of a field, to be read piece by piece or by range; nil where the record has no value.
  ///
  /// - Throws: `notFound` if the schema has no such field; `locked`, `missingKey`, `tampered`, `damaged`.
  public func content(of name: String) throws -> FieldContent? {
    let index = try plan.index(of: name)
    guard let entry = try stored.find(plan.fields[index].number) else { return nil }
    return try opener.content(entry, of: stored, index, plan)
  }
}

// MARK: - What the store knows of a field, for those who have no record type.

/// A field of a collection as the stored schema describes it.
public struct FieldInfo: Sendable, Hashable {
  /// The field's name.
  public var name: String { field.name }
  /// The name under which it was first declared.
  public var firstName: String { field.firstName }
  /// The field's number, from 1; never used again.
  public var number: Int { Int(field.number) }
  /// The type of its values.
  public var type: FieldType { field.type }
  /// Whether a value may be missing.
  public var isOptional: Bool { field.isOptional }
  /// Whether values are sealed.
  public var isSealed: Bool { field.isSealed }
  /// Whether an ordered index is kept.
  public var isIndexed: Bool { field.isIndexed }
  /// Whether values are padded before sealing.
  public var isPadded: Bool { field.flags.contains(.padded) }
  /// Whether values are compressed before sealing.
  public var isCompressed: Bool { field.flags.contains(.compressed) }
  /// Whether the field was retired.
  public var isRetired: Bool { field.isRetired }
  /// The number of the key that new values are sealed under; nil for a plain field, and where each record names the key.
  public var keyNumber: UInt32? { field.keys.last }
  /// The name of that key; nil for a plain field, and while names are locked.
  public let keyName: String?
  /// The name of the field that names the key of each record's value; nil where none does.
  public let keyField: String?
  /// Whether digests are kept of the field's values, which reveal those that are equal: see ``Unique``.
  public let revealsEquality: Bool
  /// The keys that may be named there.
  public var keyNames: [String] { field.choices.map(\.name) }

  private let field: StoredField

  init(_ field: StoredField, keyName: String?, keyField: String?, revealsEquality: Bool) {
    self.field = field
    self.keyName = keyName
    self.keyField = keyField
    self.revealsEquality = revealsEquality
  }
}
