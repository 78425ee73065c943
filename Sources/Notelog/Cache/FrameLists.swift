// Which finished segments' footers are kept in memory: it spares whoever updates a record a system call.

import NotelogFormat
import NotelogBase
import Synchronization

/// Lists of the frames of finished segments, as many as its memory takes.
///
/// An update asks what the frame that it replaces is: whose, and how long. In a segment in which that is asked often, reading
/// the footer once is less than reading a header each time. A list goes with its segment.
final class FrameLists: Sendable {
  /// What is known of a segment.
  private struct Known {
    var list: FrameList?
    /// How often a header had to be read.
    var missCount = 0
  }

  private let limit: Int
  private static let shardCount = 16
  private let shards: Locks<[UInt32: Known]>
  private let used = Atomic<Int>(0)

  /// Lists that take at most so many bytes.
  init(byteCount: Int) {
    limit = byteCount
    shards = Locks(count: Self.shardCount) { _ in [:] }
  }

  /// The memory that lists take now.
  var byteCount: Int { used.load(ordering: .relaxed) }

  /// How many headers of a segment are read before its footer is: reading all of that has to be less.
  static func missLimit(of segment: Segment) -> Int { 8 + segment.byteCount / (20 << 10) }

  /// What a finished segment's list says of the frame at an offset; nothing where it has none.
  func entry(at offset: Int, in segment: Segment) -> FooterEntry? {
    guard limit > 0, segment.isFinished else { return nil }
    let (entry, isDue) = change(segment.number) { known -> (FooterEntry?, Bool) in
      if let list = known.list { return (list.entry(at: offset), false) }
      known.missCount += 1
      // Once: where that fails, or there is no memory for it, it is left at headers.
      return (nil, known.missCount == Self.missLimit(of: segment))
    }
    return isDue ? read(segment)?.entry(at: offset) : entry
  }

  /// Drops the list of a segment that is gone.
  func forget(_ segment: UInt32) {
    let known = shards.withLock(Int(segment) % Self.shardCount) { $0.removeValue(forKey: segment) }
    used.subtract(known?.list?.byteCount ?? 0, ordering: .relaxed)
  }

  /// Reads a segment's footer, where there is memory for it.
  private func read(_ segment: Segment) -> FrameList? {
    // Whoever asks reads the frame itself where this fails, and finds out why.
    guard let trailer = try? segment.trailer() else { return nil }
    let byteCount = FrameList.byteCount(of: trailer)
    if used.add(byteCount, ordering: .relaxed).newValue <= limit,
      let list = try? FrameList(segment, trailer)
    {
      change(segment.number) { $0.list = list }
      return list
    }
    used.subtract(byteCount, ordering: .relaxed)
    return nil
  }

  private func change<Result>(_ segment: UInt32, _ body: (inout Known) -> Result) -> Result {
    shards.withLock(Int(segment) % Self.shardCount) { body(&$0[segment, default: Known()]) }
  }
}
