// The checkpoint's file: found at opening, written now and then. docs/format-derived.md §31.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// The checkpoint that lies in a store's folder.
struct CheckpointFile: Sendable {
  let file: any StorageFile
  var head: CheckpointHead

  /// What looking for it gave; where it wasn't found, why.
  typealias Finding = (found: CheckpointFile?, use: CheckpointUse)

  /// Reads the checkpoint's head. What can't be read of it is as good as damaged: it is disposable.
  static func find(in storage: any Storage) -> Finding {
    let file: any StorageFile
    do { file = try storage.openFile(FileName.index, .read) } catch {
      return (nil, error.isMissing ? .missing : .damaged)
    }
    if let head = try? CheckpointHead(from: file), let byteCount = try? file.byteCount(),
      byteCount >= head.blockCount * CheckpointBlock.byteCount
    {
      return (CheckpointFile(file: file, head: head), .used)
    }
    return (nil, .damaged)
  }

  /// Writes a checkpoint of all that an index held, under its temporary name, if the disk has room for that
  /// and so many bytes more: the last room is not for what can be made anew.
  static func write(
    _ head: CheckpointHead, _ index: borrowing IndexCopy, leaving byteCount: Int, to storage: any Storage
  ) throws(StorageError) -> any StorageFile {
    let file = try storage.openEmpty(FileName.index + FileName.partialSuffix)
    // Where space can't be promised, it can't be asked for either.
    _ = try file.allocateIfSupported(0..<head.blockCount * CheckpointBlock.byteCount + byteCount)
    try file.setLength(0)
    var writer = BlockWriter(file: file, salt: head.salt, nextBlock: 0)
    head.append(to: &writer.buffer)
    var count = 0
    try index.forEachShard { table throws(StorageError) in
      try table.forEach { entry throws(StorageError) in
        let place = try writer.place(of: count, IndexEntry.byteCount)
        var bytes = writer.buffer.mutableBytes
        bytes.store(entry.fingerprint, at: place)
        bytes.store(entry.place.bits, at: place + 8)
        count += 1
      }
    }
    try writer.flush()
    return file
  }

  /// Makes a file that was written durable, and gives it its name.
  static func publish(_ file: any StorageFile, in storage: any Storage) throws(StorageError) {
    let name = FileName.index + FileName.partialSuffix
    try file.makeDurable()
    try storage.publish(name, as: FileName.index)
  }

  /// Calls `body` with each entry, in the order of fingerprints.
  ///
  /// - Returns: Whether every block checks, and the entries are in order, in their shards, and as many as the
  ///   head says.
  func forEachEntry(_ body: (IndexEntry) -> Void) throws(StorageError) -> Bool {
    var counts = [UInt32](repeating: 0, count: Index.shardCount)
    var tombstoneCounts = counts
    let isSound = try forEachEntry(in: 0..<head.entryCount) { entry in
      counts[Int(entry.fingerprint >> 56)] += 1
      if entry.place.isTombstone { tombstoneCounts[Int(entry.fingerprint >> 56)] += 1 }
      body(entry)
    }
    return isSound && counts == head.entryCounts && tombstoneCounts == head.tombstoneCounts
  }

  /// How many blocks are read at a time.
  private static let pieceBlockCount = 64

  /// The same of the entries of a range, by their numbers.
  ///
  /// - Returns: Whether the blocks that they are in check, and they are in order.
  func forEachEntry(in range: Range<Int>, _ body: (IndexEntry) -> Void) throws(StorageError) -> Bool {
    var buffer = Buffer()
    var last: UInt64 = 0
    var next = range.lowerBound
    while next < range.upperBound {
      let first = next / CheckpointBlock.entryCount
      let end = min(range.upperBound, (first + Self.pieceBlockCount) * CheckpointBlock.entryCount)
      guard try readBlocks(ofEntries: next..<end, into: &buffer) else { return false }
      for number in next..<end {
        let entry = Self.entry(number, buffer.bytes, firstBlock: first)
        guard entry.fingerprint >= last, entry.place.isValid else { return false }
        last = entry.fingerprint
        body(entry)
      }
      next = end
    }
    return true
  }

