// Reading one record: FORMAT.md §5.

import NotelogConcurrency

/// A record as it is stored. Its bytes are in the buffer it was read into.
package struct StoredRecord: Sendable, BitwiseCopyable {
  package let id: RecordKey
  package let collection: UInt16
  /// The sequence number of the transaction that wrote it; 0 for one that is not committed yet.
  package let revision: UInt64
  /// Whether frames that are lost may have held a newer version.
  package let isPossiblyStale: Bool
}

/// Memory that records are read into, one at a time; it is used again and again.
package struct ReadBuffer: ~Copyable {
  var frame = Buffer(capacity: 4096)
  private(set) var bodyRange = 0..<0
  private(set) var envelopeRange = 0..<0

  package init() {}

  /// The body of the record that was read last.
  package var body: RawSpan {
    @_lifetime(borrow self)
    borrowing get { frame.bytes.extracting(bodyRange) }
  }

  /// Its envelope; empty where it has none.
  package var envelope: RawSpan {
    @_lifetime(borrow self)
    borrowing get { frame.bytes.extracting(envelopeRange) }
  }

  /// Takes a payload that is in memory already.
  mutating func take(_ payload: RawSpan, _ header: FrameHeader, _ envelopeByteCount: Int) -> StoredRecord {
    frame.removeAll()
    frame.append(payload)
    divide(0..<payload.byteCount, envelopeByteCount: envelopeByteCount)
    return StoredRecord(
      id: header.id, collection: header.collection, revision: header.sequence, isPossiblyStale: false)
  }

  /// Says where in the bytes the payload is, and how it divides into envelope and body.
  mutating func divide(_ payload: Range<Int>, envelopeByteCount: Int) {
    envelopeRange = payload.lowerBound..<payload.lowerBound + envelopeByteCount
    bodyRange = envelopeRange.upperBound..<payload.upperBound
  }
}

extension Journal {
  /// Reads a record's newest version.
  ///
  /// - Returns: Nothing where there is no such record.
  /// - Throws: `damaged`, with the place, where its frame does not check.
  package func read(_ id: RecordKey, into buffer: inout ReadBuffer) throws(JournalError) -> StoredRecord? {
    let finding = try journaling { () throws(StorageError) in try find(id, into: &buffer) }
    switch finding {
    case .record(let record): return record
    case .nothing: return nil
    case .damaged(let place): throw Self.lost(place)
    }
  }

  /// Begins to fetch what says where a record is, so that several can be on their way from memory at once.
  package func prefetchPlace(_ id: RecordKey) {
    catalog.index.prefetch(catalog.index.fingerprint(of: id))
  }

  /// Begins to fetch a record that is about to be read.
  package func prefetch(_ id: RecordKey) {
    guard let place = try? catalog.index.candidate(catalog.index.fingerprint(of: id), 0) else { return }
    catalog.cache.prefetch(place.segment, at: place.offset)
  }

  /// What looking for a record gave.
  private enum Finding {
    case record(StoredRecord)
    case nothing
    case damaged(Place)
  }

  /// Reads a record's version at a place that is known to be its.
  func read(
    _ id: RecordKey, at place: Place, in segment: Segment, into buffer: inout ReadBuffer
  ) throws(JournalError) -> StoredRecord {
    let candidate = try journaling { () throws(StorageError) in
      try readCandidate(id, at: place, in: segment, into: &buffer)
    }
    if case .record(let record) = candidate { return record }
    throw Self.lost(place)
  }

  private static func lost(_ place: Place) -> JournalError {
    JournalError(
      .damaged, "the record's frame does not check", segment: place.segment, offset: place.offset)
  }

  private func find(_ id: RecordKey, into buffer: inout ReadBuffer) throws(StorageError) -> Finding {
    let fingerprint = catalog.index.fingerprint(of: id)
    var ordinal = 0
    var unreadable: Place?
    while let place = try catalog.index.candidate(fingerprint, ordinal) {
      // A tombstone is no version to read, and if it is this record's, no other candidate is the record's.
      if place.isTombstone {
        ordinal += 1
        continue
      }
      guard let segment = catalog.segments[place.segment] else {
        // Moved by compaction in between, the entry holds another place by now.
        if try catalog.index.candidate(fingerprint, ordinal) == place { ordinal += 1 }
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

  /// Whether there is such a record, and which revision it has.
  package func revision(of id: RecordKey) throws(JournalError) -> UInt64? {
    try journaling { () throws(StorageError) in
      try catalog.location(of: id).flatMap { $0.isTombstone ? nil : $0.sequence }
    }
  }

  /// What reading a candidate's frame gave.
  private enum Candidate {
    case record(StoredRecord)
    /// A frame of another id.
    case other
    /// The record's frame, which does not check.
    case damaged
    /// A frame of which not even the id can be told.
    case unreadable
  }

  private func readCandidate(
    _ id: RecordKey, at place: Place, in segment: Segment, into buffer: inout ReadBuffer
  ) throws(StorageError) -> Candidate {
    let start = try segment.readFrame(at: place.offset, into: &buffer.frame, catalog.cache)
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
    let payloadStart = start + Layout.frameHeaderByteCount
    let payload = payloadStart..<payloadStart + header.payloadByteCount
    guard buffer.frame.count >= payload.upperBound,
      let envelopeByteCount = Self.check(buffer.frame.bytes.extracting(payload), header)
    else { return .damaged }
    buffer.divide(payload, envelopeByteCount: envelopeByteCount)
    return .record(
      StoredRecord(
        id: id, collection: header.collection, revision: header.sequence,
        isPossiblyStale: header.sequence < staleBelow))
  }

  /// Checks a payload against its header.
  ///
  /// - Returns: The length of its envelope, or nothing where it does not check.
  private static func check(_ payload: RawSpan, _ header: FrameHeader) -> Int? {
    guard Checksum.of(payload) == header.payloadChecksum else { return nil }
    return header.hasEnvelope ? Envelope.byteCount(inPayload: payload) : 0
  }
}
