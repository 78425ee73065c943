// What a journal holds and what it takes: for `info`.

import NotelogConcurrency

extension Journal {
  /// Figures about an open journal.
  package struct Statistics: Sendable {
    package struct SegmentFigures: Sendable {
      package let number: UInt32
      package let kind: SegmentKind
      package let isHead: Bool
      package let byteCount: Int
      package let liveByteCount: Int
    }

    package var recordCount = 0
    package var segments: [SegmentFigures] = []
    package var floor = LogPosition.zero
    package var nextSequence: UInt64 = 0
    /// How many frames came in, or were moved, since the last checkpoint of the index.
    package var checkpointAge = 0
    /// How many snapshots live; what compaction deletes takes up space until they go.
    package var snapshotCount = 0

    /// The bytes of all segments' files.
    package var byteCount: Int { segments.reduce(0) { $0 + $1.byteCount } }
    /// The bytes of live frames and their footer entries.
    package var liveByteCount: Int { segments.reduce(0) { $0 + $1.liveByteCount } }
  }

  /// Figures as of now.
  package var statistics: Statistics {
    var statistics = Statistics()
    statistics.recordCount = catalog.index.recordCount
    statistics.segments = catalog.segments.all.map { segment in
      Statistics.SegmentFigures(
        number: segment.number, kind: segment.kind, isHead: segment.entry == nil,
        byteCount: segment.entry?.byteCount ?? (try? segment.file.byteCount()) ?? 0,
        liveByteCount: segment.liveBytes)
    }
    statistics.checkpointAge = catalog.changeCount
    statistics.snapshotCount = catalog.history.count
    log.state.withLock { state in
      statistics.floor = state.floor
      statistics.nextSequence = state.nextSequence
    }
    return statistics
  }
}
