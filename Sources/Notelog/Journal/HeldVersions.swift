// What segments still hold of records' older versions: FORMAT.md §24, "Older versions".

import NotelogBase
import NotelogFormat
import NotelogStorage

/// A version of a record, or its deletion, as a segment has it.
struct HeldVersion: Sendable {
  let entry: FooterEntry
  let segment: Segment

  var sequence: UInt64 { entry.sequence }
  /// What counts among a record's versions is highest: FORMAT.md §12.2. Of copies, the one is that has the
  /// commit's time.
  fileprivate var rank: (UInt64, Int, Int) { (sequence, segment.kind.hasMarks ? 1 : 0, entry.offset) }
}

/// A transaction's number and time, 0 where that isn't known, and the last frame of each record that it wrote.
typealias LastTransaction = (sequence: UInt64, time: UInt64, frames: [ID16: FooterEntry])

extension Snapshot {
  /// The versions of some records that segments hold, newest first, one of each transaction.
  ///
  /// - Parameter ids: The records.
  /// - Returns: The versions; and whether these are all that compaction has left: not where something is lost.
  /// - Throws: `inputOutput` where the system fails.
  /// - Complexity: O(*n*) in what the segments list.
  func versions(
    of ids: Set<ID16>
  ) throws(NotelogError) -> (versions: [ID16: [HeldVersion]], isWhole: Bool) {
    var found: [ID16: [HeldVersion]] = [:]
    var isWhole = true
    do throws(StorageError) {
      for segment in segments {
        let reading = try segment.forEachEntry(upTo: scanEnd(of: segment)) {
          (entry, _) throws(StorageError) in
          guard entry.kind.isVersion, ids.contains(entry.id) else { return }
          // No writer gave out a higher number by then.
          if entry.sequence > sequence { return isWhole = false }
          found[entry.id, default: []].append(HeldVersion(entry: entry, segment: segment))
        }
        for damage in reading.allDamages { journal.damageLog.note(damage) }
        isWhole = isWhole && reading.isWhole
      }
    } catch { throw NotelogError(error) }
    let versions = found.mapValues { versions in
      var seen: Set<UInt64> = []
      return versions.sorted { $0.rank > $1.rank }.filter { seen.insert($0.sequence).inserted }
    }
    return (versions, isWhole)
  }

  /// Reads a version that is a record.
  ///
  /// - Throws: `damaged`, with the place, where its frame does not check, or is not what was listed.
  func read(_ version: HeldVersion, into buffer: inout ReadBuffer) throws(NotelogError) -> StoredRecord {
    let place = FrameAddress(segment: version.segment.number, offset: version.entry.offset)
    let record = try journal.records.read(version.entry.id, at: place, in: version.segment, into: &buffer)
    guard record.revision == version.sequence else { throw NotelogError(lost: place) }
    return record
  }

  /// When a version was committed, in milliseconds since 1970: where commit marks have times, and its segment
  /// has them.
  func time(of version: HeldVersion) throws(StorageError) -> UInt64? {
    guard version.segment.kind.hasMarks, journal.log.branch.keepsTimes else { return nil }
    var reader = try reader(version.segment)
    return try reader.time(of: version.entry)
  }

  /// The last transaction that wrote or deleted records, with the last frame of each, where all that it
  /// replaced is certain to be there.
  ///
  /// A version leaves the store only by a compaction, which a later transaction publishes. A recovery may
  /// have left that transaction out: a number that is not seen counts as one.
  ///
  /// - Throws: `notFound` where there is none; `snapshotExpired` where something other than chunks came
  ///   later, or the log does not check.
  /// - Complexity: O(*n*) in the bytes of the log's last segment, and of those before it that have none.
  func lastTransaction() throws(NotelogError) -> LastTransaction {
    if journal.catalog.kept.seconds > 0 { return try lastKeptTransaction() }
    var last: LastTransaction?
    var laterCount: UInt64 = 0
    for segment in segments.reversed() where segment.kind.isLog && last == nil {
      var chunkCount: UInt64 = 0
      do throws(StorageError) {
        let end = min(scanEnd(of: segment), try segment.file.byteCount())
        var walk = SegmentWalk(segment.file, salt: segment.salt, end: end)
        walk.go(to: try walk.reader.unitsStart())
        reading: while true {
          switch try walk.unit() {
          case .transaction(let range)
          where range.end - range.start <= FormatLimits.maximumTransactionByteCount:
            var frames: [ID16: FooterEntry] = [:]
            var hasOnlyChunks = true
            try walk.forEachFrame(of: range) { (header, _, place) throws(StorageError) in
              if header.kind.isVersion, !header.isState {
                frames[header.id] = FooterEntry(header, offset: place, envelopeByteCount: 0)
              }
              if header.kind != .chunk { hasOnlyChunks = false }
            }
            if !frames.isEmpty { (last, chunkCount) = ((range.sequence, range.mark.time, frames), 0) }
            if hasOnlyChunks { chunkCount += 1 }
          case .close: continue
          case .transaction, .footer, .none, .broken: break reading
          }
        }
      } catch { throw NotelogError(error) }
      laterCount += chunkCount
    }
    if let last, last.sequence + laterCount == sequence { return last }
    if laterCount == sequence { throw NotelogError(.notFound, "no record was ever written") }
    throw Self.expired
  }

  private static let expired = NotelogError(
    .snapshotExpired,
    "what was before the last change may be gone: the store was compacted since, or recovered, or is damaged")

  /// The same in a store that keeps versions: what it replaced is there if no compaction's horizon has come so
  /// far.
  private func lastKeptTransaction() throws(NotelogError) -> LastTransaction {
    var last: LastTransaction = (0, 0, [:])
    var newest: HeldVersion?
    do throws(StorageError) {
      for segment in segments {
        try segment.forEachEntry(upTo: scanEnd(of: segment)) { (entry, _) throws(StorageError) in
          guard entry.kind.isVersion, entry.id != FrameHeader.stateID,
            last.sequence...max(last.sequence, sequence) ~= entry.sequence
          else {
            return
          }
          if entry.sequence > last.sequence {
            last = (entry.sequence, 0, [:])
            newest = HeldVersion(entry: entry, segment: segment)
          }
          last.frames[entry.id] = entry
        }
      }
      if let newest { last.time = try time(of: newest) ?? 0 }
    } catch { throw NotelogError(error) }
    guard last.sequence > 0 else { throw NotelogError(.notFound, "no record was ever written") }
    guard try fromStorage(last.sequence > horizon(journal.catalog.kept.horizon)) else { throw Self.expired }
    return last
  }

  /// Reads what the snapshot sees of a segment.
  func reader(_ segment: Segment) throws(StorageError) -> SegmentReader {
    SegmentReader(
      segment.file, salt: segment.salt, end: min(scanEnd(of: segment), try segment.file.byteCount()))
  }
}
