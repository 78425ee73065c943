// The records of a collection as a list: in an order, at most so many, those for which something holds.

import NotelogBase

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
