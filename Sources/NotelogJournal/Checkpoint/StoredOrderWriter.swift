// Writing an order into the checkpoint's file: FORMAT.md §14, "Orders".

/// Writes keys as they come, then what each block begins with, and the head last: until then, nothing is there.
package struct StoredOrderWriter: ~Copyable {
  private static let pieceBlockCount = 64

  private let file: any StorageFile
  private let salt: UInt64
  /// The number of the head's block.
  private let firstBlock: Int
  private var keyCount = 0
  /// The first keys of all blocks.
  private var directory = Buffer()
  /// Blocks on their way to the file, and the number of the first.
  private var outgoing = Buffer(capacity: pieceBlockCount * CheckpointBlock.byteCount)
  private var nextBlock: Int

  init(_ file: any StorageFile, salt: UInt64, firstBlock: Int) {
    self.file = file
    self.salt = salt
    self.firstBlock = firstBlock
    nextBlock = firstBlock + 1
  }

  /// Adds a key, which is not less than the last.
  package mutating func append(_ key: RawSpan) throws(StorageError) {
    if keyCount % StoredOrder.blockKeyCount == 0 { directory.append(key) }
    try append(key, at: keyCount % StoredOrder.blockKeyCount)
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

  /// Writes what is left, and the head.
  consuming func finish(_ name: OrderName, unusedCount: Int) throws(StorageError) {
    var firstKeys = Buffer()
    swap(&firstKeys, &directory)
    for index in 0..<firstKeys.count / StoredOrder.keyByteCount {
      try append(
        firstKeys.bytes.extracting(StoredOrder.range(of: index)), at: index % StoredOrder.blockKeyCount)
    }
    try writeOutgoing()
    nextBlock = firstBlock
    StoredOrderHead(name: name, unusedCount: unusedCount, keyCount: keyCount).append(to: &outgoing)
    try writeOutgoing()
  }

  private mutating func writeOutgoing() throws(StorageError) {
    let (salt, first) = (salt, nextBlock)
    CheckpointBlock.seal(&outgoing, salt: salt, first: first)
    try file.writeAll(outgoing.bytes, at: first * CheckpointBlock.byteCount)
    nextBlock += outgoing.count / CheckpointBlock.byteCount
    outgoing.removeAll()
  }
}
