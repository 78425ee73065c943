// Which versions that were replaced are kept: FORMAT.md §24, "Kept versions".

import NotelogBase
import NotelogFormat
import NotelogStorage
import Synchronization

/// What compaction keeps of the versions that were replaced, in a store that keeps any. Until somebody looks
/// (`Journal.moveHorizon`), that is all of them.
final class KeptVersions: Sendable {
  private struct State {
    var horizon: UInt64 = 0
    /// The last version up to the horizon, of each record that had older ones when it was moved.
    var last: [ID16: UInt64] = [:]
    /// When it was moved, in milliseconds since 1970; also by a process before, as a checkpoint says.
    var time: UInt64 = 0
    /// Whether this process moved it.
    var isKnown = false
  }

  private let state = Lock(State())
  private let keptSeconds = Atomic<UInt32>(0)

  /// For how many seconds versions are kept; 0 where the store keeps none.
  var seconds: UInt32 { keptSeconds.load(ordering: .relaxed) }
  /// What was replaced by a transaction up to this one may go.
  var horizon: UInt64 { state.withLock { $0.horizon } }
  /// When the horizon was moved; 0 where that isn't known.
  var time: UInt64 { state.withLock { $0.time } }
  /// Whether this process has moved the horizon.
  var isKnown: Bool { state.withLock { $0.isKnown } }

  /// Begins to keep versions for so long.
  func begin(_ seconds: UInt32) { keptSeconds.store(seconds, ordering: .relaxed) }

  /// Takes over when a process before has moved the horizon.
  func begin(time: UInt64) { state.withLock { $0.time = time } }

  /// Whether a version that was replaced is kept, or a deletion.
  func keeps(_ id: ID16, _ sequence: UInt64) -> Bool {
    seconds > 0 && state.withLock { sequence > $0.horizon || sequence >= $0.last[id] ?? 0 }
  }

  /// Whether enough time has passed for looking again: a sixteenth of what versions are kept for, and five
  /// seconds at least.
  func isDue(at now: @autoclosure () -> UInt64) -> Bool {
    let seconds = seconds
    if seconds == 0 { return false }
    let (now, time) = (now(), time)
    return max(now, time) - min(now, time) >= max(5000, UInt64(seconds) * 1000 / 16)
  }

  /// Moves the horizon.
  func move(to horizon: UInt64, _ last: [ID16: UInt64], at time: UInt64) {
    state.withLock { $0 = State(horizon: horizon, last: last, time: time, isKnown: true) }
  }
}

extension Catalog {
  /// Whether a frame that is dead is a version that is kept. One that its own transaction replaced never was
  /// one, nor is a copy.
  func keeps(_ id: ID16, at location: Location) throws(StorageError) -> Bool {
    guard location.chunk == nil, kept.keeps(id, location.sequence) else { return false }
    return try self.location(of: id)?.sequence != location.sequence
  }

  /// What compaction would leave of all finished segments: what lives, and what is kept.
  var remainingByteCount: Int { kept.seconds > 0 ? segments.unexpiredByteCount : segments.liveByteCount }

  /// What compaction would leave of a finished segment.
  func remainingByteCount(of segment: Segment) -> Int {
    if kept.seconds == 0 { return segment.liveBytes }
    return max(0, segment.byteCount - Segment.overheadByteCount - segment.expiredByteCount)
  }
}

extension SegmentReader {
  /// The time in the mark of a listed frame's transaction; nothing where it has none, or something up to it
  /// does not check.
  mutating func time(of entry: FooterEntry) throws(StorageError) -> UInt64? {
    var place = entry.offset + entry.frameByteCount
    while let header = try frame(at: place), header.sequence == entry.sequence {
      if header.kind == .commit {
        guard try isWhole(header, at: place) else { return nil }
        let time = CommitMark(payload: try payload(of: header, at: place))?.time
        return time == 0 ? nil : time
      }
      place += header.frameByteCount
    }
    return nil
  }
}
