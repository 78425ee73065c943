// The store as it was at one moment.

import NotelogFormat
import NotelogStorage
import NotelogBase

/// A moment of the store that stays readable for as long as the snapshot lives, whatever is written or compacted.
///
/// It holds the files that were there when it was made: what compaction deletes meanwhile takes up space until the
/// snapshot goes, or the process does.
final class Snapshot: Sendable {
  /// The sequence number of the last transaction it sees.
  let sequence: UInt64
  let journal: Journal
  /// The segments that were there, in order of number.
  let segments: [Segment]
  /// Which of them, by their places, had nothing but current records in them: the snapshot sees all of those.
  let areWhole: [Bool]
  /// Where the log ended.
  let end: LogPosition
  private let ticket: UInt64

  init(of journal: Journal) {
    self.journal = journal
    let catalog = journal.catalog
    // Between the moves of a compaction a record would be seen twice, or not at all.
    catalog.arrangement.enter()
    defer { catalog.arrangement.leave() }
    (sequence, end, ticket, segments, areWhole) = journal.log.state.withLock { state in
      let sequence = state.nextVisible - 1
      let end = state.visibleEnd
      // A head in which nothing is visible yet is none of its business; it may not even be the log's head yet.
      let segments = catalog.inhabited.filter { $0.isFinished || $0.number <= end.segment }
      return (sequence, end, catalog.oldVersions.begin(sequence), segments, segments.map(\.isWhole))
    }
  }

  deinit { journal.catalog.oldVersions.end(ticket) }

  /// Reads a record as it was.
  ///
  /// - Returns: Nothing where there was no such record.
  /// - Throws: `damaged`, with the place, where its frame does not check.
  func read(_ id: ID16, into buffer: inout ReadBuffer) throws(NotelogError) -> StoredRecord? {
    var failure: NotelogError?
    do {
      if let record = try journal.read(id, into: &buffer), record.revision <= sequence { return record }
    } catch { failure = error }
    // It is not there any longer, or newer than the snapshot: then what it was has been noted before.
    guard let version = journal.catalog.oldVersions.version(of: id, at: sequence) else {
      if let failure { throw failure }
      return nil
    }
    return try journal.records.read(id, at: version.place, in: version.segment, into: &buffer)
  }

  /// The ids of a collection's records, or of all records, in order of id.
  ///
  /// - Parameters:
  ///   - collection: The collection; nothing for all.
  ///   - onDamage: Called with each place where ids may be missing. Others follow.
  /// - Returns: The ids.
  /// - Throws: `inputOutput` where the system fails.
  func records(
    in collection: UInt16? = nil, onDamage: (Finding) -> Void = { _ in }
  ) throws(NotelogError) -> [ID16] {
    var ids: [ID16] = []
    try forEachRecord(where: { collection == nil || $0 == collection }, onDamage) { ids.append($0.id) }
    ids.sort()
    return ids
  }

  /// How many records a collection has, those that can't be read among them; none of them is read.
  func recordCount(in collection: UInt16) throws(NotelogError) -> Int {
    var count = 0
    try forEachRecord(where: { $0 == collection }) { _ in count += 1 }
    return count
  }

  /// The same of each collection but those that are known; nothing where there is none.
  func recordCounts(besides known: Set<UInt16>) throws(NotelogError) -> [UInt16: Int] {
    var counts: [UInt16: Int] = [:]
    // Nearly every record is of the same collection as the one before.
    var last = known.first
    try forEachRecord(
      where: { collection in
        if collection == last { return false }
        guard known.contains(collection) else { return true }
        last = collection
        return false
      }
    ) { counts[$0.collection, default: 0] += 1 }
    return counts
  }

  /// Calls `body` with what segments list of the records of some collections, as they lie on the disk.
  private func forEachRecord(
    where isWanted: (_ collection: UInt16) -> Bool, _ onDamage: (Finding) -> Void = { _ in },
    _ body: (FooterEntry) -> Void
  ) throws(NotelogError) {
    var lastFrames = LastFrames()
    var window = Buffer()
    try fromStorage { () throws(StorageError) in
      for segment in segments {
        let reading = try segment.forEachEntry(upTo: scanEnd(of: segment), through: &window) {
          (entry, _) throws(StorageError) in
          guard entry.kind == .record, isWanted(entry.collection),
            try isVisible(entry, in: segment, &lastFrames)
          else { return }
          body(entry)
        }
        for damage in reading.allDamages(of: segment.number) {
          journal.damageLog.note(damage)
          onDamage(damage)
        }
      }
    }
  }
}

extension Journal {
  /// The store as it is now, for as long as it is wanted.
  func snapshot() -> Snapshot { Snapshot(of: self) }

  /// The ids of collection 0's records, in order; of some that were deleted too, perhaps.
  var listedRecords: [ID16] { catalog.listed.entries.map(\.id) }

  /// The ids of a collection's records, or of all records, in order of id.
  func records(
    in collection: UInt16? = nil, onDamage: (Finding) -> Void = { _ in }
  ) throws(NotelogError) -> [ID16] {
    if collection == ListedRecords.collection {
      return try fromStorage(catalog.listedRecords())
    }
    return try snapshot().records(in: collection, onDamage: onDamage)
  }
}
