// The head of a sorted footer's file: FORMAT.md §14, "Sorted footers".

import NotelogBase
import NotelogFormat
import NotelogStorage

/// What a sorted footer says of itself.
struct SortedFooterHead: Equatable, Sendable {
  /// A frame that brought a record into collection 0, or took one out of it.
  struct Change: Equatable, Sendable {
    static let byteCount = 32

    let id: RecordKey
    let sequence: UInt64
    let isPresent: Bool
  }

  static let magic: UInt64 = 0x0A0D_5849_534C_4E89
  static let version: UInt16 = 1
  static let maximumGroupBits = 8
  private static let reserved = 80..<128
  private static let listedOffset = 128
  static let maximumListedCount = (CheckpointBlock.contentByteCount - listedOffset) / Change.byteCount

  let storeID: StoreID
  /// Random for each file; in every block.
  let salt: UInt64
  let key: FingerprintKey
  /// The segment whose footer it is.
  let entry: LiveEntry
  /// How many of a fingerprint's highest bits are the number of its group.
  let groupBits: Int
  let entryCount: Int
  /// The groups of the blocks of entries.
  let groups: [UInt8]
  let directoryBlockCount: Int
  let listed: [Change]

  /// The number of the first block of entries.
  var firstEntryBlock: Int { 1 + directoryBlockCount }
  var blockCount: Int { firstEntryBlock + groups.count }

  /// The group that a fingerprint belongs to.
  func group(of fingerprint: UInt64) -> Int { Self.group(of: fingerprint, groupBits) }

  static func group(of fingerprint: UInt64, _ groupBits: Int) -> Int {
    Int(fingerprint >> 56) >> (maximumGroupBits - groupBits)
  }

  /// How many blocks the directory takes for entries of so many groups.
  static func directoryBlockCount(entryCount: Int, groupBits: Int) -> Int {
    let blockCount = entryCount / SortedFooterBlock.entryCount + (1 << groupBits)
    return (blockCount + CheckpointBlock.contentByteCount - 1) / CheckpointBlock.contentByteCount
  }

  /// The blocks before the entries.
  func append(to buffer: inout Buffer) {
    precondition(groups.count <= directoryBlockCount * CheckpointBlock.contentByteCount)
    let start = buffer.count
    buffer.appendZeros(firstEntryBlock * CheckpointBlock.byteCount)
    var bytes = buffer.mutableBytes
    bytes.store(Self.magic, at: start)
    bytes.store(Self.version, at: start + 8)
    bytes.store(UInt16(key.bitCount), at: start + 10)
    bytes.store(UInt32(groupBits), at: start + 12)
    storeID.write(into: &bytes, at: start + 16)
    bytes.store(key.low, at: start + 32)
    bytes.store(key.high, at: start + 40)
    entry.write(into: &bytes, at: start + 48)
    bytes.store(UInt32(entryCount), at: start + 68)
    bytes.store(UInt32(groups.count), at: start + 72)
    bytes.store(UInt16(listed.count), at: start + 76)
    bytes.store(UInt16(directoryBlockCount), at: start + 78)
    for (index, change) in listed.enumerated() {
      let place = start + Self.listedOffset + index * Change.byteCount
      change.id.write(into: &bytes, at: place)
      bytes.store(change.sequence, at: place + 16)
      bytes.store(UInt8(change.isPresent ? 1 : 0), at: place + 24)
    }
    for (block, group) in groups.enumerated() {
      bytes.store(group, at: start + Self.directoryPlace(of: block))
    }
    CheckpointBlock.seal(&buffer, salt: salt, first: 0)
  }

  /// Where the directory says which group a block of entries is of.
  private static func directoryPlace(of block: Int) -> Int {
    (1 + block / CheckpointBlock.contentByteCount) * CheckpointBlock.byteCount
      + block % CheckpointBlock.contentByteCount
  }
}

