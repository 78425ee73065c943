// Finding a record: from its id to its bytes, checked. FORMAT.md §5, docs/format-derived.md §31.

import NotelogBase
import NotelogFormat
import NotelogStorage
import Synchronization

/// What a read goes through: the index, the segments, and the blocks in memory.
///
/// It holds each of them itself. What is reached by way of other objects is counted up and down on the way,
/// and a count that two reading threads share costs them as much as waiting for memory (decision 0041).
final class RecordFinder: Sendable {
  private let catalog: Catalog
  let index: Index
  private let segments: SegmentTable
  let cache: BlockCache
  private let staleness: Staleness
  private let closed = Atomic(false)
  private let path: String

  /// - Parameters:
  ///   - catalog: What there is.
  ///   - path: The folder's path, for errors.
  init(_ catalog: Catalog, _ path: String) {
    self.catalog = catalog
    self.path = path
    index = catalog.index
    segments = catalog.segments
    cache = catalog.cache
    staleness = catalog.staleness
  }

  /// Whether the journal was closed: what is in memory is not served any longer either.
  var isClosed: Bool { closed.load(ordering: .relaxed) }

  /// Has every read throw `closed` from now on.
  func close() { closed.store(true, ordering: .relaxed) }

  /// Reads a record's newest version.
  ///
  /// - Returns: Nothing where there is no such record.
  /// - Throws: `damaged`, with the place, where its frame does not check; `closed`.
  func read(_ id: ID16, into buffer: inout ReadBuffer) throws(NotelogError) -> StoredRecord? {
    let found = try readUnchecked(id, into: &buffer)
    do { if found != nil { try buffer.check() } } catch { throw noted(error, id) }
    return found
  }

  /// An error on its way to the caller: damage is noted for whoever asks later how the store is.
  func noted(_ error: NotelogError, _ id: ID16) -> NotelogError {
    guard error.code == .damaged else { return error }
    var error = error.of(RecordID(id))
    error.message += ": \(RecordID(id))"
    catalog.damageLog.note(error)
    return error
  }

  /// Reads a record's newest version, of a long one only the beginning. It leaves it to the caller to read
  /// the rest (``ReadBuffer/complete()``), and to look at the payload's checksum (``ReadBuffer/check()``).
  /// That is for whoever opens sealed values in it, whose tags say more.
  ///
  /// - Returns: Nothing where there is no such record.
  /// - Throws: `damaged`, with the place, where its header does not check, or its envelope is not all there.
  func readUnchecked(
    _ id: ID16, into buffer: inout ReadBuffer
  ) throws(NotelogError) -> StoredRecord? {
    do throws(NotelogError) {
      buffer.removeAll()
      if isClosed { throw NotelogError.closed(path) }
      let fingerprint = index.fingerprint(of: id)
      guard let first = try fromStorage(index.candidate(fingerprint, 0)) else { return nil }
      // Nearly always the first candidate is the record's, and in memory.
      if !first.isTombstone, let record = readCached(id, at: first, into: &buffer) { return record }
      return try readBeyondMemory(id, fingerprint, first, into: &buffer)
    } catch { throw noted(error, id) }
  }

  /// Reads a record's newest version whose first candidate's frame is not in memory, or not the record's.
  @inline(never)
  private func readBeyondMemory(
    _ id: ID16, _ fingerprint: UInt64, _ first: FrameAddress, into buffer: inout ReadBuffer
  ) throws(NotelogError) -> StoredRecord? {
    var (ordinal, candidate): (Int, FrameAddress?) = (0, first)
    var unreadable: FrameAddress?
    while let place = candidate {
      // A tombstone is no version to read, and if it is this record's, no other candidate is the record's.
      if place.isTombstone {
        ordinal += 1
      } else if let segment = segments[place.segment] {
        let found = try readCandidate(id, at: place, in: segment, into: &buffer)
        if let record = found.record { return record }
        if found.isUnreadable { unreadable = place }
        ordinal += 1
      } else if try fromStorage(index.candidate(fingerprint, ordinal)) == place {
        // Unless it was moved by compaction in between: the entry holds another place then.
        ordinal += 1
      }
      candidate = try fromStorage(index.candidate(fingerprint, ordinal))
    }
    guard let unreadable else { return nil }
    // It may have been this record's, unless a deletion that can be read came after it.
    if try fromStorage(catalog.resolve(id, fingerprint))?.isTombstone == true { return nil }
    throw NotelogError(lost: unreadable)
  }

  /// Reads a record's version at a place that is known to be its.
  func read(
    _ id: ID16, at place: FrameAddress, in segment: Segment, into buffer: inout ReadBuffer
  ) throws(NotelogError) -> StoredRecord {
    buffer.removeAll()
    if isClosed { throw NotelogError.closed(path) }
    guard let record = try readCandidate(id, at: place, in: segment, into: &buffer).record else {
      throw NotelogError(lost: place)
    }
    try buffer.check()
    return record
  }

