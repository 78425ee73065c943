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
  /// The checksum that the payload has to have, as long as nobody has looked, and where the frame is.
  private var unchecked: (checksum: UInt32, place: Place)?

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

  /// Whether the payload's checksum was looked at.
  package var isChecked: Bool { unchecked == nil }

  /// Looks at the payload's checksum, if nobody has.
  ///
  /// - Throws: `damaged`, with the place, where it doesn't hold.
  package mutating func check() throws(JournalError) {
    guard let (checksum, place) = unchecked else { return }
    guard Checksum.of(frame.bytes.extracting(envelopeRange.lowerBound..<bodyRange.upperBound)) == checksum
    else { throw JournalError(lost: place) }
    unchecked = nil
  }

  /// Takes a payload that is in memory already.
  mutating func take(_ payload: RawSpan, _ header: FrameHeader, _ envelopeByteCount: Int) -> StoredRecord {
    frame.removeAll()
    frame.append(payload)
    divide(0..<payload.byteCount, envelopeByteCount: envelopeByteCount)
    return StoredRecord(
      id: header.id, collection: header.collection, revision: header.sequence, isPossiblyStale: false)
  }

  /// Says where in the bytes the payload is, and how it divides into envelope and body, which was checked.
  mutating func divide(_ payload: Range<Int>, envelopeByteCount: Int) {
    unchecked = nil
    envelopeRange = payload.lowerBound..<payload.lowerBound + envelopeByteCount
    bodyRange = envelopeRange.upperBound..<payload.upperBound
  }

  /// The same of a record's frame that starts at an offset of the bytes, and whose payload's checksum nobody has looked at.
  ///
  /// - Returns: Nothing where it isn't all there, or has no envelope where its header says that it has one.
  mutating func divide(_ header: FrameHeader, at start: Int, from place: Place) -> Bool {
    let payloadStart = start + Layout.frameHeaderByteCount
    let payload = payloadStart..<payloadStart + header.payloadByteCount
    guard frame.count >= payload.upperBound,
      let envelopeByteCount = header.hasEnvelope
        ? Envelope.byteCount(inPayload: frame.bytes.extracting(payload)) : 0
    else { return false }
    divide(payload, envelopeByteCount: envelopeByteCount)
    unchecked = (header.payloadChecksum, place)
    return true
  }
}

extension JournalError {
  /// A record's frame does not check.
  init(lost place: Place) {
    self.init(.damaged, "the record's frame does not check", segment: place.segment, offset: place.offset)
  }
}

extension Journal {
  /// Reads a record's newest version.
  ///
  /// - Returns: Nothing where there is no such record.
  /// - Throws: `damaged`, with the place, where its frame does not check.
  package func read(_ id: RecordKey, into buffer: inout ReadBuffer) throws(JournalError) -> StoredRecord? {
    try records.read(id, into: &buffer)
  }

  /// Whether there is such a record, and which revision it has.
  package func revision(of id: RecordKey) throws(JournalError) -> UInt64? {
    try journaling { () throws(StorageError) in
      try catalog.location(of: id).flatMap { $0.isTombstone ? nil : $0.sequence }
    }
  }
}
