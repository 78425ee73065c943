// An ordered index of a field that lies in the checkpoint's file: docs/format-derived.md §32.

import NotelogFormat
import NotelogStorage
import NotelogBase

/// The keys that records had in a field, in order: all of those that the checkpoint covers, and perhaps later ones.
///
/// It is read block by block, as it is walked. It is as good as its blocks: where one does not check, all that it says can be had
/// from the segments.
final class StoredOrder: Sendable {
  /// The first 16 bytes of a sort key, and a record's id.
  static let keyByteCount = 32
  /// How many keys a block holds, if it is not the last.
  static let blockKeyCount = (CheckpointBlock.contentByteCount - 8) / keyByteCount

  /// No checkpoint has more orders.
  private static let maximumCount = 1 << 10

  let head: StoredOrderHead
  /// The checkpoint that it belongs to.
  let checkpoint: CheckpointHead
  private let file: any StorageFile
  /// The number of its first block, the head's.
  private let firstBlock: Int

  var name: OrderName { head.name }
  var keyCount: Int { head.keyCount }
  var blockCount: Int { head.blockCount }
  /// The transaction at which it had all keys: it is of no use at a moment before.
  var since: UInt64 { head.since }

  private init(
    _ head: StoredOrderHead, at firstBlock: Int, in file: any StorageFile, of checkpoint: CheckpointHead
  ) {
    self.head = head
    self.firstBlock = firstBlock
    self.file = file
    self.checkpoint = checkpoint
  }

  /// The heads of the orders behind a checkpoint's entries, with the numbers of their blocks, and the number of the first block
  /// behind all of them.
  static func heads(
    behind checkpoint: CheckpointHead, in file: any StorageFile
  ) throws(StorageError) -> (found: [(head: StoredOrderHead, block: Int)], endBlock: Int) {
    var found: [(head: StoredOrderHead, block: Int)] = []
    let fileBlockCount = try file.byteCount() / CheckpointBlock.byteCount
    var block = checkpoint.blockCount
    var buffer = Buffer(capacity: CheckpointBlock.byteCount)
    while block < fileBlockCount, found.count < maximumCount {
      buffer.removeAll()
      try buffer.fill(CheckpointBlock.byteCount, from: file, at: block * CheckpointBlock.byteCount)
      guard CheckpointBlock.isSound(buffer.bytes, at: 0, number: block, salt: checkpoint.salt),
        let head = StoredOrderHead(buffer.bytes), head.totalBlockCount <= fileBlockCount - block
      else { break }
      found.append((head, block))
      block += head.totalBlockCount
    }
    return (found, block)
  }

  /// The order of a field behind a checkpoint's entries; nothing where there is none.
  static func find(
    _ name: OrderName, behind checkpoint: CheckpointHead, in storage: any Storage
  ) -> StoredOrder? {
    guard
      let file = try? storage.openFile(FileName.index, .read)
    else { return nil }
    guard let place = (try? heads(behind: checkpoint, in: file))?.found.first(where: { $0.head.name == name })
    else {
      file.close()
      return nil
    }
    return StoredOrder(place.head, at: place.block, in: file, of: checkpoint)
  }

  deinit { file.close() }

  /// Calls `body` with the first key of each block, and with how many keys are in it.
  ///
  /// - Returns: Whether all that says so is sound.
  func forEachBlock(_ body: (_ firstKey: RawSpan, _ keyCount: Int) -> Void) -> Bool {
    var left = keyCount
    for block in 0..<head.directoryBlockCount {
      let count = min(Self.blockKeyCount, blockCount - block * Self.blockKeyCount)
      let isSound = read(1 + blockCount + block, keyCount: count) { keys in
        for index in 0..<count {
          body(keys.extracting(Self.range(of: index)), min(left, Self.blockKeyCount))
          left -= min(left, Self.blockKeyCount)
        }
      }
      guard isSound else { return false }
    }
    return true
  }

  /// Calls `body` with a block's keys, one after another.
  ///
  /// - Returns: Whether the block is sound; nothing was called if not.
  func read(_ block: Int, _ body: (_ keys: RawSpan) -> Void) -> Bool {
    read(1 + block, keyCount: min(Self.blockKeyCount, keyCount - block * Self.blockKeyCount), body)
  }

  /// Where a key lies among those of a block.
  static func range(of key: Int) -> Range<Int> { key * keyByteCount..<(key + 1) * keyByteCount }

  private func read(_ block: Int, keyCount: Int, _ body: (_ keys: RawSpan) -> Void) -> Bool {
    let number = firstBlock + block
    var buffer = Buffer(capacity: CheckpointBlock.byteCount)
    guard
      (try? buffer.fill(CheckpointBlock.byteCount, from: file, at: number * CheckpointBlock.byteCount))
        == CheckpointBlock.byteCount,
      CheckpointBlock.isSound(buffer.bytes, at: 0, number: number, salt: checkpoint.salt),
      buffer.bytes.load(UInt64.self, at: StoredOrderHead.saltOffset) == head.salt
    else { return false }
    body(buffer.bytes.extracting(0..<keyCount * Self.keyByteCount))
    return true
  }
}
