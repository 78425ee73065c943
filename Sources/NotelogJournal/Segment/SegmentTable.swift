// The segments of an open store, by number.

import NotelogConcurrency

/// The segments that reads and compaction find frames in.
final class SegmentTable: Sendable {
  private let segments = Lock<[UInt32: Segment]>([:])

  subscript(number: UInt32) -> Segment? { segments.withLock { $0[number] } }

  var all: [Segment] { segments.withLock { $0.values.sorted { $0.number < $1.number } } }

  func insert(_ segment: Segment) { segments.withLock { $0[segment.number] = segment } }

  @discardableResult
  func remove(_ number: UInt32) -> Segment? { segments.withLock { $0.removeValue(forKey: number) } }
}
