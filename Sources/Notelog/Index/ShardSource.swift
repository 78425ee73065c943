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
  private let checkpoint: CheckpointFile
  private let segments: SegmentTable
  private let cache: BlockCache
  /// The number of the first entry of each shard, and the number of all entries.
  private let firstEntries: [Int]
  /// What the segments list behind the checkpoint.
  private let tail: Tail
  /// Segments of the checkpoint that are no longer live: an entry that points into one was moved or is dead.
  private let gone: Set<UInt32>
  let staleness = Staleness()
  let health: CheckpointHealth
  /// Shards built from the segments, because the file is damaged.
  private let rebuilding = Lock<Index?>(nil)

  /// What the segments list behind a checkpoint: by shards, in the order of the log.
  typealias Tail = [[(id: ID16, location: Location)]]

  init(_ checkpoint: CheckpointFile, tail: Tail, _ segments: SegmentTable, _ cache: BlockCache) {
    let head = checkpoint.head
    self.checkpoint = checkpoint
    health = CheckpointHealth(head)
    self.tail = tail
    self.segments = segments
    self.cache = cache
    firstEntries = head.entryCounts.reduce(into: [0]) { $0.append(($0.last ?? 0) + Int($1)) }
    gone = Set(head.segments.map(\.number).filter { segments[$0] == nil })
  }

  var head: CheckpointHead { checkpoint.head }

  /// How many entries came after the checkpoint.
  var tailCount: Int { tail.reduce(0) { $0 + $1.count } }

  /// Whether a shard is what it is in the file, and nothing else.
  func isInFile(_ shard: Int) -> Bool { tail[shard].isEmpty && gone.isEmpty }

  /// The place of the nth candidate, from the blocks around the one where it should be; one that is none
  /// behind the last.
  ///
  /// - Returns: Nothing where the shard has to be read whole.
  func candidate(_ shard: Int, _ fingerprint: UInt64, _ ordinal: Int) -> FrameAddress? {
    guard isInFile(shard) else { return nil }
    let entries = firstEntries[shard]..<firstEntries[shard + 1]
    guard !entries.isEmpty else { return FrameAddress.none }
    let guess =
      entries.lowerBound + Int((fingerprint << 8).multipliedFullWidth(by: UInt64(entries.count)).high)
    // Its block, and those around it.
    let first = max(guess / CheckpointBlock.entryCount - 1, 0)
    let known = entries.clamped(
      to: first * CheckpointBlock.entryCount..<(first + 3) * CheckpointBlock.entryCount)
    var window = Buffer(capacity: 3 * CheckpointBlock.byteCount)
    guard (try? checkpoint.readBlocks(ofEntries: known, into: &window)) == true else { return nil }
    let (bytes, firstBlock) = (window.bytes, known.lowerBound / CheckpointBlock.entryCount)
    func entry(_ number: Int) -> IndexEntry { CheckpointFile.entry(number, bytes, firstBlock: firstBlock) }
    let slot = known.first { entry($0).fingerprint >= fingerprint } ?? known.upperBound
    // What lies outside the window may have the same fingerprint.
    if slot == known.lowerBound, slot > entries.lowerBound { return nil }
    guard slot + ordinal < known.upperBound else {
      return known.upperBound == entries.upperBound ? FrameAddress.none : nil
    }
    let found = entry(slot + ordinal)
    guard found.place.isValid, Int(found.fingerprint >> 56) == shard else { return nil }
    return found.fingerprint == fingerprint ? found.place : FrameAddress.none
  }

  /// Fills an empty shard with all that belongs to it.
  func load(_ number: Int, into shard: inout Shard) throws(StorageError) {
    let isWhole = read(number, into: &shard)
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
    for (id, location) in tail[number] {
      let taken = try shard.apply(id, location, head.key.fingerprint(of: id), segments, cache)
      if taken.isNewer { changes.append((location.liveByteCount, location.segment)) }
      if let known = taken.replaced { changes.append((-known.liveByteCount, known.segment)) }
    }
    // Only once nothing can fail any more: loading is tried again if it fails.
    for change in changes { segments.addLive(change.byteCount, in: segments[change.segment]) }
  }

  /// Reads a whole shard from the file.
  ///
  /// - Returns: Whether every block of it checks, and it has what the head says; if not, the shard is left
  ///   empty.
  private func read(_ number: Int, into shard: inout Shard) -> Bool {
    if health.isDamaged { return false }
    var table = EntryTable(stagger: number)
    table.reserve(Int(head.entryCounts[number]))
    var (lastSlot, isOfShard, tombstoneCount) = (-1, true, 0)
    let isSound = try? checkpoint.forEachEntry(in: firstEntries[number]..<firstEntries[number + 1]) { entry in
      if Int(entry.fingerprint >> 56) != number { isOfShard = false }
      if entry.place.isTombstone { tombstoneCount += 1 }
      if isOfShard, !gone.contains(entry.place.segment) { table.append(entry, behind: &lastSlot) }
    }
    guard isSound == true, isOfShard, tombstoneCount == head.tombstoneCounts[number] else { return false }
    shard.table = table
    return true
  }

  private func loadRebuilt(_ number: Int, into shard: inout Shard) throws(StorageError) {
    try rebuilding.withLock { known throws(StorageError) in
      if known == nil {
        known = try rebuild()
        health.noteDamage()
      }
      known?.withAnyShard(number) { swap(&shard.table, &$0.table) }
    }
  }

  /// Builds what the checkpoint held from what the segments list.
  private func rebuild() throws(StorageError) -> Index {
    let rebuilt = Index(key: head.key)
    for figures in head.segments {
      // A head that was empty when the checkpoint was written: what is in it came later.
      guard let segment = segments[figures.number],
        !segment.kind.isLog || segment.number <= head.covered.segment
      else { continue }
      let reading = try segment.forEachVersion(from: nil, to: head.covered) {
        (id, location) throws(StorageError) in
        let fingerprint = head.key.fingerprint(of: id)
        try rebuilt.withAnyShard(Int(fingerprint >> 56)) { shard throws(StorageError) in
          _ = try shard.apply(id, location, fingerprint, segments, cache)
        }
      }
      if !reading.isWhole { staleness.noteLoss() }
    }
    return rebuilt
  }
}
