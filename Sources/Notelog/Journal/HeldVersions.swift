// What segments still hold of records' older versions: FORMAT.md §24, "Older versions".

import NotelogBase
import NotelogFormat
import NotelogStorage

/// A version of a record, or its deletion, as a segment has it.
struct HeldVersion: Sendable {
  let entry: FooterEntry
  let segment: Segment

  var sequence: UInt64 { entry.sequence }
  /// What counts among a record's versions is highest: FORMAT.md §12.2. Of copies, the one in the log is, which
  /// has the commit's time.
  fileprivate var rank: (UInt64, Int, Int) { (sequence, segment.kind.isLog ? 1 : 0, entry.offset) }
}

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

  /// When a version was committed, in milliseconds since 1970: of one in the log, where commit marks have
  /// times. Compacted segments have no marks.
  func time(of version: HeldVersion) throws(StorageError) -> UInt64? {
    guard version.segment.kind.isLog, journal.log.branch.keepsTimes else { return nil }
    var walk = try walk(version.segment, from: version.entry.offset)
    while let header = try walk.advance(), header.sequence == version.sequence {
      guard header.kind == .commit, try walk.reader.isWhole(header, at: walk.place) else { continue }
      return CommitMark(payload: try walk.reader.payload(of: header, at: walk.place))?.time
    }
    return nil
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
  func lastTransaction() throws(NotelogError) -> (range: TransactionRange, frames: [ID16: FrameHeader]) {
    var last: (range: TransactionRange, frames: [ID16: FrameHeader])?
    var laterCount: UInt64 = 0
    for segment in segments.reversed() where segment.kind.isLog && last == nil {
      var chunkCount: UInt64 = 0
      do throws(StorageError) {
        var walk = try walk(segment)
        walk.go(to: try walk.reader.unitsStart())
        reading: while true {
          switch try walk.unit() {
          case .transaction(let range)
          where range.end - range.start <= FormatLimits.maximumTransactionByteCount:
            var frames: [ID16: FrameHeader] = [:]
            var hasOnlyChunks = true
            try walk.forEachFrame(of: range) { (header, _, _) throws(StorageError) in
              if header.kind.isVersion { frames[header.id] = header }
              if header.kind != .chunk { hasOnlyChunks = false }
            }
            if !frames.isEmpty { (last, chunkCount) = ((range, frames), 0) }
            if hasOnlyChunks { chunkCount += 1 }
          case .close: continue
          case .transaction, .footer, .none, .broken: break reading
          }
        }
      } catch { throw NotelogError(error) }
      laterCount += chunkCount
    }
    if let last, last.range.sequence + laterCount == sequence { return last }
    if laterCount == sequence { throw NotelogError(.notFound, "no record was ever written") }
    throw NotelogError(
      .snapshotExpired,
      "what was before the last change may be gone: the store was compacted since, or recovered, or is damaged"
    )
  }

  private func walk(_ segment: Segment, from start: Int? = nil) throws(StorageError) -> SegmentWalk {
    SegmentWalk(
      segment.file, salt: segment.salt, end: min(scanEnd(of: segment), try segment.file.byteCount()),
      from: start ?? Layout.firstFrameOffset)
  }
}
