// Whether the checkpoint says what the segments say: docs/format-derived.md §31, INV-X1.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// How the index that an opening would make of the checkpoint, and of what came after it, differs from the
/// one that the segments make. Every block of it checks: it was written by a writer that errs, or by somebody
/// else.
struct IndexComparison: Equatable, Sendable {
  /// The records named in a finding, at most.
  private static let namedCount = 5

  /// How many entries are at another place, are missing, or are there for nothing.
  private(set) var wrongEntryCount = 0
  /// The first of the records that are there in truth and would not be found, or deleted ones that would be.
  private(set) var records: [ID16] = []
  /// Whether the records of collection 0 are others than it lists.
  private(set) var listsOtherSchemas = false
  /// Segments whose live bytes are others than it says.
  private(set) var segments: [UInt32] = []

  /// Fields whose orders lack keys that records have.
  var orders: [OrderName] = []
  /// Whether an order does not check.
  var hasUnsoundOrder = false

  /// Whether the index names other copies of some frames: there are two where a recovery copied again what a
  /// compaction had copied.
  private var hasCopies = false

  init() {}

  /// Compares two catalogs with the same fingerprints. The first one is of no use afterwards: each shard of
  /// it is let go as soon as it is compared.
  init(_ catalog: Catalog, with truth: Catalog) throws(StorageError) {
    listsOtherSchemas = try catalog.listedRecords() != truth.listedRecords()
    for number in 0..<Index.shardCount {
      let (said, real) = try (catalog.index.entries(ofShard: number), truth.index.entries(ofShard: number))
      if said != real { try compare(said, with: real, truth) }
      catalog.index.forgetShard(number)
    }
    // Which of two copies is live, is nobody's concern.
    if hasCopies { return }
    for segment in truth.segments.all
    where catalog.segments[segment.number]?.recordBytes != segment.recordBytes {
      segments.append(segment.number)
    }
  }

  /// A record that is at another place is missing at one, and too much at the other.
  private mutating func compare(
    _ said: [IndexEntry], with real: [IndexEntry], _ truth: Catalog
  ) throws(StorageError) {
    var surplus = Dictionary(grouping: Set(said).subtracting(real), by: \.fingerprint)
    var missing: [FooterEntry?] = []
    for entry in Set(real).subtracting(said) {
      let frame = try self.frame(of: entry, truth)
      if let frame,
        try removeCopy(of: frame, at: entry.place, &surplus[entry.fingerprint, default: []], truth)
      {
        hasCopies = true
      } else {
        missing.append(frame)
      }
    }
    let left = Array(surplus.values.joined())
    for frame in missing { name(frame) }
    if missing.count < left.count { for entry in left { name(try frame(of: entry, truth)) } }
    // An entry may also be there twice.
    wrongEntryCount += max(missing.count, left.count, said.count - real.count)
  }

  /// Takes out of some entries one that names a copy of a frame.
  ///
  /// - Returns: Whether there was one.
  private func removeCopy(
    of frame: FooterEntry, at place: FrameAddress, _ entries: inout [IndexEntry], _ truth: Catalog
  ) throws(StorageError) -> Bool {
    for (index, entry) in entries.enumerated()
    where entry.place.segment != place.segment && entry.place.isTombstone == place.isTombstone {
      let other = try self.frame(of: entry, truth)
      if other?.id == frame.id, other?.sequence == frame.sequence {
        entries.remove(at: index)
        return true
      }
    }
    return false
  }

  /// The frame that an entry names, if it has the entry's fingerprint.
  private func frame(of entry: IndexEntry, _ truth: Catalog) throws(StorageError) -> FooterEntry? {
    guard let frame = try truth.segments.entry(at: entry.place, truth.cache),
      truth.index.fingerprint(of: frame.id) == entry.fingerprint
    else { return nil }
    return frame
  }

  private mutating func name(_ frame: FooterEntry?) {
    guard let frame, records.count < Self.namedCount, !records.contains(frame.id) else { return }
    records.append(frame.id)
  }
}

