// What an order is of, and the key that it has of a record: docs/format-derived.md §32.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// The field of a collection that an order is of, or the two fields.
struct OrderName: Hashable, Sendable {
  /// The field that records are ordered by where the first leaves them equal.
  struct Second: Hashable, Sendable {
    let field: UInt16
    /// Whether it goes down where the first goes up.
    let isReversed: Bool
    /// Whether keys of the first have no fixed length: then something says where they end.
    let followsText: Bool
  }

  /// How much of a key an order holds.
  static let keyByteCount = 16

  let collection: UInt16
  let field: UInt16
  var second: Second?

  /// The order of the first field alone.
  var first: OrderName { OrderName(collection: collection, field: field) }

  /// Its fields.
  var fields: [UInt16] { [field] + (second.map { [$0.field] } ?? []) }

  /// The beginning of the key of a record, out of the sort keys of its fields. Of the second field's there
  /// may be zeros behind it.
  func key(_ first: RawSpan, _ secondKey: RawSpan) -> [UInt8] {
    var key = beginning(first)
    if second?.followsText == true { key += [0, 0] }
    let start = min(key.count, Self.keyByteCount)
    for index in 0..<min(secondKey.byteCount, Self.keyByteCount - start) {
      key.append(secondKey.byte(at: index))
    }
    key += [UInt8](repeating: 0, count: Self.keyByteCount)
    key.removeLast(key.count - Self.keyByteCount)
    if second?.isReversed == true { for index in start..<key.count { key[index] = ~key[index] } }
    return key
  }

  /// What all keys begin with whose first field's sort key begins with some bytes.
  func beginning(_ first: RawSpan) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(2 * Self.keyByteCount)
    for index in 0..<min(first.byteCount, Self.keyByteCount) {
      key.append(first.byte(at: index))
      // Two zeros are an end.
      if second?.followsText == true, first.byte(at: index) == 0 { key.append(.max) }
    }
    return key
  }

  /// The beginning of the key that a record with an envelope has in the order; nil where the envelope lacks a
  /// field's.
  func key(in envelope: RawSpan) -> [UInt8]? {
    guard let first = Envelope.sortKey(of: field, in: envelope) else { return nil }
    guard let second else { return key(envelope.extracting(first), RawSpan()) }
    guard let next = Envelope.sortKey(of: second.field, in: envelope) else { return nil }
    return key(envelope.extracting(first), envelope.extracting(next))
  }
}

// MARK: - The head of an order in the checkpoint's file: docs/format-derived.md §32.

/// What an order says of itself.
struct StoredOrderHead: Equatable, Sendable {
  static let magic: UInt64 = 0x0A0D_4452_4F4C_4E89
  /// Of an order of one field.
  static let version: UInt16 = 1
  /// Of an order of two.
  static let versionOfTwo: UInt16 = 2
  private static let usedByteCount = 32
  private static let usedByteCountOfTwo = 34
  /// Where each of an order's blocks bears its salt.
  static let saltOffset = StoredOrder.blockKeyCount * StoredOrder.keyByteCount

  let name: OrderName
  let keyCount: Int
  /// The transaction at which it had all keys.
  let since: UInt64
  /// Random, in each of its blocks: an order that was begun before, at the same place of the file, has
  /// another.
  let salt: UInt64

  /// The blocks of its keys.
  var blockCount: Int { CheckpointBlock.count(of: keyCount, StoredOrder.keyByteCount) }
  /// The blocks that say with which key each of those begins.
  var directoryBlockCount: Int { CheckpointBlock.count(of: blockCount, StoredOrder.keyByteCount) }
  /// All of its blocks, the head's among them.
  var totalBlockCount: Int { 1 + blockCount + directoryBlockCount }

}

extension StoredOrderHead {
  /// Reads a block that is sound; nothing where it is no order's head.
  init?(_ bytes: RawSpan) {
    let version = bytes.load(UInt16.self, at: 8)
    let isOfTwo = version == Self.versionOfTwo
    guard bytes.load(UInt64.self, at: 0) == Self.magic, isOfTwo || version == Self.version,
      bytes.extracting((isOfTwo ? Self.usedByteCountOfTwo : Self.usedByteCount)..<Self.saltOffset).isZero
    else { return nil }
    let flags = isOfTwo ? bytes.load(UInt16.self, at: 32) : 0
    guard flags < 4 else { return nil }
    name = OrderName(
      collection: bytes.load(UInt16.self, at: 10), field: bytes.load(UInt16.self, at: 12),
      second: isOfTwo
        ? OrderName.Second(
          field: bytes.load(UInt16.self, at: 14), isReversed: flags & 1 != 0, followsText: flags & 2 != 0)
        : nil)
    let keyCount = bytes.load(UInt64.self, at: 16)
    since = bytes.load(UInt64.self, at: 24)
    salt = bytes.load(UInt64.self, at: Self.saltOffset)
    guard keyCount <= UInt64(CheckpointHead.maximumEntryCount), since <= UInt64(FormatLimits.maximumSequence)
    else { return nil }
    self.keyCount = Int(keyCount)
  }