extension SortedFooterHead {
  /// Reads the blocks before the entries; nothing where they are not all sound.
  init?(from file: any StorageFile) throws(StorageError) {
    var buffer = Buffer(capacity: 2 * CheckpointBlock.byteCount)
    // Most directories fit into one block.
    try buffer.fill(2 * CheckpointBlock.byteCount, from: file, at: 0)
    guard buffer.count == 2 * CheckpointBlock.byteCount, buffer.bytes.load(UInt64.self, at: 0) == Self.magic,
      buffer.bytes.load(UInt16.self, at: 8) == Self.version
    else { return nil }
    let directoryBlockCount = Int(buffer.bytes.load(UInt16.self, at: 78))
    let blockCount = Int(buffer.bytes.load(UInt32.self, at: 72))
    guard try file.byteCount() == (1 + directoryBlockCount + blockCount) * CheckpointBlock.byteCount else {
      return nil
    }
    let needed = (1 + directoryBlockCount) * CheckpointBlock.byteCount
    if buffer.count < needed { try buffer.fill(needed - buffer.count, from: file, at: buffer.count) }
    guard buffer.count >= needed else { return nil }
    self.init(buffer.bytes.extracting(0..<needed))
  }

  private init?(_ bytes: RawSpan) {
    salt = bytes.load(UInt64.self, at: CheckpointBlock.contentByteCount)
    for block in 0..<bytes.byteCount / CheckpointBlock.byteCount {
      guard
        CheckpointBlock.isSound(bytes, at: block * CheckpointBlock.byteCount, number: block, salt: salt)
      else { return nil }
    }
    let bitCount = Int(bytes.load(UInt16.self, at: 10))
    groupBits = Int(bytes.load(UInt32.self, at: 12))
    storeID = StoreID(bytes, at: 16)
    entry = LiveEntry(bytes, at: 48)
    entryCount = Int(bytes.load(UInt32.self, at: 68))
    let blockCount = Int(bytes.load(UInt32.self, at: 72))
    let listedCount = Int(bytes.load(UInt16.self, at: 76))
    directoryBlockCount = Int(bytes.load(UInt16.self, at: 78))
    guard bitCount >= 1, bitCount <= 64, groupBits <= Self.maximumGroupBits,
      listedCount <= Self.maximumListedCount, bytes.extracting(Self.reserved).isZero, directoryBlockCount > 0,
      blockCount <= directoryBlockCount * CheckpointBlock.contentByteCount,
      entryCount <= blockCount * SortedFooterBlock.entryCount
    else { return nil }
    key = FingerprintKey(
      low: bytes.load(UInt64.self, at: 32), high: bytes.load(UInt64.self, at: 40), bitCount: bitCount)
    var listed: [Change] = []
    for index in 0..<listedCount {
      let place = Self.listedOffset + index * Change.byteCount
      let sequence = bytes.load(UInt64.self, at: place + 16)
      let presence = bytes.load(UInt64.self, at: place + 24)
      guard sequence <= UInt64(Limits.maximumSequence), presence <= 1 else { return nil }
      listed.append(
        Change(id: RecordKey(bytes, at: place), sequence: sequence, isPresent: presence == 1))
    }
    self.listed = listed
    var groups: [UInt8] = []
    groups.reserveCapacity(blockCount)
    for block in 0..<blockCount {
      let group = bytes.byte(at: Self.directoryPlace(of: block))
      guard Int(group) < 1 << groupBits else { return nil }
      groups.append(group)
    }
    self.groups = groups
  }
}

/// A block of a sorted footer's entries.
enum SortedFooterBlock {
  static let entryByteCount = 32
  /// Where a block says how many entries it holds.
  static let countOffset = 4064
  static let entryCount = countOffset / entryByteCount
}

extension TailEntry {
  /// Reads an entry of a segment; nothing where no frame can be.
  init?(_ bytes: RawSpan, at start: Int, segment: UInt32) {
    let place = Place(
      bits: UInt64(segment) << 32 | UInt64(bytes.load(UInt32.self, at: start + 24)))
    let sequence = bytes.load(UInt64.self, at: start + 16)
    let byteCount = Int(bytes.load(UInt32.self, at: start + 28))
    guard place.isValid, sequence <= UInt64(Limits.maximumSequence),
      place.offset >= Layout.firstFrameOffset, byteCount <= Limits.maximumSegmentByteCount - place.offset
    else { return nil }
    self.init(
      id: RecordKey(bytes, at: start), sequence: sequence, place: place, liveByteCount: byteCount)
  }

  @_lifetime(bytes: copy bytes)
  func write(into bytes: inout MutableRawSpan, at start: Int) {
    id.write(into: &bytes, at: start)
    bytes.store(sequence, at: start + 16)
    bytes.store(UInt32(truncatingIfNeeded: place.bits), at: start + 24)
    bytes.store(UInt32(liveByteCount), at: start + 28)
  }
}