  /// Reads the blocks that some entries are in.
  ///
  /// - Returns: Whether they are all there and sound.
  func readBlocks(ofEntries range: Range<Int>, into buffer: inout Buffer) throws(StorageError) -> Bool {
    let first = range.lowerBound / CheckpointBlock.entryCount
    let last = (range.upperBound - 1) / CheckpointBlock.entryCount
    return try CheckpointBlock.read(
      head.firstEntryBlock + first...head.firstEntryBlock + last, of: file, salt: head.salt, into: &buffer)
  }

  /// An entry by its number, out of blocks of which the first is the one of this number among those of
  /// entries.
  static func entry(_ number: Int, _ bytes: RawSpan, firstBlock: Int) -> IndexEntry {
    let place = CheckpointBlock.place(of: number, IndexEntry.byteCount)
    return IndexEntry(bytes, at: place - firstBlock * CheckpointBlock.byteCount)
  }
}

// MARK: - The head of the checkpoint file: docs/format-derived.md §31.

/// What a checkpoint says of itself.
struct CheckpointHead: Equatable, Sendable {
  /// A segment that was live when the checkpoint was written, or the head.
  struct SegmentFigures: Equatable, Sendable {
    /// How the live set identifies it, with a length of 0 as long as it is not finished.
    let entry: LiveEntry
    let kind: SegmentKind
    let liveByteCount: Int
    /// The bytes that compaction would not leave, in a store that keeps versions.
    let expiredByteCount: Int

    var number: UInt32 { entry.number }
    var salt: UInt64 { entry.salt }
    var isFinished: Bool { entry.byteCount > 0 }

    init(_ segment: Segment) {
      entry =
        segment.entry
        ?? LiveEntry(number: segment.number, byteCount: 0, salt: segment.salt.value, footerChecksum: 0)
      kind = segment.kind
      liveByteCount = max(segment.recordBytes, 0)
      expiredByteCount = segment.expiredByteCount
    }

    fileprivate static let byteCount = 32

    fileprivate init?(_ bytes: RawSpan, at place: Int) {
      entry = LiveEntry(bytes, at: place)
      let (live, expired) = (bytes.load(UInt32.self, at: place + 24), bytes.load(UInt32.self, at: place + 28))
      guard let kind = SegmentKind(rawValue: bytes.load(UInt16.self, at: place + 20)),
        bytes.load(UInt16.self, at: place + 22) == 0,
        max(live, expired) <= FormatLimits.maximumSegmentByteCount
      else { return nil }
      self.kind = kind
      liveByteCount = Int(live)
      expiredByteCount = Int(expired)
    }

    fileprivate func write(into bytes: inout MutableRawSpan, at place: Int) {
      entry.write(into: &bytes, at: place)
      bytes.store(kind.rawValue, at: place + 20)
      bytes.store(UInt32(liveByteCount), at: place + 24)
      bytes.store(UInt32(expiredByteCount), at: place + 28)
    }
  }

  static let magic: UInt64 = 0x0A0D_5844_494C_4E89
  static let version: UInt16 = 1
  private static let fingerprintBitCount: UInt16 = 64
  /// Where the shards' counts begin in the first block.
  private static let shardsOffset = 128
  private static let shardsEnd = shardsOffset + 8 * Index.shardCount
  /// No store has more than that, and tables are read at once.
  static let maximumItemCount = 1 << 20
  static let maximumEntryCount = 1 << 40
  let storeID: ID16
  /// Random for each file; in every block.
  let salt: UInt64
  var key: FingerprintKey
  /// Everything before it is in the checkpoint, and was durable when it was written.
  let covered: LogPosition
  /// The salt of the segment that `covered` lies in.
  let coveredSalt: UInt64
  /// The number of the first transaction that is not in it.
  let nextSequence: UInt64
  /// Whether something that the store had was known to be lost: then no opening may do without looking at all
  /// segments.
  let isOfDamagedStore: Bool
  /// In a store that keeps versions, when the horizon was moved, in milliseconds since 1970; else 0.
  var keptTime: UInt64 = 0
  let entryCounts: [UInt32]
  let tombstoneCounts: [UInt32]
  let segments: [SegmentFigures]
  /// The records of collection 0.
  let listed: [ListedRecords.Entry]

  /// The figures of a segment; nothing where the checkpoint has none of that number.
  func figures(of number: UInt32) -> SegmentFigures? { segments.find(number) { $0.number } }
  var entryCount: Int { entryCounts.reduce(0) { $0 + Int($1) } }

