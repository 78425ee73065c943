// Which finished segments' footers are kept in memory: it spares whoever updates a record a system call.

import NotelogFormat
import NotelogBase
import Synchronization

/// Lists of the frames of finished segments, as many as its memory takes.
///
/// An update asks what the frame that it replaces is: whose, and how long. In a segment in which that is asked often, reading
/// the footer once is less than reading a header each time. A list goes with its segment, or when nobody asked for it in a
/// while and others need its memory.
final class FrameLists: Sendable {
  /// What is known of a segment.
  fileprivate struct Known {
    var list: FrameList?
    var byteCount = 0
    /// Whether it was asked since memory was last short.
    var isUsed = true
    /// How often a header had to be read, and after how many times its footer is.
    var missCount = 0
    var threshold = FrameLists.leastMissCount
  }

  fileprivate enum Answer {
    case entry(FooterEntry)
    case unknown
    /// It has been asked so often that its footer is to be read.
    case due(missCount: Int)
  }

  /// A segment is asked so often before anything is read for it.
  fileprivate static let leastMissCount = 8
  /// A footer is read when one of so many frames that it lists has been asked for: reading all of it has to be less than the
  /// headers that were read until then.
  private static let framesPerMiss = 32
  /// After how many lists that found no room those are dropped that nobody asks for.
  private static let refusalsBetweenSweeps = 64

  private let limit: Int
  private static let shardCount = 16

  private let shards: Locks<[UInt32: Known]>
  private let used = Atomic<Int>(0)
  private let refusalCount = Atomic<Int>(0)

  /// Lists that take at most so many bytes.
  init(byteCount: Int) {
    limit = byteCount
    shards = Locks(count: Self.shardCount) { _ in [:] }
  }

  /// The memory that lists take now.
  var byteCount: Int { used.load(ordering: .relaxed) }

  /// What a finished segment's list says of the frame at an offset; nothing where it has none.
  func entry(at offset: Int, in segment: Segment) -> FooterEntry? {
    guard limit > 0, segment.entry != nil else { return nil }
    switch change(segment.number, { $0.ask(offset) }) {
    case .entry(let entry): return entry
    case .unknown: return nil
    case .due(let missCount): return read(segment, missCount)?.entry(at: offset)
    }
  }

  /// Drops the list of a segment that is gone.
  func forget(_ segment: UInt32) {
    let known = shards.withLock(Int(segment) % Self.shardCount) { $0.removeValue(forKey: segment) }
    if let known { used.subtract(known.byteCount, ordering: .relaxed) }
  }

  /// Reads a segment's footer, where there is memory for it and it is worth it by now.
  private func read(_ segment: Segment, _ missCount: Int) -> FrameList? {
    // Whoever asks reads the frame itself where this fails, and finds out why.
    guard let trailer = try? segment.trailer() else { return nil }
    let due = FrameList.frameCount(of: trailer) / Self.framesPerMiss
    guard missCount >= due else {
      change(segment.number) { $0.threshold = due }
      return nil
    }
    let byteCount = FrameList.byteCount(of: trailer)
    guard take(byteCount) else {
      change(segment.number) { $0.threshold = missCount + max(due, Self.leastMissCount) }
      return nil
    }
    guard let list = try? FrameList(segment, trailer) else {
      used.subtract(byteCount, ordering: .relaxed)
      return nil
    }
    change(segment.number) {
      $0.list = list
      $0.byteCount = byteCount
    }
    return list
  }

  private func take(_ byteCount: Int) -> Bool {
    if used.add(byteCount, ordering: .relaxed).newValue <= limit { return true }
    used.subtract(byteCount, ordering: .relaxed)
    let refusals = refusalCount.add(1, ordering: .relaxed).newValue
    if refusals % Self.refusalsBetweenSweeps == 0 { sweep() }
    return false
  }

  /// Drops what nobody asked for since the last time.
  private func sweep() {
    for index in 0..<Self.shardCount {
      let freed = shards.withLock(index) { shard in
        let unused = shard.filter { !$0.value.isUsed }
        for number in unused.keys { shard[number] = nil }
        for number in shard.keys { shard[number]?.isUsed = false }
        return unused.values.reduce(0) { $0 + $1.byteCount }
      }
      used.subtract(freed, ordering: .relaxed)
    }
  }

  private func change<Result>(_ segment: UInt32, _ body: (inout Known) -> Result) -> Result {
    shards.withLock(Int(segment) % Self.shardCount) { body(&$0[segment, default: Known()]) }
  }
}

extension FrameLists.Known {
  fileprivate mutating func ask(_ offset: Int) -> FrameLists.Answer {
    isUsed = true
    if let list { return list.entry(at: offset).map { .entry($0) } ?? .unknown }
    missCount += 1
    guard missCount >= threshold else { return .unknown }
    // It is being read, or can't be.
    threshold = .max
    return .due(missCount: missCount)
  }
}
