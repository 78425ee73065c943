// Writing an order into the checkpoint's file: docs/format-derived.md §32.

import NotelogBase
import NotelogStorage

/// Writes keys as they come, then what each block begins with, and the head last: until then, nothing is there.
struct StoredOrderWriter: ~Copyable {
  private static let pieceBlockCount = 64

  private let file: any StorageFile
  private let salt: UInt64
  private let orderSalt: UInt64
  /// The number of the head's block.
  private let firstBlock: Int
  private var keyCount = 0
  /// The first keys of all blocks.
  private var directory = Buffer()
  /// Blocks on their way to the file, and the number of the first.
  private var outgoing = Buffer(capacity: pieceBlockCount * CheckpointBlock.byteCount)
  private var nextBlock: Int

  init(_ file: any StorageFile, salt: UInt64, orderSalt: UInt64, firstBlock: Int) {
    self.file = file
    self.salt = salt
    self.orderSalt = orderSalt
    self.firstBlock = firstBlock
    nextBlock = firstBlock + 1
  }

  /// Adds a key, which is not less than the last.
  mutating func append(_ key: RawSpan) throws(NotelogError) {
    if keyCount % StoredOrder.blockKeyCount == 0 { directory.append(key) }
    do { try append(key, at: keyCount % StoredOrder.blockKeyCount) } catch { throw NotelogError(error) }
    keyCount += 1
  }

  private mutating func append(_ key: RawSpan, at place: Int) throws(StorageError) {
    if place == 0 {
      if outgoing.count >= Self.pieceBlockCount * CheckpointBlock.byteCount { try writeOutgoing() }
      outgoing.appendZeros(CheckpointBlock.byteCount)
    }
    let start = outgoing.count - CheckpointBlock.byteCount + place * StoredOrder.keyByteCount
    var bytes = outgoing.mutableBytes
    bytes.copy(key, at: start)
  }

  /// Writes what is left, but not the head.
  mutating func finishBlocks() throws(StorageError) {
    var firstKeys = Buffer()
    swap(&firstKeys, &directory)
    for index in 0..<firstKeys.count / StoredOrder.keyByteCount {
      try append(
        firstKeys.bytes.extracting(StoredOrder.range(of: index)), at: index % StoredOrder.blockKeyCount)
    }
    try writeOutgoing()
  }

  /// Writes the head.
  mutating func finish(_ name: OrderName, since: UInt64) throws(StorageError) {
    nextBlock = firstBlock
    let head = StoredOrderHead(name: name, keyCount: keyCount, since: since, salt: orderSalt)
    head.append(to: &outgoing)
    try writeOutgoing()
  }

  private mutating func writeOutgoing() throws(StorageError) {
    let (salt, orderSalt, first) = (salt, orderSalt, nextBlock)
    var bytes = outgoing.mutableBytes
    for start in stride(from: 0, to: bytes.byteCount, by: CheckpointBlock.byteCount) {
      bytes.store(orderSalt, at: start + StoredOrderHead.saltOffset)
    }
    CheckpointBlock.seal(&outgoing, salt: salt, first: first)
    try file.writeAll(outgoing.bytes, at: first * CheckpointBlock.byteCount)
    nextBlock += outgoing.count / CheckpointBlock.byteCount
    outgoing.removeAll()
  }
}
