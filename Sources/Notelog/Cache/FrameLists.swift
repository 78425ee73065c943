// What a finished segment's footer lists, in memory: FORMAT.md §21.1.

import NotelogBase
import NotelogFormat
import NotelogStorage
import Synchronization

/// The frames of a finished segment by their offsets. What its footer says of one is what the frame's header
/// says.
final class FrameList: Sendable {
  /// The entries as the footer has them, each with its envelope.
  private let entries: [UInt8]
  /// Of each stretch of the segment, where the entries begin of the frames that start in it or behind it.
  private let starts: [UInt32]
  /// A stretch has so many bytes, as an exponent of 2: about as many as a frame.
  private let stretchShift: Int

  /// The memory that is counted for it.
  let byteCount: Int

  /// The memory a list takes, at most: as many stretches as frames, or twice as many.
  static func byteCount(of trailer: Trailer) -> Int {
    trailer.footerByteCount + 2 * (frameCount(of: trailer) + 1) * MemoryLayout<UInt32>.size
  }

  /// How many frames a footer lists, at most.
  static func frameCount(of trailer: Trailer) -> Int { trailer.footerByteCount / Layout.footerEntryByteCount }

  /// Reads a segment's footer; nothing where it does not check, or lists less than there was.
  init?(_ segment: Segment, _ trailer: Trailer) throws(StorageError) {
    guard let end = segment.entry?.byteCount else { return nil }
    let frameByteCount = trailer.footerOffset / max(Self.frameCount(of: trailer), 1)
    let shift = Int.bitWidth - 1 - max(frameByteCount, 1).leadingZeroBitCount
    var reader = SegmentReader(segment.file, salt: segment.salt, end: end)
    var entries = Buffer(capacity: trailer.footerByteCount)
    var starts: [UInt32] = []
    starts.reserveCapacity(trailer.footerOffset >> shift + 1)
    let state = try reader.forEachFooterEntry(trailer) { entry, envelope in
      // There is no frame behind the footer, whatever it says.
      guard entry.offset < trailer.footerOffset else { return }
      while starts.count <= entry.offset >> shift { starts.append(UInt32(entries.count)) }
      entry.append(to: &entries, envelope: envelope)
    }
    guard state == .complete else { return nil }
    self.entries = entries.bytes.array()
    self.starts = starts
    byteCount = Self.byteCount(of: trailer)
    stretchShift = shift
  }

  /// What is listed at an offset.
  func entry(at offset: Int) -> FooterEntry? {
    let stretch = offset >> stretchShift
    guard stretch < starts.count else { return nil }
    let list = entries
    let bytes = list.rawSpan
    var start = Int(starts[stretch])
    while let entry = FooterEntry(bytes, at: start), entry.offset <= offset {
      if entry.offset == offset { return entry }
      start += entry.entryByteCount
    }
    return nil
  }
}

// MARK: - Which finished segments' footers are kept in memory: it spares whoever updates a record a system call.

/// Lists of the frames of finished segments, as many as its memory takes.
///
/// An update asks what the frame that it replaces is: whose, and how long. In a segment in which that is
/// asked often, reading the footer once is less than reading a header each time. A list goes with its
/// segment.
final class FrameLists: Sendable {
  /// What is known of a segment, and how often a header had to be read.
  private typealias Known = (list: FrameList?, missCount: Int)

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
    shards.withLock(Int(segment) % Self.shardCount) { body(&$0[segment, default: (nil, 0)]) }
  }
}