  /// Reads a candidate of whose frame memory has what is read at first, and which is the record's: nearly all
  /// are.
  ///
  /// Its segment may be gone, and its blocks about to be forgotten or pushed out. Then this is what the
  /// record was when it was looked up.
  ///
  /// - Returns: nil if not cached or not this record; then call ``readCandidate``.
  private func readCached(
    _ id: ID16, at place: FrameAddress, into buffer: inout ReadBuffer
  ) -> StoredRecord? {
    buffer.frame.removeAll()
    guard let salt = cache.appendFrame(place.segment, at: place.offset, to: &buffer.frame),
      let header = FrameHeader(buffer.frame.bytes, at: 0, salt: salt, place: place.offset),
      header.kind == .record, header.id == id
    else { return nil }
    return record(header, at: 0, from: place, in: segments[place.segment], &buffer)
  }

  /// Reads a candidate's frame.
  ///
  /// - Returns: The record, unless the frame is of another id; or that not even its id can be told.
  /// - Throws: `damaged`, with the place, where it is the record's, and not even its beginning is there.
  private func readCandidate(
    _ id: ID16, at place: FrameAddress, in segment: Segment, into buffer: inout ReadBuffer
  ) throws(NotelogError) -> (record: StoredRecord?, isUnreadable: Bool) {
    let start = try fromStorage(segment.readFrame(at: place.offset, into: &buffer.frame, cache))
    guard buffer.frame.count - start >= Layout.frameHeaderByteCount,
      let header = FrameHeader(
        buffer.frame.bytes, at: start, salt: segment.salt, place: place.offset),
      header.kind == .record
    else {
      // The header does not check: who it was, the footer may say.
      let listed = try fromStorage(segment.listedEntry(at: place.offset))
      if listed?.id == id { throw NotelogError(lost: place) }
      return (nil, listed == nil)
    }
    guard header.id == id else { return (nil, false) }
    let firstByteCount = ReadBuffer.firstByteCount(ofFrame: header.frameByteCount)
    try fill(firstByteCount, at: start, of: place, in: segment, &buffer)
    if let record = record(header, at: start, from: place, in: segment, &buffer) { return (record, false) }
    // A long envelope, or one that is cut off.
    try fill(header.frameByteCount, at: start, of: place, in: segment, &buffer)
    guard let record = record(header, at: start, from: place, in: segment, &buffer) else {
      throw NotelogError(lost: place)
    }
    return (record, false)
  }

  /// Reads as much of a frame as is wanted and not in the buffer yet, where it starts at an offset.
  private func fill(
    _ byteCount: Int, at start: Int, of place: FrameAddress, in segment: Segment, _ buffer: inout ReadBuffer
  ) throws(NotelogError) {
    let missing = start + byteCount - buffer.frame.count
    guard missing > 0 else { return }
    let next = place.offset + buffer.frame.count - start
    do { try buffer.frame.fill(missing, from: segment.file, at: next) } catch { throw NotelogError(error) }
  }

  /// The record of a frame that starts at an offset of the buffer; nothing where its envelope isn't all
  /// there. Its segment is asked for where not all of it is, and the rest is to be kept.
  private func record(
    _ header: FrameHeader, at start: Int, from place: FrameAddress,
    in segment: @autoclosure () -> Segment?, _ buffer: inout ReadBuffer
  ) -> StoredRecord? {
    guard buffer.divide(header, at: start, from: place) else { return nil }
    if !buffer.isWhole {
      guard let segment = segment() else {
        buffer.removeAll()
        return nil
      }
      buffer.keepRest(of: segment, cache, at: start, from: place)
    }
    return StoredRecord(header, isPossiblyStale: header.sequence < staleness.below)
  }
}

// MARK: - Finding several records at once: while one comes from memory, the others are on their way.

/// What is known of a record that is looked up ahead, and where its first candidate is: none where that isn't
/// known yet, or there is none.
typealias PendingLookup = (fingerprint: UInt64, place: FrameAddress)

extension RecordFinder {
  /// Begins a lookup, and prefetches what says where the record is.
  func begin(_ id: ID16) -> PendingLookup {
    let fingerprint = index.fingerprint(of: id)
    index.prefetch(fingerprint)
    return (fingerprint, .none)
  }

  /// Finds out where the record is, and prefetches what says whether memory has it.
  func locate(_ lookup: inout PendingLookup) {
    // What can't be looked up now is an error when it is read.
    guard let place = try? index.candidate(lookup.fingerprint, 0) else { return }
    lookup.place = place
    cache.prefetchSet(place.segment, at: place.offset)
  }

  /// Prefetches the record's frame.
  func prefetch(_ lookup: PendingLookup) {
    if !lookup.place.isNone { cache.prefetch(lookup.place.segment, at: lookup.place.offset) }
  }

  /// Reads the version that the record had when it was located, or its newest; its payload unchecked, as by
  /// ``readUnchecked(_:into:)``.
  ///
  /// - Returns: Nothing where there is no such record.
  /// - Throws: `damaged`, with the place, where its header does not check, or its envelope is not all there.
  func readUnchecked(
    _ id: ID16, _ lookup: PendingLookup, into buffer: inout ReadBuffer
  ) throws(NotelogError) -> StoredRecord? {
    buffer.removeAll()
    if !lookup.place.isNone, !lookup.place.isTombstone, !isClosed,
      let record = readCached(id, at: lookup.place, into: &buffer)
    {
      return record
    }
    return try readUnchecked(id, into: &buffer)
  }
}
