// The records of a collection as a list: in an order, at most so many, those for which something holds.

import NotelogBase
import NotelogJournal

extension DynamicCollection {
  /// The records, sorted by a field where one is named, or else by id. Text is in the order of its UTF-8 bytes.
  ///
  /// A record that can't be read, or of which the field to sort by can't be opened because it is damaged, is handed to `damaged`,
  /// and the rest follows.
  ///
  /// - Parameters:
  ///   - field: The field to sort by; a sealed one is opened for it. Records that lack it come first.
  ///   - direction: The direction.
  ///   - limit: How many records are wanted at most.
  ///   - holds: Whether a record is wanted; what it throws of a damaged record is handed to `damaged` too.
  ///   - damaged: Called with the record and what is wrong with it; returns whether to go on.
  /// - Returns: The records.
  /// - Throws: `notFound` where there is no such field; `locked` where a sealed one can't be opened; what `damaged` throws, which is
  ///   the error that it is handed where nothing else is said.
  /// - Complexity: O(*n*) in the records of the collection. With a limit it keeps O(limit) records, and where they are not sorted
  ///   16 bytes for each record of the collection.
  public func entries(
    sortedBy field: String? = nil, _ direction: SortDirection = .ascending, limit: Int? = nil,
    where holds: (DynamicEntry) throws -> Bool = { _ in true },
    damaged: (RecordID, NotelogError) throws -> Bool = { _, error in throw error }
  ) throws -> [DynamicEntry] {
    guard limit != 0 else { return [] }
    if let field { return try sorted(by: plan.index(of: field), direction, limit, holds, damaged) }
    var found: [DynamicEntry] = []
    try forEach(
      { entry in
        try sparing(entry.id, damaged) { if try holds(entry) { found.append(entry) } } && found.count != limit
      }, damaged: damaged)
    return found
  }

  private func sorted(
    by index: Int, _ direction: SortDirection, _ limit: Int?, _ holds: (DynamicEntry) throws -> Bool,
    _ damaged: (RecordID, NotelogError) throws -> Bool
  ) throws -> [DynamicEntry] {
    var first = FirstEntries<[UInt8], DynamicEntry>(limit: limit) { left, right in
      if left == right { return .same }
      return left.lexicographicallyPrecedes(right) == (direction == .ascending) ? .before : .after
    }
    let scanner = Scanner(plan, store.opener)
    var key: [UInt8] = []
    try scan(damaged) { record in
      try scanner.readKey(of: index, record, into: &key)
      guard first.accepts(key, record.id) else { return }
      let entry = try DynamicEntry(OwnedRecord(record, in: plan.number), plan, store.opener)
      if try holds(entry) { first.insert(key, entry.id, entry) }
    }
    return first.sorted()
  }

  /// Calls `body` with each record, in the order in which they lie on the disk, and `damaged` with those that can't be read or of
  /// which `body` says that they are damaged.
  private func scan(
    _ damaged: (RecordID, NotelogError) throws -> Bool, _ body: (ScannedRecord) throws -> Void
  ) throws {
    let moment = store.journal.snapshot()
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
    let keys = try journaling(at: store.journal.path, moment.records(in: plan.number))
    for key in keys {
      let goesOn = try sparing(RecordID(key), damaged) {
        if try journaling(at: store.journal.path, moment.read(key, into: &buffer)) != nil {
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