extension Examination {
  /// What the checkpoint is good for, every block of it read but for those of orders, and how what an opening
  /// makes of it differs from what the segments say. That it is damaged is no damage to the store.
  func verifiedCheckpoint(
    against truth: Catalog
  ) throws(StorageError) -> (use: CheckpointUse, comparison: IndexComparison) {
    guard let found = checkpoint.found else { return (checkpoint.use, IndexComparison()) }
    guard found.head.storeID == storeID else { return (.stale, IndexComparison()) }
    // A file that has taken its place meanwhile is an error here, and no damage.
    guard try found.forEachEntry({ _ in }) else { return (.damaged, IndexComparison()) }
    // Where something is damaged, it may know more than the segments do.
    guard comparedKey == truth.index.key else { return (.used, IndexComparison()) }
    guard let taken = try Catalog.load(found, accepted(beside: found.head), end: end, JournalOptions()),
      taken.readings.isEmpty
    else { return (.stale, IndexComparison()) }
    return (.used, try IndexComparison(taken.catalog, with: truth))
  }

  /// The key of the index that is compared with the checkpoint's.
  var comparedKey: FingerprintKey? {
    guard !report.isDamaged, let found = checkpoint.found, trusts(found) else { return nil }
    return found.head.key
  }
}

// MARK: - Whether the checkpoint's orders have the keys that records have: docs/format-derived.md §32.

/// The keys that records have in fields whose orders the checkpoint holds: eight bytes of each, as there may
/// be millions.
struct OrderComparison: Sendable {
  private let orders: [StoredOrder]
  /// Of keys and ids; nobody outside knows it, and could make two of them the same.
  private let hash: FingerprintKey
  private var keys: [[UInt64]]

  /// The orders of a checkpoint, as far as it is still there.
  init(of checkpoint: CheckpointFile?, in storage: any Storage) {
    self.init(of: checkpoint.map { StoredOrder.all(behind: $0.head, in: storage) } ?? [])
  }

  init(of orders: [StoredOrder]) {
    hash = FingerprintKey(low: JournalOptions().random(), high: JournalOptions().random())
    self.orders = orders
    keys = orders.map { _ in [] }
  }

  /// Adds a record that is current. A later one than an order need not be in it: it is had from behind the
  /// checkpoint.
  mutating func add(_ record: StoredRecord, _ envelope: RawSpan) {
    for (number, order) in orders.enumerated()
    where order.name.collection == record.collection && record.revision <= order.since {
      if let key = order.name.key(in: envelope) { keys[number].append(hash(ID16(key), record.id)) }
    }
  }

  /// Adds what another thread found.
  mutating func merge(_ other: OrderComparison) {
    for number in keys.indices { keys[number] += other.keys[number] }
  }

  /// The orders that lack keys, and whether one does not check: nobody believes it.
  consuming func findings() -> (incomplete: [OrderName], hasUnsound: Bool) {
    var hasUnsound = false
    let incomplete = orders.indices.filter { number in
      var stored: [UInt64] = []
      stored.reserveCapacity(orders[number].keyCount)
      var isSound = orders[number].forEachBlock { _, _ in }
      for block in 0..<orders[number].blockCount where isSound {
        isSound = orders[number].read(block) { bytes in
          for place in stride(from: 0, to: bytes.byteCount, by: StoredOrder.keyByteCount) {
            stored.append(hash(ID16(bytes, at: place), ID16(bytes, at: place + 16)))
          }
        }
      }
      guard isSound else {
        hasUnsound = true
        return false
      }
      stored.sort()
      var place = 0
      for key in keys[number].sorted() {
        while place < stored.count, stored[place] < key { place += 1 }
        if place == stored.count || stored[place] != key { return true }
      }
      return false
    }
    return (incomplete.map { orders[$0].name }, hasUnsound)
  }

  private func hash(_ key: ID16, _ id: ID16) -> UInt64 {
    hash.fingerprint(of: ID16(low: hash.fingerprint(of: key) ^ id.low, high: id.high))
  }
}