  /// Where the table of segments ends, which follows the first block, and that of listed records behind it.
  private static func tableEnds(_ segmentCount: Int, _ listedCount: Int) -> (segments: Int, listed: Int) {
    let segments = 1 + CheckpointBlock.count(of: segmentCount, SegmentFigures.byteCount)
    return (segments, segments + CheckpointBlock.count(of: listedCount, ListedRecords.Entry.byteCount))
  }

  /// The number of the first block of entries.
  var firstEntryBlock: Int { Self.tableEnds(segments.count, listed.count).listed }
  /// The blocks of the file, but for orders.
  var blockCount: Int { firstEntryBlock + CheckpointBlock.count(of: entryCount, IndexEntry.byteCount) }

  /// Where a segment's figures begin.
  private static func place(ofSegment index: Int) -> Int {
    CheckpointBlock.byteCount + CheckpointBlock.place(of: index, SegmentFigures.byteCount)
  }

  /// The blocks before the entries, to be sealed.
  func append(to buffer: inout Buffer) {
    let start = buffer.appendZeros(firstEntryBlock * CheckpointBlock.byteCount)
    var bytes = buffer.mutableBytes
    bytes.store(Self.magic, at: start)
    bytes.store(Self.version, at: start + 8)
    bytes.store(Self.fingerprintBitCount, at: start + 10)
    bytes.store(UInt32(segments.count), at: start + 12)
    storeID.write(into: &bytes, at: start + 16)
    bytes.store(key.low, at: start + 32)
    bytes.store(key.high, at: start + 40)
    covered.write(into: &bytes, at: start + 48)
    bytes.store(coveredSalt, at: start + 56)
    bytes.store(UInt64(entryCount), at: start + 64)
    bytes.store(UInt32(listed.count), at: start + 72)
    bytes.store(nextSequence, at: start + 76)
    bytes.store(UInt32(isOfDamagedStore ? 1 : 0), at: start + 84)
    bytes.store(keptTime, at: start + 88)
    for shard in 0..<Index.shardCount {
      bytes.store(entryCounts[shard], at: start + Self.shardsOffset + 8 * shard)
      bytes.store(tombstoneCounts[shard], at: start + Self.shardsOffset + 8 * shard + 4)
    }
    for (index, segment) in segments.enumerated() {
      segment.write(into: &bytes, at: start + Self.place(ofSegment: index))
    }
    let listedStart =
      start + Self.tableEnds(segments.count, listed.count).segments * CheckpointBlock.byteCount
    for (index, entry) in listed.enumerated() {
      let place = listedStart + CheckpointBlock.place(of: index, ListedRecords.Entry.byteCount)
      entry.id.write(into: &bytes, at: place)
      bytes.store(entry.sequence, at: place + 16)
    }
  }
}

extension CheckpointHead {
  /// Reads the blocks before the entries; nothing where they are not all sound.
  init?(from file: any StorageFile) throws(StorageError) {
    // Most stores' segments fit into one block, and their collection 0 into another.
    let usualByteCount = 3 * CheckpointBlock.byteCount
    var buffer = Buffer(capacity: usualByteCount)
    try buffer.fill(usualByteCount, from: file, at: 0)
    guard buffer.count >= CheckpointBlock.byteCount, buffer.bytes.load(UInt64.self, at: 0) == Self.magic,
      buffer.bytes.load(UInt16.self, at: 8) == Self.version
    else { return nil }
    let segmentCount = Int(buffer.bytes.load(UInt32.self, at: 12))
    let listedCount = Int(buffer.bytes.load(UInt32.self, at: 72))
    guard segmentCount <= Self.maximumItemCount, listedCount <= Self.maximumItemCount else { return nil }
    let needed = Self.tableEnds(segmentCount, listedCount).listed * CheckpointBlock.byteCount
    if buffer.count < needed { try buffer.fill(needed - buffer.count, from: file, at: buffer.count) }
    guard buffer.count >= needed else { return nil }
    self.init(buffer.bytes.extracting(0..<needed), segmentCount, listedCount)
  }

