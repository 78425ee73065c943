// The segments of an open store, by number.

import NotelogConcurrency
import Synchronization

/// The segments that reads and compaction find frames in.
final class SegmentTable: Sendable {
  private let segments = Lock<[UInt32: Segment]>([:])

  private let liveByteTotal = Atomic<Int>(0)

  /// The bytes of all live frames, with their footer entries.
  var liveByteCount: Int { liveByteTotal.load(ordering: .relaxed) }

  /// Counts bytes of a segment that became live, or died.
  func addLive(_ byteCount: Int, in number: UInt32) {
    self[number]?.addLive(byteCount)
    liveByteTotal.add(byteCount, ordering: .relaxed)
  }

  subscript(number: UInt32) -> Segment? { segments.withLock { $0[number] } }

  var all: [Segment] { segments.withLock { $0.values.sorted { $0.number < $1.number } } }

  func insert(_ segment: Segment) { segments.withLock { $0[segment.number] = segment } }

  @discardableResult
  func remove(_ number: UInt32) -> Segment? { segments.withLock { $0.removeValue(forKey: number) } }
}
