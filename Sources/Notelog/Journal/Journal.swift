// The journal: an append-only store of records it knows by id and collection only. FORMAT.md §2.

import NotelogFormat
import NotelogStorage
import NotelogBase

/// A store's journal, open.
///
/// It knows neither keys nor fields; whatever it does, it does on a locked store too.
final class Journal: Sendable {
  /// The version that every segment bears.
  static let formatVersion = SegmentHeader.version

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
  /// Held by the writing process, until the journal is closed or lent.
  let lock: Lock<(any StorageFile)?>
  /// Who has it keeps the lock from being lent or given up; it is entered with the turn in hand.
  let keeping = Gate()
  /// What is told when something was taken in that others have committed, before anything is written; it says whether to look again.
  let followed = Lock<(@Sendable () -> Bool)?>(nil)
  /// What a look at the log that failed half-way leaves for the next one.
  let followDebt = Lock<(first: UInt64, gap: UInt64?, isExact: Bool)?>(nil)
  /// One thread at a time takes in what others have committed.
  let following = Gate()
  /// Held by a reader that can't keep all files open.
  let pin = Lock<Pin?>(nil)
  /// The process that opened it: a fork shares its files, and must not write to them.
  let owner: Int32
  /// The store's id, the same in all of its segments.
  let storeID: ID16
  /// Who wants to know what becomes visible.
  var watch: Watch { log.watch }
  /// The folder's path, for errors.
  var path: String { storage.path }
  /// What opening it found.
  let report: RecoveryReport
  var counters: JournalCounters { log.counters }

  init(
    _ storage: any Storage, options: JournalOptions, catalog: Catalog, log: Log, lock: (any StorageFile)?,
    report: RecoveryReport
  ) {
    self.storage = storage
    self.options = options
    self.catalog = catalog
    self.log = log
    self.lock = Lock(lock)
    owner = SystemProcess.identifier
    storeID = log.storeID
    self.report = report
    records = RecordFinder(catalog, storage.path)
    catalog.staleness.begin(
      below: report.staleBelow, at: log.state.withLock(waking: .nobody) { $0.nextSequence })
    noteRecovery(report)
    catalog.damageLog.begin(after: report.damages, telling: options.tell)
  }
}
