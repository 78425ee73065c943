// What a finished segment lists, to be had by fingerprint: FORMAT.md §14, "Sorted footers".

import NotelogFormat
import NotelogStorage
import NotelogBase

/// The file beside a segment that lists its records and deletions once more, so that a shard of the index finds its own
/// without going through them all.
///
/// It is as good as its blocks: where one does not check, the segment's footer says the same.
final class SortedFooter: Sendable {
  private let segment: Segment
  private let head: SortedFooterHead
  private let file: any StorageFile
  /// Entries before this offset are the checkpoint's.
  private let coveredOffset: Int
  private let staleness: Staleness
  /// What the footer says, once the file turned out not to be sound.
  private let substitute = Lock<Tail?>(nil)

  /// The sorted footer of a segment that is finished; nothing where there is none that is sound and fits the checkpoint.
  init?(
    of segment: Segment, behind checkpoint: CheckpointHead, in storage: any Storage, _ staleness: Staleness
  ) {
    guard let entry = segment.entry,
      let file = try? retryingInterruptions({ () throws(StorageError) in
        try storage.open(FileName.sortedFooter(segment.number), .read)
      })
    else { return nil }
    guard let head = try? SortedFooterHead(from: file), head.entry == entry,
      head.storeID == checkpoint.storeID, head.key == checkpoint.key
    else {
      file.close()
      return nil
    }
    self.segment = segment
    self.head = head
    self.file = file
    self.staleness = staleness
    coveredOffset = checkpoint.covered.segment == segment.number ? checkpoint.covered.offset : 0
  }

  deinit { file.close() }

  var entryCount: Int { head.entryCount }
  /// What it changes about collection 0.
  var listed: [SortedFooterHead.Change] { head.listed }

  /// Calls `body` with a shard's entries and their fingerprints; with some of them twice where the file is not sound.
  func forEach(
    of shard: Int, _ body: (TailEntry, _ fingerprint: UInt64) throws(StorageError) -> Void
  ) throws(StorageError) {
    func pass(_ entry: TailEntry, _ fingerprint: UInt64) throws(StorageError) {
      if entry.place.offset >= coveredOffset { try body(entry, fingerprint) }
    }
    if try forEachInFile(of: shard, pass) { return }
    try fromFooter().forEach(of: shard, head.key, pass)
  }

  /// - Returns: Whether the blocks that hold the shard's entries are all sound.
  private func forEachInFile(
    of shard: Int, _ body: (TailEntry, _ fingerprint: UInt64) throws(StorageError) -> Void
  ) throws(StorageError) -> Bool {
    let group = head.group(of: UInt64(shard) << 56)
    var buffer = Buffer(capacity: CheckpointBlock.byteCount)
    for (index, blockGroup) in head.groups.enumerated() where Int(blockGroup) == group {
      let number = head.firstEntryBlock + index
      buffer.removeAll()
      guard
        (try? buffer.fill(CheckpointBlock.byteCount, from: file, at: number * CheckpointBlock.byteCount))
          == CheckpointBlock.byteCount,
        CheckpointBlock.isSound(buffer.bytes, at: 0, number: number, salt: head.salt)
      else { return false }
      let count = Int(buffer.bytes.load(UInt16.self, at: SortedFooterBlock.countOffset))
      guard count <= SortedFooterBlock.entryCount else { return false }
      for place in stride(
        from: 0, to: count * SortedFooterBlock.entryByteCount, by: SortedFooterBlock.entryByteCount)
      {
        guard let entry = TailEntry(buffer.bytes, at: place, segment: segment.number) else { return false }
        let fingerprint = head.key.fingerprint(of: entry.id)
        guard head.group(of: fingerprint) == group else { return false }
        if Int(fingerprint >> 56) == shard { try body(entry, fingerprint) }
      }
    }
    return true
  }

  /// What the segment says itself. Where that is not all, records of it may have superseded others, and nothing names them.
  private func fromFooter() throws(StorageError) -> Tail {
    try substitute.withLock { substitute throws(StorageError) in
      if let substitute { return substitute }
      var tail = Tail()
      let reading = try segment.forEachTailEntry(from: nil, to: .end) { (entry, _) in
        tail.append(entry, fingerprint: head.key.fingerprint(of: entry.id))
      }
      if !reading.isWhole { staleness.noteLoss() }
      tail.sort()
      substitute = tail
      return tail
    }
  }
}
