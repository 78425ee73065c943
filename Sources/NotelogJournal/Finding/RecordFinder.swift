// Finding a record: from its id to its bytes, checked. FORMAT.md §5, §14.

import NotelogConcurrency

/// What a read goes through: the index, the segments, and the blocks in memory.
///
/// It holds each of them itself. What is reached by way of other objects is counted up and down on the way, and a count
/// that two reading threads share costs them as much as waiting for memory (docs/decisions/0041).
package final class RecordFinder: Sendable {
  private let catalog: Catalog
  let index: Index
  private let segments: SegmentTable
  let cache: BlockCache
  private let staleness: Staleness

  init(_ catalog: Catalog) {
    self.catalog = catalog
    index = catalog.index
    segments = catalog.segments
    cache = catalog.cache
    staleness = catalog.staleness
  }

  /// Reads a record's newest version.
  ///
  /// - Returns: Nothing where there is no such record.
  /// - Throws: `damaged`, with the place, where its frame does not check.
  package func read(_ id: RecordKey, into buffer: inout ReadBuffer) throws(JournalError) -> StoredRecord? {
    let found = try readUnchecked(id, into: &buffer)
    if found != nil { try buffer.check() }
    return found
  }

  /// Reads a record's newest version, and leaves it to the caller to look at the payload's checksum (``ReadBuffer/check()``).
  /// That is for whoever opens sealed values in it, whose tags say more.
  ///
  /// - Returns: Nothing where there is no such record.
  /// - Throws: `damaged`, with the place, where its frame is not all there.
  package func readUnchecked(
    _ id: RecordKey, into buffer: inout ReadBuffer
  ) throws(JournalError) -> StoredRecord? {
    let finding: Finding
    do { finding = try find(id, index.fingerprint(of: id), into: &buffer) } catch {
      throw JournalError(error)
    }
    switch finding {
    case .record(let record): return record
    case .nothing: return nil
    case .damaged(let place): throw JournalError(lost: place)
    }
  }

  /// Reads a record's version at a place that is known to be its.
  func read(
    _ id: RecordKey, at place: Place, in segment: Segment, into buffer: inout ReadBuffer
  ) throws(JournalError) -> StoredRecord {
    let candidate = try journaling { () throws(StorageError) in
      try readCandidate(id, at: place, in: segment, into: &buffer)
    }
    guard case .record(let record) = candidate else { throw JournalError(lost: place) }
    try buffer.check()
    return record
  }

  /// What looking for a record gave.
  private enum Finding {
    case record(StoredRecord)
    case nothing
    case damaged(Place)
  }

  private func find(
    _ id: RecordKey, _ fingerprint: UInt64, into buffer: inout ReadBuffer
  ) throws(StorageError) -> Finding {
    var ordinal = 0
    var unreadable: Place?
    while let place = try index.candidate(fingerprint, ordinal) {
      // A tombstone is no version to read, and if it is this record's, no other candidate is the record's.
      if place.isTombstone {
        ordinal += 1
        continue
      }
      if let record = readCached(id, at: place, into: &buffer) { return .record(record) }
      guard let segment = segments[place.segment] else {
        // Moved by compaction in between, the entry holds another place by now.
        if try index.candidate(fingerprint, ordinal) == place { ordinal += 1 }
        continue
      }
      switch try readCandidate(id, at: place, in: segment, into: &buffer) {
      case .record(let record): return .record(record)
      case .other: ordinal += 1
      case .damaged: return .damaged(place)
      case .unreadable:
        unreadable = place
        ordinal += 1
      }
    }
    guard let unreadable else { return .nothing }
    // It may have been this record's, unless a deletion that can be read came after it.
    return try catalog.settle(id, fingerprint)?.isTombstone == true ? .nothing : .damaged(unreadable)
  }

  /// Reads a candidate whose segment is there, whose frame is in memory, and which is the record's: nearly all are.
  ///
  /// - Returns: Nothing where any of that is not so; what is the case then is for ``readCandidate`` to say.
  func readCached(_ id: RecordKey, at place: Place, into buffer: inout ReadBuffer) -> StoredRecord? {
    guard let salt = segments.salt(of: place.segment) else { return nil }
    buffer.frame.removeAll()
    guard cache.appendFrame(place.segment, at: place.offset, to: &buffer.frame),
      case .header(let header) = FrameHeader.read(buffer.frame.bytes, at: 0, salt: salt, place: place.offset),
      header.kind == .record, header.id == id
    else { return nil }
    return record(header, at: 0, from: place, in: &buffer)
  }

  /// What reading a candidate's frame gave.
  private enum Candidate {
    case record(StoredRecord)
    /// A frame of another id.
    case other
    /// The record's frame, which is not all there.
    case damaged
    /// A frame of which not even the id can be told.
    case unreadable
  }

  private func readCandidate(
    _ id: RecordKey, at place: Place, in segment: Segment, into buffer: inout ReadBuffer
  ) throws(StorageError) -> Candidate {
    let start = try segment.readFrame(at: place.offset, into: &buffer.frame, cache)
    guard buffer.frame.count - start >= Layout.frameHeaderByteCount,
      case .header(let header) = FrameHeader.read(
        buffer.frame.bytes, at: start, salt: segment.salt, place: place.offset),
      header.kind == .record
    else {
      // The header does not check: who it was, the footer may say.
      guard let listed = try segment.listedEntry(at: place.offset) else { return .unreadable }
      return listed.id == id ? .damaged : .other
    }
    guard header.id == id else { return .other }
    let missing = start + header.frameByteCount - buffer.frame.count
    if missing > 0 {
      let end = place.offset + buffer.frame.count - start
      try buffer.frame.fill(missing, from: segment.file, at: end)
    }
    return record(header, at: start, from: place, in: &buffer).map { .record($0) } ?? .damaged
  }

  /// The record of a frame that starts at an offset of the buffer; nothing where it isn't all there.
  private func record(
    _ header: FrameHeader, at start: Int, from place: Place, in buffer: inout ReadBuffer
  ) -> StoredRecord? {
    guard buffer.divide(header, at: start, from: place) else { return nil }
    return StoredRecord(
      id: header.id, collection: header.collection, revision: header.sequence,
      isPossiblyStale: header.sequence < staleness.below)
  }
}
