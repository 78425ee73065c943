// Whether the checkpoint says what the segments say: docs/format-derived.md §31, INV-X1.

package import NotelogBase
import NotelogFormat
package import NotelogJournal
import NotelogStorage

/// How the index that an opening would make of the checkpoint, and of what came after it, differs from the one that the segments
/// make. Every block of it checks: it was written by a writer that errs, or by somebody else.
package struct IndexComparison: Equatable, Sendable {
  /// The records named in a finding, at most.
  private static let namedCount = 5

  /// How many entries are at another place, are missing, or are there for nothing.
  package private(set) var wrongEntryCount = 0
  /// The first of the records that are there in truth and would not be found, or deleted ones that would be.
  package private(set) var records: [ID16] = []
  /// Whether the records of collection 0 are others than it lists.
  package private(set) var listsOtherSchemas = false
  /// Segments whose live bytes are others than it says.
  package private(set) var segments: [UInt32] = []

  /// Fields whose orders lack keys that records have.
  package internal(set) var orders: [OrderName] = []

  /// Whether the index names other copies of some frames: there are two where a recovery copied again what a compaction had copied.
  private var hasCopies = false

  /// Whether there is no difference.
  package var isSame: Bool {
    wrongEntryCount == 0 && !listsOtherSchemas && segments.isEmpty && orders.isEmpty
  }

  init() {}

  /// Compares two catalogs with the same fingerprints. The first one is of no use afterwards: each shard of it is let go as soon as
  /// it is compared.
  init(_ catalog: Catalog, with truth: Catalog) throws(StorageError) {
    listsOtherSchemas = try catalog.listedRecords() != truth.listedRecords()
    for number in 0..<Index.shardCount {
      if try !catalog.index.hasEntries(of: truth.index, inShard: number) {
        try compare(
          catalog.index.entries(ofShard: number), with: truth.index.entries(ofShard: number), truth)
      }
      catalog.index.forgetShard(number)
    }
    // Which of two copies is live, is nobody's concern.
    if hasCopies { return }
    for segment in truth.segments.all
    where catalog.segments[segment.number]?.recordBytes != segment.recordBytes {
      segments.append(segment.number)
    }
  }

  /// Both ascend. A record that is at another place is missing at one, and too much at the other.
  private mutating func compare(
    _ said: [IndexEntry], with real: [IndexEntry], _ truth: Catalog
  ) throws(StorageError) {
    var (place, realPlace) = (0, 0)
    var missing: [IndexEntry] = []
    var surplus: [UInt64: [FrameAddress]] = [:]
    var surplusCount = 0
    while place < said.count || realPlace < real.count {
      let entry = place < said.count ? said[place] : nil
      let realEntry = realPlace < real.count ? real[realPlace] : nil
      if entry == realEntry {
        place += 1
        realPlace += 1
      } else if let realEntry, entry.map({ realEntry.precedes($0) }) ?? true {
        missing.append(realEntry)
        realPlace += 1
      } else if let entry {
        surplus[entry.fingerprint, default: []].append(entry.place)
        surplusCount += 1
        place += 1
      }
    }
    var missingCount = 0
    for entry in missing {
      let frame = try self.frame(of: entry, truth)
      if let frame, try isCopied(frame, at: entry, among: surplus[entry.fingerprint] ?? [], truth) {
        hasCopies = true
        surplusCount -= 1
        continue
      }
      missingCount += 1
      name(frame)
    }
    if missingCount < surplusCount {
      for (fingerprint, places) in surplus {
        for place in places {
          name(try frame(of: IndexEntry(fingerprint: fingerprint, place: place), truth))
        }
      }
    }
    wrongEntryCount += max(missingCount, surplusCount)
  }

  /// Whether one of some places holds a copy of a frame.
  private func isCopied(
    _ frame: FooterEntry, at entry: IndexEntry, among places: [FrameAddress], _ truth: Catalog
  ) throws(StorageError) -> Bool {
    for place in places
    where place.segment != entry.place.segment && place.isTombstone == entry.place.isTombstone {
      let other = try self.frame(of: IndexEntry(fingerprint: entry.fingerprint, place: place), truth)
      if other?.id == frame.id, other?.sequence == frame.sequence { return true }
    }
    return false
  }

  /// The frame that an entry names, if it has the entry's fingerprint.
  private func frame(of entry: IndexEntry, _ truth: Catalog) throws(StorageError) -> FooterEntry? {
    guard case .frame(let frame) = try truth.segments.candidateState(at: entry.place, truth.cache),
      truth.index.fingerprint(of: frame.id) == entry.fingerprint
    else { return nil }
    return frame
  }

  private mutating func name(_ frame: FooterEntry?) {
    guard let frame, records.count < Self.namedCount, !records.contains(frame.id) else { return }
    records.append(frame.id)
  }
}

extension IndexEntry {
  fileprivate func precedes(_ other: IndexEntry) -> Bool {
    (fingerprint, place.bits) < (other.fingerprint, other.place.bits)
  }
}

extension Examination {
  /// What the checkpoint is good for, every block of it read but for those of orders, and how what an opening makes of it differs
  /// from what the segments say. That it is damaged is no damage to the store.
  func verifiedCheckpoint(
    against truth: Catalog
  ) throws(StorageError) -> (use: CheckpointUse, comparison: IndexComparison) {
    let found: CheckpointFile
    switch checkpoint {
    case .missing: return (.missing, IndexComparison())
    case .damaged: return (.damaged, IndexComparison())
    case .found(let file): found = file
    }
    guard found.head.storeID == storeID else { return (.stale, IndexComparison()) }
    guard try found.isSound() else { return (.damaged, IndexComparison()) }
    // Where something is damaged, it may know more than the segments do.
    guard !report.isDamaged, trusts(found), found.head.key == truth.index.key else {
      return (.used, IndexComparison())
    }
    guard
      let taken = try Catalog.take(found, accepted(beside: found.head), end: end, JournalOptions())
    else { return (.stale, IndexComparison()) }
    guard taken.readings.isEmpty else { return (.stale, IndexComparison()) }
    return (.used, try IndexComparison(taken.catalog, with: truth))
  }

  /// The key of the index that is compared with the checkpoint's.
  var comparedKey: FingerprintKey? {
    guard !report.isDamaged, let found = checkpoint.found, trusts(found) else { return nil }
    return found.head.key
  }
}
