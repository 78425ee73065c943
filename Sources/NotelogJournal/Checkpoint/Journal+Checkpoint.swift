// Writing a checkpoint: FORMAT.md §14.

import NotelogConcurrency

extension Journal {
  /// Writes a checkpoint of the index, so that the next opening need not go through what was written since the last.
  ///
  /// Writers wait while the index is handed to the system, not while it gets to the medium.
  package func checkpoint() throws(JournalError) {
    try checkWritable()
    compactor.enter()
    defer { compactor.leave() }
    log.gate.enter()
    defer { log.gate.leave() }
    try log.waitUntilQuiet()
    try writeCheckpoint()
  }

  /// Whether opening the store would have to go through more than a quarter of it again.
  package var isCheckpointDue: Bool {
    catalog.changeCount > max(Self.smallestTail, catalog.index.recordCount / 4)
  }

  /// So few records are gone through at opening without anybody noticing.
  private static let smallestTail = 256

  /// Writes a checkpoint at closing, unless the one that is there is nearly as good. The caller holds the gate, and
  /// everything is durable.
  func writeCheckpointAtClose() {
    guard catalog.changeCount > max(Self.smallestTail, catalog.index.recordCount / 1024) else { return }
    // It is disposable: closing in order does not depend on it.
    try? writeCheckpoint()
  }

  /// The caller holds the gate and all that was reserved is visible.
  private func writeCheckpoint() throws(JournalError) {
    let next = log.state.withLock { $0.nextVisible }
    // Its head is a witness of the floor: what it covers must be durable before it gets its name.
    if next > 1 { try log.awaitDurable(next - 1) }
    // What is visible is durable now, and so before the floor: but for a close mark that nothing has followed.
    let covered = log.state.withLock { $0.floor }
    do throws(StorageError) {
      try catalog.index.loadAll()
      var entryCounts: [UInt32] = []
      var tombstoneCounts: [UInt32] = []
      try catalog.index.forEachShard { table, tombstoneCount in
        entryCounts.append(UInt32(table.count))
        tombstoneCounts.append(UInt32(tombstoneCount))
      }
      let segments = catalog.segments.all
      let head = CheckpointHead(
        storeID: storeID, salt: options.random(), key: catalog.index.key, covered: covered,
        coveredSalt: segments.first { $0.number == covered.segment }?.salt.value ?? 0,
        entryCounts: entryCounts, tombstoneCounts: tombstoneCounts,
        segments: segments.map {
          CheckpointHead.SegmentFigures(
            number: $0.number, salt: $0.salt.value, liveByteCount: max($0.liveBytes, 0))
        },
        listed: catalog.listing.entries)
      do throws(StorageError) { try CheckpointFile.write(head, catalog.index, to: storage) } catch {
        try? storage.unlink(FileName.index + FileName.partialSuffix)
        throw error
      }
    } catch { throw JournalError(error) }
    catalog.noteCheckpoint()
  }
}

extension Journal {
  /// Whether a part of the checkpoint that was read since the opening did not check; it was built from the segments.
  package var isCheckpointDamaged: Bool { catalog.source?.isDamaged ?? false }
}
