// What a journal holds and what it takes: for `info`.

import NotelogStorage
import NotelogFormat
import NotelogBase
import Synchronization

extension Journal {
  /// Figures about an open journal.
  struct Statistics: Sendable {
    struct SegmentFigures: Sendable {
      let number: UInt32
      let kind: SegmentKind
      let isHead: Bool
      let byteCount: Int
      let liveByteCount: Int
    }

    var recordCount = 0
    /// How long the segments are up to the log's end.
    var writtenByteCount = 0
    /// How much of the files is set aside: the reserve, and what the head's file has ahead of the log's end.
    var reservedByteCount = 0
    var segments: [SegmentFigures] = []
    var floor = LogPosition.zero
    var nextSequence: UInt64 = 0
    /// How many frames came in, or were moved, since the last checkpoint of the index.
    var checkpointAge = 0
    /// How many snapshots live; what compaction deletes takes up space until they go.
    var snapshotCount = 0
    /// Replaced segments whose files are still there because a pin holds them.
    var pinnedSegments: [UInt32] = []
    /// Segments that compaction set aside because they are damaged.
    var damagedSegments: [UInt32] = []
    /// The bytes that transactions brought since the journal was opened, and those that compaction wrote.
    var storedByteCount = 0
    var compactedByteCount = 0

    /// The bytes of finished segments and of the head that are neither live nor a segment's own.
    var deadByteCount: Int {
      segments.reduce(0) {
        $0 + max(0, $1.byteCount - $1.liveByteCount - CompactionCandidate.overheadByteCount)
      }
    }
    /// The bytes written for each byte that transactions brought; nothing before there was one.
    var bytesWrittenPerByteStored: Double? {
      storedByteCount == 0 ? nil : Double(storedByteCount + compactedByteCount) / Double(storedByteCount)
    }
    /// The bytes of all segments' files.
    var byteCount: Int { segments.reduce(0) { $0 + $1.byteCount } }
    /// The bytes of live frames and their footer entries.
    var liveByteCount: Int { segments.reduce(0) { $0 + $1.liveByteCount } }
  }

  /// Counts as of now. No file is asked.
  var counts: StoreCounters {
    var counts = StoreCounters()
    let transactionCount = log.state.withLock(waking: .nobody) { $0.transactionCount }
    counts.commits = transactionCount - counters.ownTransactions.load(ordering: .relaxed)
    counts.bytesCommitted = compactor.storedByteCount.load(ordering: .relaxed)
    counts.bytesCopied = compactor.writtenByteCount.load(ordering: .relaxed)
    counts.syncs = counters.syncs.load(ordering: .relaxed)
    counts.slowestSync = .nanoseconds(counters.slowestSync.load(ordering: .relaxed))
    counts.compactions = counters.compactions.load(ordering: .relaxed)
    counts.bytesReclaimed = counters.reclaimedBytes.load(ordering: .relaxed)
    counts.recoveries = counters.recoveries.load(ordering: .relaxed)
    counts.damagedPlaces = damageLog.placeCount
    return counts
  }

  /// The number that the next transaction will have.
  var nextRevision: UInt64 { log.state.withLock { $0.nextSequence } }

  /// The branch that is written in.
  var branch: Branch { log.branch }

  /// Whether a reader in another process, or a backup, needs segments to stay.
  var isPinned: Bool { Pins(storage).isAnyHeld() }

  /// Figures as of now.
  var statistics: Statistics {
    var statistics = Statistics()
    statistics.recordCount = catalog.index.recordCount
    // A closed file has no length any more, and ends where the log does.
    let head = log.state.withLock { (end: $0.head?.end ?? 0, allocatedEnd: $0.head?.allocatedEnd ?? 0) }
    statistics.segments = catalog.segments.all.map { segment in
      let byteCount = segment.entry?.byteCount ?? (try? segment.file.byteCount()) ?? head.end
      // The head's footer, which counts as live with each frame, is not written yet: nothing behind the log's end lives.
      let end = !segment.isFinished && head.end > 0 ? head.end : byteCount
      return Statistics.SegmentFigures(
        number: segment.number, kind: segment.kind, isHead: !segment.isFinished, byteCount: byteCount,
        liveByteCount: min(segment.liveBytes, end))
    }
    statistics.writtenByteCount = statistics.byteCount
    statistics.reservedByteCount = byteCount(of: FileName.reserve)
    if let last = statistics.segments.first(where: \.isHead), head.end > 0 {
      statistics.writtenByteCount -= last.byteCount - head.end
      statistics.reservedByteCount += max(last.byteCount, records.isClosed ? 0 : head.allocatedEnd) - head.end
    }
    statistics.checkpointAge = catalog.changeCount
    statistics.snapshotCount = catalog.oldVersions.snapshotCount
    log.state.withLock { state in
      statistics.floor = state.floor
      statistics.nextSequence = state.nextSequence
    }
    compactor.state.withLock { state in
      statistics.pinnedSegments = state.deferred.keys.sorted()
      statistics.damagedSegments = state.damaged.sorted()
    }
    statistics.storedByteCount = compactor.storedByteCount.load(ordering: .relaxed)
    statistics.compactedByteCount = compactor.writtenByteCount.load(ordering: .relaxed)
    return statistics
  }

  /// How long one of the store's files is; 0 where there is none.
  func byteCount(of name: String) -> Int {
    guard let file = try? storage.openFile(name, .read) else { return 0 }
    defer { file.close() }
    return (try? file.byteCount()) ?? 0
  }
}
