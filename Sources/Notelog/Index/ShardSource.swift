// Where the shards come from that nobody has touched since the store was opened: docs/format-derived.md §31.

import NotelogFormat
import NotelogStorage
import NotelogBase

/// The checkpoint's file, and what came after it.
///
/// A shard is looked up in the file, a block or two at a time, until it is changed or looked up often; then
/// it is read whole, and what came after the checkpoint is merged in. A block that does not check costs
/// nothing but time: all shards that are not in memory yet are built from the segments.
final class ShardSource: Sendable {
  private let file: any StorageFile
  let head: CheckpointHead
  private let segments: SegmentTable
  private let cache: BlockCache
  /// The number of the first entry of each shard, and the number of all entries.
  private let firstEntries: [Int]
  /// What the segments list behind the checkpoint.
  private let tail: Tail
  /// Segments of the checkpoint that are no longer live: an entry that points into one was moved or is dead.
  private let gone: Set<UInt32>
  let staleness: Staleness
  let health: CheckpointHealth
  private let rebuilding = Lock<RebuiltShards?>(nil)

  /// Shards built from the segments, because the file is damaged. Made only then: there is room for all of
  /// them.
  private final class RebuiltShards {
    var shards = InlineArray<256, Shard> { _ in Shard() }
  }

  init(
    _ file: any StorageFile, _ head: CheckpointHead, tail: Tail, _ segments: SegmentTable,
    _ cache: BlockCache,
    _ staleness: Staleness
  ) {
    self.staleness = staleness
    self.file = file
    self.head = head
    health = CheckpointHealth(head)
    self.tail = tail
    self.segments = segments
    self.cache = cache
    firstEntries = head.entryCounts.reduce(into: [0]) { $0.append(($0.last ?? 0) + Int($1)) }
    gone = Set(head.segments.map(\.number).filter { segments[$0] == nil })
  }

  deinit { file.close() }

  /// How many entries came after the checkpoint.
  var tailCount: Int { tail.count }

  /// Whether a shard is what it is in the file, and nothing else.
  func isInFile(_ shard: Int) -> Bool { tail[shard].isEmpty && gone.isEmpty }

  /// What looking into the file gave.
  enum Lookup {
    case place(FrameAddress?)
    /// The shard has to be read whole.
    case unknown
  }

  /// The place of the nth candidate, from the blocks around the one where it should be.
  func candidate(_ shard: Int, _ fingerprint: UInt64, _ ordinal: Int) -> Lookup {
    guard isInFile(shard) else { return .unknown }
    let entries = firstEntries[shard]..<firstEntries[shard + 1]
    guard !entries.isEmpty else { return .place(nil) }
    let guess =
      entries.lowerBound + Int((fingerprint << 8).multipliedFullWidth(by: UInt64(entries.count)).high)
    let middle = guess / CheckpointBlock.entryCount
    let blocks =
      max(middle - 1, entries.lowerBound / CheckpointBlock.entryCount)..<min(
        middle + 1, (entries.upperBound - 1) / CheckpointBlock.entryCount) + 1
    var window = Buffer(capacity: 3 * CheckpointBlock.byteCount)
    guard (try? readBlocks(blocks, into: &window)) == true else { return .unknown }
    let known = entries.clamped(
      to: blocks.lowerBound * CheckpointBlock.entryCount..<blocks.upperBound * CheckpointBlock.entryCount)
    let bytes = window.bytes
    var slot = known.lowerBound
    var end = known.upperBound
    while slot < end {
      let half = (slot + end) / 2
      if Self.entry(half, bytes, blocks.lowerBound).fingerprint < fingerprint {
        slot = half + 1
      } else {
        end = half
      }
    }
    // What lies outside the window may have the same fingerprint.
    if slot == known.lowerBound, slot > entries.lowerBound { return .unknown }
    slot += ordinal
    guard slot < known.upperBound else {
      return known.upperBound == entries.upperBound ? .place(nil) : .unknown
    }
    let entry = Self.entry(slot, bytes, blocks.lowerBound)
    guard entry.place.isValid, Int(entry.fingerprint >> 56) == shard else { return .unknown }
    return .place(entry.fingerprint == fingerprint ? entry.place : nil)
  }

  /// Fills an empty shard with all that belongs to it.
  func load(_ number: Int, into shard: inout Shard) throws(StorageError) {
    let isWhole = try read(number, into: &shard)
    if !isWhole { try loadRebuilt(number, into: &shard) }
    do { try applyTail(number, into: &shard) } catch {
      // What was taken over is not there a second time.
      if !isWhole { rebuilding.withLock { $0 = nil } }
      throw error
    }
  }

