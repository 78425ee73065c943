// Writing what a segment lists by fingerprint: FORMAT.md §14, "Sorted footers".

import NotelogBase
import NotelogFormat
import NotelogStorage

/// Collects entries into blocks, a group's each, and writes blocks as they are full: a segment may list a million.
struct SortedFooterWriter: ~Copyable {
  private static let pieceByteCount = 256 << 10

  private let file: any StorageFile
  private let salt: UInt64
  private let key: FingerprintKey
  private let segment: Segment
  private let groupBits: Int
  private let directoryBlockCount: Int
  private var entryCount = 0
  /// The groups of the blocks that are full or written.
  private var groups: [UInt8] = []
  /// A block for each group, and how many entries are in it.
  private var openBlocks: Buffer
  private var openCounts: [Int]
  /// Blocks on their way to the file.
  private var outgoing = Buffer(capacity: pieceByteCount)
  private var nextBlock: Int

  /// A writer of at most so many entries.
  private init(
    _ segment: Segment, _ key: FingerprintKey, salt: UInt64, maximumCount: Int, to file: any StorageFile
  ) {
    self.file = file
    self.salt = salt
    self.key = key
    self.segment = segment
    // With a few blocks a group, those that are not full don't matter.
    var groupBits = 0
    while groupBits < SortedFooterHead.maximumGroupBits,
      maximumCount >> (groupBits + 1) >= 4 * SortedFooterBlock.entryCount
    {
      groupBits += 1
    }
    self.groupBits = groupBits
    directoryBlockCount = SortedFooterHead.directoryBlockCount(
      entryCount: maximumCount, groupBits: groupBits)
    nextBlock = 1 + directoryBlockCount
    openBlocks = Buffer(capacity: CheckpointBlock.byteCount << groupBits)
    openBlocks.appendZeros(CheckpointBlock.byteCount << groupBits)
    openCounts = Array(repeating: 0, count: 1 << groupBits)
  }

  /// Writes a finished segment's sorted footer; nothing is made where it can't have one, or its footer does not check.
  static func write(
    _ segment: Segment, of catalog: Catalog, storeID: StoreID, salt: UInt64, to storage: any Storage
  ) throws(StorageError) {
    guard let entry = segment.entry else { return }
    let name = FileName.sortedFooter(segment.number)
    // What an earlier process left need not be sound.
    do throws(StorageError) {
      try retryingInterruptions { () throws(StorageError) in try storage.unlink(name) }
    } catch { guard error.isMissing else { throw error } }
    let file = try retryingInterruptions { () throws(StorageError) in try storage.open(name, .createNew) }
    defer { file.close() }
    var isDone = false
    defer { if !isDone { try? storage.unlink(name) } }
    guard let trailer = try segment.trailer() else { return }
    var reader = SegmentReader(segment.file, salt: segment.salt, end: entry.byteCount)
    let key = catalog.index.key
    var writer = SortedFooterWriter(
      segment, key, salt: salt, maximumCount: trailer.footerByteCount / Layout.footerEntryByteCount, to: file)
    var listed: [SortedFooterHead.Change] = []
    let state = try reader.forEachUncheckedFooterEntry(trailer) { footerEntry throws(StorageError) in
      guard footerEntry.kind != .chunk else { return }
      try writer.append(TailEntry(footerEntry, segment: segment.number))
      guard footerEntry.collection == Listing.collection || catalog.listing.knows(footerEntry.id) else {
        return
      }
      listed.append(
        SortedFooterHead.Change(
          id: footerEntry.id, sequence: footerEntry.sequence,
          isPresent: footerEntry.kind == .record && footerEntry.collection == Listing.collection))
    }
    guard state == .complete, listed.count <= SortedFooterHead.maximumListedCount else { return }
    try writer.finish(storeID: storeID, entry: entry, listed: listed)
    isDone = true
  }

  private mutating func append(_ entry: TailEntry) throws(StorageError) {
    let group = SortedFooterHead.group(of: key.fingerprint(of: entry.id), groupBits)
    let place =
      group * CheckpointBlock.byteCount + openCounts[group] * SortedFooterBlock.entryByteCount
    var bytes = openBlocks.mutableBytes
    entry.write(into: &bytes, at: place)
    openCounts[group] += 1
    entryCount += 1
    if openCounts[group] == SortedFooterBlock.entryCount { try complete(group) }
  }

  /// Sends a group's block on its way, and begins another.
  private mutating func complete(_ group: Int) throws(StorageError) {
    Self.copyBlock(
      of: openCounts[group], in: openBlocks, at: group * CheckpointBlock.byteCount, to: &outgoing)
    groups.append(UInt8(group))
    openCounts[group] = 0
    if outgoing.count >= Self.pieceByteCount { try writeOutgoing() }
  }

  /// Copies a block of so many entries, and nothing of what an earlier block left behind them in memory.
  private static func copyBlock(
    of count: Int, in openBlocks: borrowing Buffer, at start: Int, to outgoing: inout Buffer
  ) {
    let blockStart = outgoing.count
    let filledByteCount = count * SortedFooterBlock.entryByteCount
    outgoing.append(openBlocks.bytes.extracting(start..<start + filledByteCount))
    outgoing.appendZeros(CheckpointBlock.byteCount - filledByteCount)
    var bytes = outgoing.mutableBytes
    bytes.store(UInt16(count), at: blockStart + SortedFooterBlock.countOffset)
  }

  private mutating func writeOutgoing() throws(StorageError) {
    let (salt, first) = (salt, nextBlock)
    CheckpointBlock.seal(&outgoing, salt: salt, first: first)
    try file.writeAll(outgoing.bytes, at: nextBlock * CheckpointBlock.byteCount)
    nextBlock += outgoing.count / CheckpointBlock.byteCount
    outgoing.removeAll()
  }

  /// Writes what is left, and the head.
  private mutating func finish(
    storeID: StoreID, entry: LiveEntry, listed: [SortedFooterHead.Change]
  ) throws(StorageError) {
    for group in openCounts.indices where openCounts[group] > 0 { try complete(group) }
    try writeOutgoing()
    let head = SortedFooterHead(
      storeID: storeID, salt: salt, key: key, entry: entry, groupBits: groupBits, entryCount: entryCount,
      groups: groups, directoryBlockCount: directoryBlockCount, listed: listed)
    outgoing.removeAll()
    head.append(to: &outgoing)
    try file.writeAll(outgoing.bytes, at: 0)
  }
}
