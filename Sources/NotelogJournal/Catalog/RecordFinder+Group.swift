// Finding several records at once: while one comes from memory, the others are on their way.

package import NotelogFormat

/// What is known of a record that is being looked for with others.
package struct Sought: Sendable, BitwiseCopyable {
  let fingerprint: UInt64
  /// Where the first candidate is; none where that isn't known yet, or there is none.
  fileprivate(set) var place = Place.none

  /// What hasn't been looked for yet.
  package static let unknown = Sought(fingerprint: 0)
}

extension RecordFinder {
  /// Begins to look for a record: what says where it is, is on its way from memory then.
  package func begin(_ id: RecordKey) -> Sought {
    let fingerprint = index.fingerprint(of: id)
    index.prefetch(fingerprint)
    return Sought(fingerprint: fingerprint)
  }

  /// Goes on: where it is, is known then, and what says whether memory has it, on its way.
  package func locate(_ sought: inout Sought) {
    // What can't be looked up now is an error when it is read.
    guard let place = try? index.candidate(sought.fingerprint, 0) else { return }
    sought.place = place
    cache.prefetchSet(place.segment, at: place.offset)
  }

  /// Goes on: its frame is on its way from memory then, or as much of it as ``readBeginning(_:_:into:)`` takes.
  package func fetch(_ sought: Sought, onlyBeginning: Bool) {
    guard !sought.place.isNone else { return }
    cache.prefetch(sought.place.segment, at: sought.place.offset, onlyBeginning ? .beginning : .field)
  }

  /// Reads the beginning of the version that the record had when it was located, where memory has it: 256 bytes of its frame,
  /// and nothing more of it later.
  ///
  /// - Returns: Nothing where that is not so; what is the case then is for ``readUnchecked(_:_:into:)`` to say.
  package func readBeginning(
    _ id: RecordKey, _ sought: Sought, into buffer: inout ReadBuffer
  ) -> StoredRecord? {
    buffer.removeAll()
    if sought.place.isNone || sought.place.isTombstone { return nil }
    return readCached(id, at: sought.place, .beginning, isOnItsWay: true, into: &buffer)
  }

  /// Reads the version that the record had when it was located, or its newest; its payload unchecked, as by
  /// ``readUnchecked(_:into:)``.
  ///
  /// - Returns: Nothing where there is no such record.
  /// - Throws: `damaged`, with the place, where its header does not check, or its envelope is not all there.
  package func readUnchecked(
    _ id: RecordKey, _ sought: Sought, into buffer: inout ReadBuffer
  ) throws(JournalError) -> StoredRecord? {
    buffer.removeAll()
    if !sought.place.isNone, !sought.place.isTombstone,
      let record = readCached(id, at: sought.place, .field, isOnItsWay: true, into: &buffer)
    {
      return record
    }
    return try readUnchecked(id, into: &buffer)
  }
}
