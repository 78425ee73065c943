// The segments of an open store, by number.

import NotelogConcurrency
import Synchronization

/// The segments that reads and compaction find frames in.
final class SegmentTable: Sendable {
  private let segments = Lock<[UInt32: Segment]>([:])

  private let liveByteTotal = Atomic<Int>(0)
  private let finishedByteTotal = Atomic<Int>(0)

  /// The bytes of all live frames, with their footer entries.
  var liveByteCount: Int { liveByteTotal.load(ordering: .relaxed) }
  /// The bytes of all finished segments' files.
  var finishedByteCount: Int { finishedByteTotal.load(ordering: .relaxed) }

  /// Counts bytes of a segment that became live, or died.
  func addLive(_ byteCount: Int, in number: UInt32) {
    self[number]?.addLive(byteCount)
    liveByteTotal.add(byteCount, ordering: .relaxed)
  }

  subscript(number: UInt32) -> Segment? { segments.withLock { $0[number] } }

  var count: Int { segments.withLock { $0.count } }

  var all: [Segment] { segments.withLock { $0.values.sorted { $0.number < $1.number } } }

  func insert(_ segment: Segment) {
    let old = segments.withLock { $0.updateValue(segment, forKey: segment.number) }
    count(segment.byteCount - (old?.byteCount ?? 0))
  }

  @discardableResult
  func remove(_ number: UInt32) -> Segment? {
    let old = segments.withLock { $0.removeValue(forKey: number) }
    count(-(old?.byteCount ?? 0))
    return old
  }

  private func count(_ byteCount: Int) { finishedByteTotal.add(byteCount, ordering: .relaxed) }
}
