// A finished segment's footer and trailer: FORMAT.md §4.

/// A frame as a footer lists it. Its envelope, if any, follows it there.
package struct FooterEntry: Equatable, Sendable {
  package var kind: FrameKind
  package var hasEnvelope: Bool
  package var collection: UInt16
  package var offset: Int
  package var payloadByteCount: Int
  package var envelopeByteCount: Int
  package var sequence: UInt64
  package var id: RecordKey
  /// Of a chunk whose payload checked when it was listed, its number.
  package var chunk: ChunkMark?

  /// The bytes of the whole frame, padding included.
  package var frameByteCount: Int { aligned(Layout.frameHeaderByteCount + payloadByteCount) }
  /// The bytes the entry takes in the footer.
  package var entryByteCount: Int { Layout.footerEntryByteCount + envelopeByteCount }

  init(_ header: FrameHeader, offset: Int, envelopeByteCount: Int) {
    kind = header.kind
    hasEnvelope = header.hasEnvelope
    collection = header.collection
    self.offset = offset
    payloadByteCount = header.payloadByteCount
    self.envelopeByteCount = envelopeByteCount
    sequence = header.sequence
    id = header.id
  }

  /// Reads the entry at an offset; nothing where it is not one or passes the bytes' end.
  init?(_ bytes: RawSpan, at start: Int) {
    guard bytes.byteCount - start >= Layout.footerEntryByteCount,
      let kind = FrameKind(rawValue: bytes.load(UInt8.self, at: start)), kind.isContent,
      bytes.load(UInt64.self, at: start + 16) <= UInt64(Limits.maximumSequence)
    else { return nil }
    let flags = bytes.load(UInt8.self, at: start + 1)
    self.kind = kind
    hasEnvelope = flags & 1 != 0
    collection = bytes.load(UInt16.self, at: start + 2)
    offset = Int(bytes.load(UInt32.self, at: start + 4))
    payloadByteCount = Int(bytes.load(UInt32.self, at: start + 8))
    envelopeByteCount = Int(bytes.load(UInt32.self, at: start + 12))
    sequence = bytes.load(UInt64.self, at: start + 16)
    id = RecordKey(bytes, at: start + 24)
    // An entry is a place in the index, which only takes those where a frame can be.
    guard offset.isMultiple(of: 8), offset >= Layout.firstFrameOffset,
      offset <= Limits.maximumSegmentByteCount - frameByteCount
    else { return nil }
    guard flags & ~1 == 0, payloadByteCount <= kind.maximumPayloadByteCount,
      envelopeByteCount <= min(payloadByteCount, Limits.maximumEnvelopeByteCount),
      envelopeByteCount <= bytes.byteCount - start - Layout.footerEntryByteCount
    else { return nil }
    guard kind == .chunk else { return }
    guard envelopeByteCount == 0 || envelopeByteCount == ChunkMark.byteCount else { return nil }
    chunk = ChunkMark(bytes.extracting(start + Layout.footerEntryByteCount..<start + entryByteCount))
  }

  /// Appends the entry and the envelope it was given.
  func append(to buffer: inout Buffer, envelope: RawSpan) {
    precondition(envelope.byteCount == envelopeByteCount, "an entry is written with its own envelope")
    let start = buffer.count
    buffer.appendZeros(Layout.footerEntryByteCount)
    var bytes = buffer.mutableBytes
    bytes.store(kind.rawValue, at: start)
    bytes.store(UInt8(hasEnvelope ? 1 : 0), at: start + 1)
    bytes.store(collection, at: start + 2)
    bytes.store(UInt32(offset), at: start + 4)
    bytes.store(UInt32(payloadByteCount), at: start + 8)
    bytes.store(UInt32(envelopeByteCount), at: start + 12)
    bytes.store(sequence, at: start + 16)
    id.write(into: &bytes, at: start + 24)
    buffer.append(envelope)
  }
}

/// The last 24 bytes of a finished segment.
struct Trailer: Equatable, Sendable {
  static let magic: UInt64 = 0x894E_4C4F_470D_0A1A

  var footerOffset: Int
  var footerByteCount: Int
  var footerChecksum: UInt32

  init(footerOffset: Int, footerByteCount: Int, footerChecksum: UInt32) {
    self.footerOffset = footerOffset
    self.footerByteCount = footerByteCount
    self.footerChecksum = footerChecksum
  }

  /// Reads the trailer at an offset; nothing where there is none.
  init?(_ bytes: RawSpan, at start: Int) {
    guard bytes.byteCount - start >= Layout.trailerByteCount,
      bytes.load(UInt64.self, at: start + 16) == Self.magic,
      bytes.load(UInt32.self, at: start + 12) == Checksum.of(bytes.extracting(start..<start + 12))
    else { return nil }
    footerOffset = Int(bytes.load(UInt32.self, at: start))
    footerByteCount = Int(bytes.load(UInt32.self, at: start + 4))
    footerChecksum = bytes.load(UInt32.self, at: start + 8)
  }

  func append(to buffer: inout Buffer) {
    let start = buffer.count
    buffer.appendZeros(Layout.trailerByteCount)
    var bytes = buffer.mutableBytes
    bytes.store(UInt32(footerOffset), at: start)
    bytes.store(UInt32(footerByteCount), at: start + 4)
    bytes.store(footerChecksum, at: start + 8)
    bytes.store(Checksum.of(bytes.bytes.extracting(start..<start + 12)), at: start + 12)
    bytes.store(Self.magic, at: start + 16)
  }
}
