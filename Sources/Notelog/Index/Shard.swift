// One of the index's shards: in memory, or still in the checkpoint's file.

import NotelogStorage

/// The entries whose fingerprints have the same highest byte.
struct Shard: ~Copyable, Sendable {
  var table: EntryTable

  private let number: Int
  /// Where the shard comes from as long as it is cold.
  private var source: ShardSource?
  var isCold: Bool { source != nil }
  private var coldLookupCount = 0
  /// Whether somebody wants the table as it is now, and that table, since this one was changed.
  private var isWanted = false
  private var kept: EntryTable?

  /// After so many look-ups in the file, the shard is brought into memory.
  private static let coldLookupLimit = 16

  init(_ number: Int = 0, source: ShardSource? = nil) {
    self.number = number
    self.source = source
    table = EntryTable(stagger: number)
  }

  /// Has the table copied before it is changed.
  mutating func beginCopy() { isWanted = true }

  /// Copies the table, if somebody wants it as it is.
  @inline(__always)
  mutating func copyIfWanted() { if isWanted { copy() } }

  @inline(never)
  private mutating func copy() {
    kept = EntryTable(copying: table)
    isWanted = false
  }

  /// The table as it was; nothing where it was taken before.
  mutating func takeCopy() -> EntryTable? {
    copyIfWanted()
    return kept.take()
  }

  /// Nobody wants it any longer.
  mutating func endCopy() {
    isWanted = false
    kept = nil
  }

  /// The place of the nth candidate in a cold shard.
  mutating func placeInFile(_ fingerprint: UInt64, at ordinal: Int) throws(StorageError) -> FrameAddress? {
    coldLookupCount += 1
    if coldLookupCount <= Self.coldLookupLimit,
      case .place(let place) = source?.candidate(number, fingerprint, ordinal)
    {
      return place
    }
    try load()
    return table.place(fingerprint, at: ordinal)
  }

  /// Brings a cold shard into memory.
  mutating func load() throws(StorageError) {
    guard let source else { return }
    table = EntryTable(stagger: number)
    try source.load(number, into: &self)
    self.source = nil
  }

  /// How many records there are in it; where that can't be read, as many as the checkpoint says.
  var recordCount: Int {
    mutating get {
      if let source, !source.isInFile(number) { try? load() }
      return estimatedRecordCount
    }
  }

  /// How many there are as far as can be said without reading.
  var estimatedRecordCount: Int {
    guard let source else { return table.count - table.tombstoneCount }
    return Int(source.head.entryCounts[number]) - Int(source.head.tombstoneCounts[number])
  }
}