  private init?(_ bytes: RawSpan, _ segmentCount: Int, _ listedCount: Int) {
    let salt = bytes.load(UInt64.self, at: CheckpointBlock.contentByteCount)
    for block in 0..<bytes.byteCount / CheckpointBlock.byteCount {
      guard
        CheckpointBlock.isSound(bytes, at: block * CheckpointBlock.byteCount, number: block, salt: salt)
      else { return nil }
    }
    let (nextSequence, damage) = (bytes.load(UInt64.self, at: 76), bytes.load(UInt32.self, at: 84))
    guard bytes.load(UInt16.self, at: 10) == Self.fingerprintBitCount,
      bytes.extracting(96..<Self.shardsOffset).isZero,
      nextSequence <= UInt64(FormatLimits.maximumSequence), damage <= 1,
      bytes.extracting(Self.shardsEnd..<CheckpointBlock.contentByteCount).isZero
    else { return nil }
    let shards = 0..<Index.shardCount
    let entryCounts = shards.map { bytes.load(UInt32.self, at: Self.shardsOffset + 8 * $0) }
    let tombstoneCounts = shards.map { bytes.load(UInt32.self, at: Self.shardsOffset + 8 * $0 + 4) }
    var segments: [SegmentFigures] = []
    for index in 0..<segmentCount {
      guard let figures = SegmentFigures(bytes, at: Self.place(ofSegment: index)),
        segments.last.map({ $0.number < figures.number }) ?? true
      else { return nil }
      segments.append(figures)
    }
    let listedStart = Self.tableEnds(segmentCount, listedCount).segments * CheckpointBlock.byteCount
    let listed = (0..<listedCount).map { index in
      let place = listedStart + CheckpointBlock.place(of: index, ListedRecords.Entry.byteCount)
      return ListedRecords.Entry(
        id: ID16(bytes, at: place), sequence: bytes.load(UInt64.self, at: place + 16))
    }
    self.init(
      storeID: ID16(bytes, at: 16), salt: salt,
      key: FingerprintKey(low: bytes.load(UInt64.self, at: 32), high: bytes.load(UInt64.self, at: 40)),
      covered: LogPosition(bytes, at: 48), coveredSalt: bytes.load(UInt64.self, at: 56),
      nextSequence: nextSequence, isOfDamagedStore: damage == 1, keptTime: bytes.load(UInt64.self, at: 88),
      entryCounts: entryCounts, tombstoneCounts: tombstoneCounts, segments: segments, listed: listed)
    let declaredCount = bytes.load(UInt64.self, at: 64)
    guard declaredCount <= UInt64(Self.maximumEntryCount), entryCount == Int(declaredCount),
      zip(tombstoneCounts, entryCounts).allSatisfy({ $0 <= $1 })
    else { return nil }
  }
}

// MARK: - The blocks of the checkpoint file: docs/format-derived.md §31.

/// A block, 4 KiB with a checksum that holds at one place of one file only.
enum CheckpointBlock {
  static let byteCount = 4096
  static let contentByteCount = 4080
  static let entryCount = contentByteCount / IndexEntry.byteCount

  /// How many blocks items of a size take: no item lies across two.
  static func count(of itemCount: Int, _ itemByteCount: Int) -> Int {
    let itemsInBlock = contentByteCount / itemByteCount
    return (itemCount + itemsInBlock - 1) / itemsInBlock
  }

  /// Where an item begins, the first of its kind at the beginning of a block at 0.
  @inline(__always)
  static func place(of item: Int, _ itemByteCount: Int) -> Int {
    let (block, place) = item.quotientAndRemainder(dividingBy: contentByteCount / itemByteCount)
    return block * byteCount + place * itemByteCount
  }

  /// Completes the blocks that a buffer is made of; the first has this number.
  static func seal(_ buffer: inout Buffer, salt: UInt64, first: Int) {
    precondition(buffer.count % byteCount == 0, "blocks are sealed whole")
    let count = buffer.count / byteCount
    var bytes = buffer.mutableBytes
    for index in 0..<count {
      let start = index * byteCount
      bytes.store(salt, at: start + contentByteCount)
      let checksum = checksum(bytes.bytes, at: start, number: first + index)
      bytes.store(checksum, at: start + contentByteCount + 8)
    }
  }

