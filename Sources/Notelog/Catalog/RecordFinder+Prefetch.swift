// Finding several records at once: while one comes from memory, the others are on their way.

import NotelogBase
import NotelogFormat

/// What is known of a record that is looked up ahead.
struct PendingLookup: Sendable, BitwiseCopyable {
  let fingerprint: UInt64
  /// Where the first candidate is; none where that isn't known yet, or there is none.
  fileprivate(set) var place = FrameAddress.none

  /// What hasn't been looked for yet.
  static let unknown = PendingLookup(fingerprint: 0)
}

extension RecordFinder {
  /// Begins a lookup, and prefetches what says where the record is.
  func begin(_ id: ID16) -> PendingLookup {
    let fingerprint = index.fingerprint(of: id)
    index.prefetch(fingerprint)
    return PendingLookup(fingerprint: fingerprint)
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
      let record = readCached(id, at: lookup.place, .field, into: &buffer)
    {
      return record
    }
    return try readUnchecked(id, into: &buffer)
  }
}
