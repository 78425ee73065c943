// The journal: an append-only store of records it knows by id and collection only. FORMAT.md §2.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// A store's journal, open.
///
/// It knows neither keys nor fields; whatever it does, it does on a locked store too.
final class Journal: Sendable {
  let storage: any Storage
  let options: JournalOptions
  let catalog: Catalog
  let log: Log
  /// What finds records, for whoever reads many.
  let records: RecordFinder
  /// One compaction runs at a time.
  let compactor = Compactor()
  /// One thread at a time finds out where chunks are.
  let chunkLoading = Gate()
  /// Who keeps ordered indexes, once somebody does.
  let orderKeeper = Lock<(any OrderKeeper)?>(nil)
  /// Who adds to transactions what all records add up to, where the store keeps evidence.
  let attester = Lock<(any Attester)?>(nil)
  /// Held by the writing process, until the journal is closed or lent.
  let lock: Lock<(any StorageFile)?>
  /// While held, the store's lock is not released. Take the turn first.
  let lockHold = Gate()
  /// What is told when something was taken in that others have committed, before anything is written; it says
  /// whether to look again. One function or none: by itself it would be wrapped in another each time that it
  /// is reached under the lock, for ever more of them to go through.
  let followed = Lock<[@Sendable () -> Bool]>([])
  /// State of a failed follow; the next one starts here.
  let unfinishedFollow = Lock<(gap: UInt64?, isExact: Bool)>((nil, true))
  /// One thread at a time takes in what others have committed.
  let following = Gate()
  /// Held by a reader that can't keep all files open.
  let pin = Lock<Pin?>(nil)
  /// The process that opened it: a fork shares its files, and must not write to them.
  let owner: Int32
  /// The store's id, the same in all of its segments.
  var storeID: ID16 { log.storeID }
  /// The folder's path, for errors.
  var path: String { storage.path }
  /// What opening it found.
  let report: RecoveryReport

  init(
    _ storage: any Storage, options: JournalOptions, catalog: Catalog, storeID: ID16, branch: Branch,
    state: consuming LogState, lock: (any StorageFile)?, report: RecoveryReport
  ) {
    self.storage = storage
    self.options = options
    self.catalog = catalog
    catalog.kept.begin(branch.keptSeconds)
    log = Log(storage, catalog: catalog, options: options, storeID: storeID, branch: branch, state: state)
    self.lock = Lock(lock)
    owner = processIdentifier
    self.report = report
    records = RecordFinder(catalog, storage.path)
    catalog.staleness.begin(
      below: report.possiblyStaleBelow, at: log.state.withLock(waking: .nobody) { $0.nextSequence })
    noteRecovery(report)
    catalog.damageLog.begin(after: report.damages, telling: options.tell)
  }
}

// MARK: - What an open journal knows of damage.

extension Journal {
  /// Everything that is known to be damaged: what opening found, and what reading came upon since.
  var damages: [Finding] { report.damages + damageLog.damages.filter { !report.damages.contains($0) } }

  /// What is known of damage, in a word.
  var verdict: Verdict {
    if !knowsWhatIsCurrent { return .unproven }
    return report.isDamaged || !damageLog.damages.isEmpty ? .contained : report.verdict
  }

  /// Whether anything is known to be damaged.
  var isDamaged: Bool { verdict.isDamaged }

  /// Whether every record that is served is known to be its newest version. Where it isn't, nothing may be
  /// written, and no checkpoint be made: each opening has to find that out.
  var knowsWhatIsCurrent: Bool { catalog.staleness.below == 0 }

  /// What came up while the store was in use.
  var damageLog: DamageLog { catalog.damageLog }

  /// How many records are lost in some places, as far as the index says where they were.
  ///
  /// - Complexity: O(*n*) in the records of the store: all of the index is brought into memory. Segments that
  ///   are not as long as they were, or are others, are read.
  func lostRecordCount(in damages: [Finding]) throws(StorageError) -> Int {
    var ranges: [UInt32: [Range<Int>]] = [:]
    var listed: [UInt32: Set<Int>] = [:]
    for damage in damages where damage.kind.mayLoseRecords {
      // What a footer that is not complete lists is there; of a file that is not as long as it was, or is
      // another, what still checks.
      let place = damage.place
      let isOther = damage.kind == .truncated || damage.kind == .replacedSegment
      if isOther || damage.kind == .lostFrames && damage.byteCount == 0,
        let offsets = try? catalog.segments[place.segment]?.soundOffsets()
      {
        listed[place.segment] = offsets
        continue
      }
      // Of a frame, where it begins is enough; of a segment, all of it is meant where nothing is said.
      let isFrame = damage.kind == .payload
      let end = isFrame ? place.offset + 8 : damage.byteCount > 0 ? damage.range.upperBound : .max
      ranges[place.segment, default: []].append(place.offset..<end)
    }
    guard !ranges.isEmpty || !listed.isEmpty else { return 0 }
    var count = 0
    for number in 0..<Index.shardCount {
      for entry in try catalog.index.entries(ofShard: number) {
        let place = entry.place
        guard !place.isTombstone else { continue }
        let isInRange = ranges[place.segment]?.contains { $0.contains(place.offset) } == true
        if isInRange || listed[place.segment]?.contains(place.offset) == false { count += 1 }
      }
    }
    return count
  }

  /// Notes that a record, or a large value of it, can't be read: where the error says that, or where the record
  /// is, for a reason that only its reader can tell: its body, or a tag.
  func noteDamage(_ error: NotelogError, _ kind: Finding.Kind = .payload, of record: RecordID) {
    if error.segment != nil { return damageLog.note(error.of(record)) }
    let location = try? catalog.location(of: record.bytes)
    damageLog.note(
      Finding(
        kind, segment: location?.segment ?? 0, offset: Int(location?.offset ?? 0), record: record.bytes))
  }

  // MARK: - What a journal counts.

  /// Counts as of now. No file is asked.
  var counts: StoreCounters {
    var counts = log.state.withLock(waking: .nobody) { $0.counters }
    counts.damagedPlaces = damageLog.placeCount
    return counts
  }

  /// Whether there is such a record, and which revision it has.
  func revision(of id: ID16) throws(NotelogError) -> UInt64? {
    try fromStorage(catalog.location(of: id)).flatMap { $0.isTombstone ? nil : $0.sequence }
  }
}