  /// Whether the block at an offset of the bytes is what was written as the one of this number.
  static func isSound(_ bytes: RawSpan, at start: Int, number: Int, salt: UInt64) -> Bool {
    bytes.byteCount - start >= byteCount && bytes.load(UInt64.self, at: start + contentByteCount) == salt
      && bytes.load(UInt32.self, at: start + contentByteCount + 8)
        == checksum(bytes, at: start, number: number)
      && bytes.load(UInt32.self, at: start + contentByteCount + 12) == 0
  }

  /// Reads blocks of a file, the buffer emptied before.
  ///
  /// - Returns: Whether they are all there and sound.
  static func read(
    _ blocks: ClosedRange<Int>, of file: any StorageFile, salt: UInt64, into buffer: inout Buffer
  ) throws(StorageError) -> Bool {
    buffer.removeAll()
    try buffer.fill(blocks.count * byteCount, from: file, at: blocks.lowerBound * byteCount)
    for (index, number) in blocks.enumerated() {
      guard isSound(buffer.bytes, at: index * byteCount, number: number, salt: salt) else { return false }
    }
    return true
  }

  private static func checksum(_ bytes: RawSpan, at start: Int, number: Int) -> UInt32 {
    var checksum = Checksum()
    checksum.update(UInt32(truncatingIfNeeded: number))
    checksum.update(bytes.extracting(start..<start + contentByteCount + 8))
    return checksum.value
  }
}

/// Collects items into blocks of a checkpoint's file, and writes them a few at a time.
struct BlockWriter: ~Copyable {
  private static let pieceByteCount = 64 * CheckpointBlock.byteCount

  let file: any StorageFile
  let salt: UInt64
  /// What each block bears of an order.
  var orderSalt: UInt64?
  /// The number of the buffer's first block.
  var nextBlock: Int
  /// The blocks that are not written yet.
  var buffer = Buffer(capacity: pieceByteCount)

  /// Where in the buffer the next item of its kind belongs; the first of a block begins it.
  @inline(__always)
  mutating func place(of item: Int, _ itemByteCount: Int) throws(StorageError) -> Int {
    let place = CheckpointBlock.place(of: item, itemByteCount) % CheckpointBlock.byteCount
    if place == 0 {
      if buffer.count >= Self.pieceByteCount { try flush() }
      buffer.appendZeros(CheckpointBlock.byteCount)
    }
    return buffer.count - CheckpointBlock.byteCount + place
  }

  /// Writes what is collected, the last block as it is.
  mutating func flush() throws(StorageError) {
    if let orderSalt {
      var bytes = buffer.mutableBytes
      for start in stride(from: 0, to: bytes.byteCount, by: CheckpointBlock.byteCount) {
        bytes.store(orderSalt, at: start + StoredOrderHead.saltOffset)
      }
    }
    CheckpointBlock.seal(&buffer, salt: salt, first: nextBlock)
    try file.writeAll(buffer.bytes, at: nextBlock * CheckpointBlock.byteCount)
    nextBlock += buffer.count / CheckpointBlock.byteCount
    buffer.removeAll()
  }
}

// MARK: - What an open store knows of its checkpoint.

/// Whether the next opening will take the checkpoint, and whether the one that was taken turned out to be
/// damaged.
///
/// It outlives the shards' source, which goes with its files when all shards are in memory.
final class CheckpointHealth: Sendable {
  private struct State {
    /// The checkpoint that the next opening will take; nil where there is none that it will.
    var head: CheckpointHead?
    var isDamaged = false
    var isWrong = false
  }

  private let state: Lock<State>

  init(_ head: CheckpointHead?) { state = Lock(State(head: head)) }

  var isDamaged: Bool { state.withLock { $0.isDamaged } }
  var isUsable: Bool { state.withLock { $0.head != nil } }
  /// The checkpoint that the next opening will take.
  var head: CheckpointHead? { state.withLock { $0.head } }

  /// Whether it checks, and names records elsewhere than the segments do. What is in memory of the index may
  /// be wrong then.
  var isWrong: Bool { state.withLock { $0.isWrong } }

  func noteWrongEntries() { state.withLock { ($0.head, $0.isWrong) = (nil, true) } }

  func noteDamage() { state.withLock { ($0.head, $0.isDamaged) = (nil, true) } }

  /// Notes that there is a new one, or none any longer, damaged or not.
  func noteCheckpoint(_ head: CheckpointHead?) { state.withLock { $0.head = head } }
}
