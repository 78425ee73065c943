// The head of the checkpoint file: FORMAT.md §14.

/// What a checkpoint says of itself.
struct CheckpointHead: Equatable, Sendable {
  /// A segment that was live when the checkpoint was written, or the head.
  struct SegmentFigures: Equatable, Sendable {
    static let byteCount = 24

    let number: UInt32
    let salt: UInt64
    let liveByteCount: Int
  }

  static let magic: UInt64 = 0x0A0D_5844_494C_4E89
  static let version: UInt16 = 1
  /// Where the shards' counts begin in the first block.
  private static let shardsOffset = 128
  /// No store has more segments than their numbers allow, or than fit into a table that is read at once.
  static let maximumSegmentCount = 1 << 20
  static let maximumEntryCount = 1 << 40
  private static let segmentsInBlock = CheckpointBlock.contentByteCount / SegmentFigures.byteCount

  let storeID: StoreID
  /// Random for each file; in every block.
  let salt: UInt64
  let key: FingerprintKey
  /// Everything before it is in the checkpoint, and was durable when it was written.
  let covered: LogPosition
  /// The salt of the segment that `covered` lies in.
  let coveredSalt: UInt64
  let entryCounts: [UInt32]
  let tombstoneCounts: [UInt32]
  let segments: [SegmentFigures]

  init(
    storeID: StoreID, salt: UInt64, key: FingerprintKey, covered: LogPosition, coveredSalt: UInt64,
    entryCounts: [UInt32], tombstoneCounts: [UInt32], segments: [SegmentFigures]
  ) {
    self.storeID = storeID
    self.salt = salt
    self.key = key
    self.covered = covered
    self.coveredSalt = coveredSalt
    self.entryCounts = entryCounts
    self.tombstoneCounts = tombstoneCounts
    self.segments = segments
  }

  var entryCount: Int { entryCounts.reduce(0) { $0 + Int($1) } }
  var tombstoneCount: Int { tombstoneCounts.reduce(0) { $0 + Int($1) } }
  private static func segmentBlockCount(_ count: Int) -> Int {
    (count + segmentsInBlock - 1) / segmentsInBlock
  }
  /// The number of the first block of entries.
  var firstEntryBlock: Int { 1 + Self.segmentBlockCount(segments.count) }
  /// The blocks of the whole file.
  var blockCount: Int {
    firstEntryBlock + (entryCount + CheckpointBlock.entryCount - 1) / CheckpointBlock.entryCount
  }

  subscript(number: UInt32) -> SegmentFigures? { segments.first { $0.number == number } }

  /// The blocks before the entries.
  func append(to buffer: inout Buffer) {
    let start = buffer.count
    buffer.appendZeros(firstEntryBlock * CheckpointBlock.byteCount)
    var bytes = buffer.mutableBytes
    bytes.store(Self.magic, at: start)
    bytes.store(Self.version, at: start + 8)
    bytes.store(UInt16(key.bitCount), at: start + 10)
    bytes.store(UInt32(segments.count), at: start + 12)
    storeID.write(into: &bytes, at: start + 16)
    bytes.store(key.low, at: start + 32)
    bytes.store(key.high, at: start + 40)
    covered.write(into: &bytes, at: start + 48)
    bytes.store(coveredSalt, at: start + 56)
    bytes.store(UInt64(entryCount), at: start + 64)
    for shard in 0..<Index.shardCount {
      bytes.store(entryCounts[shard], at: start + Self.shardsOffset + 8 * shard)
      bytes.store(tombstoneCounts[shard], at: start + Self.shardsOffset + 8 * shard + 4)
    }
    for (index, segment) in segments.enumerated() {
      let place =
        start + (1 + index / Self.segmentsInBlock) * CheckpointBlock.byteCount
        + index % Self.segmentsInBlock * SegmentFigures.byteCount
      bytes.store(segment.number, at: place)
      bytes.store(segment.salt, at: place + 8)
      bytes.store(UInt64(segment.liveByteCount), at: place + 16)
    }
    let salt = self.salt
    CheckpointBlock.seal(&buffer, salt: salt, first: 0)
  }

  /// Reads the blocks before the entries; nothing where they are not all sound.
  init?(from file: any StorageFile) throws(StorageError) {
    var buffer = Buffer(capacity: 2 * CheckpointBlock.byteCount)
    // Most stores' segments fit into one block.
    try buffer.fill(2 * CheckpointBlock.byteCount, from: file, at: 0)
    guard buffer.count >= CheckpointBlock.byteCount, buffer.bytes.load(UInt64.self, at: 0) == Self.magic,
      buffer.bytes.load(UInt16.self, at: 8) == Self.version
    else { return nil }
    let segmentCount = Int(buffer.bytes.load(UInt32.self, at: 12))
    guard segmentCount <= Self.maximumSegmentCount else { return nil }
    let needed = (1 + Self.segmentBlockCount(segmentCount)) * CheckpointBlock.byteCount
    if buffer.count < needed { try buffer.fill(needed - buffer.count, from: file, at: buffer.count) }
    guard buffer.count >= needed else { return nil }
    self.init(buffer.bytes.extracting(0..<needed), segmentCount: segmentCount)
  }

  private init?(_ bytes: RawSpan, segmentCount: Int) {
    salt = bytes.load(UInt64.self, at: CheckpointBlock.contentByteCount)
    for block in 0..<bytes.byteCount / CheckpointBlock.byteCount {
      guard
        CheckpointBlock.isSound(bytes, at: block * CheckpointBlock.byteCount, number: block, salt: salt)
      else { return nil }
    }
    let bitCount = Int(bytes.load(UInt16.self, at: 10))
    guard bitCount >= 1, bitCount <= 64 else { return nil }
    storeID = StoreID(bytes, at: 16)
    key = FingerprintKey(
      low: bytes.load(UInt64.self, at: 32), high: bytes.load(UInt64.self, at: 40), bitCount: bitCount)
    covered = LogPosition(bytes, at: 48)
    coveredSalt = bytes.load(UInt64.self, at: 56)
    let declaredCount = bytes.load(UInt64.self, at: 64)
    entryCounts = (0..<Index.shardCount).map { bytes.load(UInt32.self, at: Self.shardsOffset + 8 * $0) }
    tombstoneCounts = (0..<Index.shardCount).map {
      bytes.load(UInt32.self, at: Self.shardsOffset + 8 * $0 + 4)
    }
    segments = (0..<segmentCount).map { index in
      let place =
        (1 + index / Self.segmentsInBlock) * CheckpointBlock.byteCount
        + index % Self.segmentsInBlock * SegmentFigures.byteCount
      return SegmentFigures(
        number: bytes.load(UInt32.self, at: place), salt: bytes.load(UInt64.self, at: place + 8),
        liveByteCount: Int(truncatingIfNeeded: bytes.load(UInt64.self, at: place + 16)))
    }
    guard declaredCount <= UInt64(Self.maximumEntryCount), entryCount == Int(declaredCount),
      zip(tombstoneCounts, entryCounts).allSatisfy({ $0 <= $1 }),
      zip(segments, segments.dropFirst()).allSatisfy({ $0.number < $1.number }),
      segments.allSatisfy({ $0.liveByteCount >= 0 && $0.liveByteCount <= Limits.maximumSegmentByteCount })
    else { return nil }
  }
}
