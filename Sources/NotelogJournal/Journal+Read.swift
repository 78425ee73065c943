// Reading one record: FORMAT.md §5.

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
    while true {
      guard let location = catalog.index.location(of: id), !location.isTombstone else { return nil }
      // Compaction may take the segment away between the two look-ups; then the record has moved.
      guard let segment = catalog.segments[location.segment] else {
        if catalog.index.location(of: id) == location { throw Self.lost(id, location) }
        continue
      }
      return try read(id, at: location, in: segment, into: &buffer)
    }
  }

  /// The ids of a collection's records, or of all records, in order of id.
  package func records(in collection: UInt16? = nil) -> [RecordKey] {
    catalog.index.records(in: collection).map(\.id)
  }

  /// Whether there is such a record, and which revision it has.
  package func revision(of id: RecordKey) -> UInt64? {
    catalog.index.location(of: id).flatMap { $0.isTombstone ? nil : $0.sequence }
  }

  private func read(
    _ id: RecordKey, at location: Location, in segment: Segment, into buffer: inout ReadBuffer
  ) throws(JournalError) -> StoredRecord {
    let place = Int(location.offset)
    buffer.frame.removeAll()
    do { try buffer.frame.fill(location.frameByteCount, from: segment.file, at: place) } catch {
      throw JournalError(error)
    }
    guard buffer.frame.count == location.frameByteCount,
      case .header(let header) = FrameHeader.read(buffer.frame.bytes, at: 0, salt: segment.salt, place: place),
      header.id == id, header.kind == .record, header.sequence == location.sequence,
      header.payloadByteCount == Int(location.payloadByteCount)
    else { throw Self.lost(id, location) }
    let payload = Layout.frameHeaderByteCount..<Layout.frameHeaderByteCount + header.payloadByteCount
    guard let envelopeByteCount = Self.check(buffer.frame.bytes.extracting(payload), header) else {
      throw Self.lost(id, location)
    }
    buffer.divide(payload, envelopeByteCount: envelopeByteCount)
    return StoredRecord(
      id: id, collection: header.collection, revision: header.sequence,
      isPossiblyStale: header.sequence < staleBelow)
  }

  /// Checks a payload against its header.
  ///
  /// - Returns: The length of its envelope, or nothing where it does not check.
  private static func check(_ payload: RawSpan, _ header: FrameHeader) -> Int? {
    guard Checksum.of(payload) == header.payloadChecksum else { return nil }
    return header.hasEnvelope ? Envelope.byteCount(inPayload: payload) : 0
  }

  private static func lost(_ id: RecordKey, _ location: Location) -> JournalError {
    JournalError(
      .damaged, "the record's frame does not check", segment: location.segment, offset: Int(location.offset))
  }
}
