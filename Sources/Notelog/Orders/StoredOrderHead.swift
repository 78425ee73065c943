// The head of an order in the checkpoint's file: docs/format-derived.md §32.

import NotelogFormat
import NotelogBase

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
  /// Random, in each of its blocks: an order that was begun before, at the same place of the file, has another.
  let salt: UInt64

  /// The blocks of its keys.
  var blockCount: Int { (keyCount + StoredOrder.blockKeyCount - 1) / StoredOrder.blockKeyCount }
  /// The blocks that say with which key each of those begins.
  var directoryBlockCount: Int {
    (blockCount + StoredOrder.blockKeyCount - 1) / StoredOrder.blockKeyCount
  }
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
    else {
      return nil
    }
    self.keyCount = Int(keyCount)
  }

  /// The head's block, to be salted and sealed.
  func append(to buffer: inout Buffer) {
    let start = buffer.count
    buffer.appendZeros(CheckpointBlock.byteCount)
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