  /// The head's block, to be salted and sealed.
  func append(to buffer: inout Buffer) {
    let start = buffer.appendZeros(CheckpointBlock.byteCount)
    var bytes = buffer.mutableBytes
    bytes.store(Self.magic, at: start)
    bytes.store(name.second == nil ? Self.version : Self.versionOfTwo, at: start + 8)
    bytes.store(name.collection, at: start + 10)
    bytes.store(name.field, at: start + 12)
    bytes.store(UInt64(keyCount), at: start + 16)
    bytes.store(since, at: start + 24)
    if let second = name.second {
      bytes.store(second.field, at: start + 14)
      bytes.store((second.isReversed ? 1 : 0) | (second.followsText ? 2 : 0) as UInt16, at: start + 32)
    }
  }
}

// MARK: - An ordered index of a field that lies in the checkpoint's file: docs/format-derived.md §32.

/// The keys that records had in a field, in order: all of those that the checkpoint covers, and perhaps later
/// ones.
///
/// It is read block by block, as it is walked. It is as good as its blocks: where one does not check, all
/// that it says can be had from the segments.
final class StoredOrder: Sendable {
  /// The first 16 bytes of a sort key, and a record's id.
  static let keyByteCount = 32
  /// How many keys a block holds, if it is not the last; there is room for the order's salt behind them.
  static let blockKeyCount = CheckpointBlock.contentByteCount / keyByteCount

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

  /// The heads of the orders behind a checkpoint's entries, with the numbers of their blocks, and the number
  /// of the first block behind all of them.
  static func heads(
    behind checkpoint: CheckpointHead, in file: any StorageFile
  ) throws(StorageError) -> (found: [(head: StoredOrderHead, block: Int)], endBlock: Int) {
    var found: [(head: StoredOrderHead, block: Int)] = []
    let fileBlockCount = try file.byteCount() / CheckpointBlock.byteCount
    var block = checkpoint.blockCount
    var buffer = Buffer(capacity: CheckpointBlock.byteCount)
    while block < fileBlockCount, found.count < maximumCount {
      guard
        try CheckpointBlock.read(block...block, of: file, salt: checkpoint.salt, into: &buffer),
        let head = StoredOrderHead(buffer.bytes), head.totalBlockCount <= fileBlockCount - block
      else { break }
      found.append((head, block))
      block += head.totalBlockCount
    }
    return (found, block)
  }

  /// The orders behind a checkpoint's entries, one of each name; none where the file can't be read.
  static func all(behind checkpoint: CheckpointHead, in storage: any Storage) -> [StoredOrder] {
    guard let file = try? storage.openFile(FileName.index, .read),
      let found = try? heads(behind: checkpoint, in: file).found
    else { return [] }
    var names: Set<OrderName> = []
    return found.filter { names.insert($0.head.name).inserted }
      .map { StoredOrder($0.head, at: $0.block, in: file, of: checkpoint) }
  }

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
    let isSound =
      (try? CheckpointBlock.read(number...number, of: file, salt: checkpoint.salt, into: &buffer)) == true
    guard isSound,
      buffer.bytes.load(UInt64.self, at: StoredOrderHead.saltOffset) == head.salt
    else { return false }
    body(buffer.bytes.extracting(0..<keyCount * Self.keyByteCount))
    return true
  }
}

// MARK: - Writing an order into the checkpoint's file: docs/format-derived.md §32.

/// Writes keys as they come, then what each block begins with, and the head last: until then, nothing is
/// there.
struct StoredOrderWriter: ~Copyable {
  private let orderSalt: UInt64
  /// The number of the head's block.
  private let firstBlock: Int
  private var keyCount = 0
  /// The first keys of all blocks.
  private var directory = Buffer()
  private var blocks: BlockWriter

  init(_ file: any StorageFile, salt: UInt64, orderSalt: UInt64, firstBlock: Int) {
    self.orderSalt = orderSalt
    self.firstBlock = firstBlock
    blocks = BlockWriter(file: file, salt: salt, orderSalt: orderSalt, nextBlock: firstBlock + 1)
  }

  /// Adds a key, which is not less than the last.
  mutating func append(_ key: RawSpan) throws(NotelogError) {
    if keyCount % StoredOrder.blockKeyCount == 0 { directory.append(key) }
    do { try append(key, at: keyCount) } catch { throw NotelogError(error) }
    keyCount += 1
  }

  private mutating func append(_ key: RawSpan, at index: Int) throws(StorageError) {
    let start = try blocks.place(of: index, StoredOrder.keyByteCount)
    var bytes = blocks.buffer.mutableBytes
    bytes.copy(key, at: start)
  }

  /// Writes what is left, but not the head.
  mutating func finishBlocks() throws(StorageError) {
    var firstKeys = Buffer()
    swap(&firstKeys, &directory)
    for index in 0..<firstKeys.count / StoredOrder.keyByteCount {
      try append(firstKeys.bytes.extracting(StoredOrder.range(of: index)), at: index)
    }
    try blocks.flush()
  }

  /// Writes the head.
  mutating func finish(_ name: OrderName, since: UInt64) throws(StorageError) {
    blocks.nextBlock = firstBlock
    StoredOrderHead(name: name, keyCount: keyCount, since: since, salt: orderSalt).append(to: &blocks.buffer)
    try blocks.flush()
  }
}
