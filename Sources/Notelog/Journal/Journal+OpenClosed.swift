// Opening a store that was closed in order, without reading its segments: docs/format-derived.md §31, "Clean open".

import NotelogFormat
import NotelogStorage
import NotelogBase

extension ClosedStore {
  /// Opens the store for writing; nothing where what came after the checkpoint can't all be read.
  func open(
    in storage: any Storage, _ options: JournalOptions, _ lock: any StorageFile
  ) throws(NotelogError) -> Journal? {
    guard let taken = try fromStorage(Catalog.load(checkpoint, segments, end: end, options)),
      taken.readings.isEmpty
    else { return nil }
    let catalog = taken.catalog
    let next = min(max(closing.nextSequence, head.header.firstSequence), UInt64(FormatLimits.maximumSequence))
    var state = LogState(
      head: nil, nextSequence: next, nextVisible: next, nextDurable: next, visibleEnd: floor, floor: floor,
      live: live, highestNumber: highestNumber)
    state.head = try Journal.reopenHead(head, end: end.offset, unsynced: closing.range, catalog, storage)
    let log = Log(
      storage, catalog: catalog, options: options, storeID: checkpoint.head.storeID,
      branch: head.header.branch, state: state)
    var report = RecoveryReport()
    report.floor = floor
    report.checkpoint = .used
    return Journal(
      storage, options: options, catalog: catalog, log: log, lock: lock, report: report)
  }
}