  /// Takes what came after the checkpoint into a shard.
  private func applyTail(_ number: Int, into shard: inout Shard) throws(StorageError) {
    var changes: [(byteCount: Int, segment: UInt32)] = []
    shard.table.reserve(tail[number].count)
    for entry in tail[number] {
      let taken = try shard.apply(entry, head.key.fingerprint(of: entry.id), segments, cache)
      if case .older = taken { continue }
      changes.append((entry.liveByteCount, entry.place.segment))
      if case .replaced(let known) = taken { changes.append((-known.liveByteCount, known.segment)) }
    }
    // Only once nothing can fail any more: loading is tried again if it fails.
    for change in changes { segments.addLive(change.byteCount, in: segments[change.segment]) }
  }

  private static func entry(_ number: Int, _ bytes: RawSpan, _ firstBlock: Int) -> IndexEntry {
    let block = number / CheckpointBlock.entryCount - firstBlock
    let place =
      block * CheckpointBlock.byteCount + number % CheckpointBlock.entryCount * IndexEntry.byteCount
    return IndexEntry(bytes, at: place)
  }

  /// Reads blocks of entries, counted from the first of them.
  ///
  /// - Returns: Whether they are all there and sound.
  private func readBlocks(_ blocks: Range<Int>, into window: inout Buffer) throws(StorageError) -> Bool {
    let (first, end) = (head.firstEntryBlock + blocks.lowerBound, head.firstEntryBlock + blocks.upperBound)
    return try CheckpointBlock.read(first..<end, of: file, salt: head.salt, into: &window)
  }

  /// How many blocks are read at a time.
  private static let pieceBlockCount = 64

  /// Reads a whole shard from the file.
  ///
  /// - Returns: Whether every block of it checks; if not, the shard is left empty.
  private func read(_ number: Int, into shard: inout Shard) throws(StorageError) -> Bool {
    if health.isDamaged { return false }
    var next = firstEntries[number]
    let end = firstEntries[number + 1]
    var table = EntryTable(minimumCapacity: end - next, stagger: number)
    var lastSlot = -1
    var lastFingerprint: UInt64 = 0
    var window = Buffer()
    while next < end {
      let firstBlock = next / CheckpointBlock.entryCount
      let lastBlock = min(firstBlock + Self.pieceBlockCount, (end - 1) / CheckpointBlock.entryCount + 1)
      guard (try? readBlocks(firstBlock..<lastBlock, into: &window)) == true else { return false }
      let pieceEnd = min(end, lastBlock * CheckpointBlock.entryCount)
      let bytes = window.bytes
      while next < pieceEnd {
        let entry = Self.entry(next, bytes, firstBlock)
        guard entry.place.isValid, Int(entry.fingerprint >> 56) == number,
          entry.fingerprint >= lastFingerprint
        else { return false }
        lastFingerprint = entry.fingerprint
        next += 1
        if !gone.isEmpty, gone.contains(entry.place.segment) { continue }
        table.append(entry, behind: &lastSlot)
      }
    }
    shard.table = table
    return true
  }

  private func loadRebuilt(_ number: Int, into shard: inout Shard) throws(StorageError) {
    try rebuilding.withLock { known throws(StorageError) in
      let rebuilt: RebuiltShards
      if let known {
        rebuilt = known
      } else {
        rebuilt = try rebuild()
        known = rebuilt
        health.noteDamage()
      }
      swap(&shard.table, &rebuilt.shards[number].table)
    }
  }

  /// Builds what the checkpoint held from what the segments list.
  private func rebuild() throws(StorageError) -> RebuiltShards {
    let rebuilt = RebuiltShards()
    for figures in head.segments {
      // A head that was empty when the checkpoint was written: what is in it came later.
      guard let segment = segments[figures.number],
        !segment.kind.isLog || segment.number <= head.covered.segment
      else { continue }
      let reading = try segment.forEachTailEntry(from: nil, to: head.covered) {
        (entry, _) throws(StorageError) in
        let fingerprint = head.key.fingerprint(of: entry.id)
        _ = try rebuilt.shards[Int(fingerprint >> 56)].apply(entry, fingerprint, segments, cache)
      }
      if !reading.isWhole { staleness.noteLoss() }
    }
    return rebuilt
  }
}
