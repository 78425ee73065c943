// A finished segment's footer and trailer: FORMAT.md §4 and §21.1.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import NotelogBase

/// A frame as a footer lists it. Its envelope, if any, follows it there.
public struct FooterEntry: Equatable, Sendable {
  public var kind: FrameKind
  public var collection: UInt16
  public var offset: Int
  public var payloadByteCount: Int
  public var envelopeByteCount: Int
  public var sequence: UInt64
  public var id: ID16
  /// Of a chunk whose payload checked when it was listed, its number.
  public var chunk: ChunkMark?

  /// The bytes of the whole frame, padding included.
  @inlinable
  public var frameByteCount: Int { aligned(Layout.frameHeaderByteCount + payloadByteCount) }
  /// The bytes the entry takes in the footer.
  @inlinable
  public var entryByteCount: Int { Layout.footerEntryByteCount + envelopeByteCount }

  @inlinable
  public init(_ header: FrameHeader, offset: Int, envelopeByteCount: Int) {
    kind = header.kind
    collection = header.collection
    self.offset = offset
    payloadByteCount = header.payloadByteCount
    self.envelopeByteCount = envelopeByteCount
    sequence = header.sequence
    id = header.id
  }

  /// A frame whose payload checks, with what a footer keeps of that.
  public init(_ header: FrameHeader, offset: Int, payload: RawSpan) {
    self.init(header, offset: offset, envelopeByteCount: header.listedByteCount(inPayload: payload))
    if kind == .chunk { chunk = ChunkMark(payload) }
  }

  /// How an entry's 32 bits of place are divided: the offset by 8, then the kind, then whether an envelope
  /// follows.
  @inlinable static var offsetMask: UInt32 { 1 << 28 - 1 }
  @inlinable static var kindShift: UInt32 { 28 }
  @inlinable static var kindMask: UInt32 { 3 }
  @inlinable static var envelopeFlag: UInt32 { 1 << 30 }
  @inlinable static var reservedFlag: UInt32 { 1 << 31 }

  /// The sequence number's bits; the collection's are above them.
  @inlinable static var sequenceBitCount: UInt64 { 48 }

  /// Reads the entry at an offset; nothing where it is not one or passes the bytes' end.
  @inlinable
  @inline(__always)
  public init?(_ bytes: RawSpan, at start: Int) {
    guard bytes.byteCount - start >= Layout.footerEntryByteCount else { return nil }
    // Of known length: where in it something is read needs no look at bounds.
    let line = bytes.extracting(start..<start + Layout.footerEntryByteCount)
    let place = line.load(UInt32.self, at: 8)
    guard place & Self.reservedFlag == 0,
      let kind = FrameKind(rawValue: UInt8(place >> Self.kindShift & Self.kindMask))
    else { return nil }
    self.kind = kind
    let stamp = line.load(UInt64.self, at: 0)
    collection = UInt16(stamp >> Self.sequenceBitCount)
    sequence = stamp & UInt64(FormatLimits.maximumSequence)
    offset = Int(place & Self.offsetMask) * 8
    payloadByteCount = Int(line.load(UInt32.self, at: 12))
    id = ID16(line, at: 16)
    envelopeByteCount = 0
    // An entry is a place in the index, which only takes those where a frame can be.
    guard payloadByteCount <= kind.maximumPayloadByteCount, Int(collection) <= FormatLimits.maximumCollection,
      offset >= Layout.firstFrameOffset,
      offset <= FormatLimits.maximumSegmentByteCount - frameByteCount
    else { return nil }
    guard place & Self.envelopeFlag != 0 else { return }
    let listed = bytes.extracting(droppingFirst: start + Layout.footerEntryByteCount)
    guard let byteCount = kind.listedByteCount(listed), byteCount <= min(payloadByteCount, listed.byteCount)
    else { return nil }
    envelopeByteCount = byteCount
    if kind == .chunk { chunk = ChunkMark(listed) }
  }

  /// Appends the entry and the envelope it was given.
  public func append(to buffer: inout Buffer, envelope: RawSpan) {
    precondition(envelope.byteCount == envelopeByteCount, "an entry is written with its own envelope")
    let place =
      UInt32(offset / 8) | UInt32(kind.rawValue) << Self.kindShift
      | (envelopeByteCount > 0 ? Self.envelopeFlag : 0)
    buffer.append(
      UInt64(collection) << Self.sequenceBitCount | sequence, UInt64(place) | UInt64(payloadByteCount) << 32,
      id.low, id.high)
    if envelopeByteCount > 0 { buffer.append(envelope) }
  }
}

extension FrameKind {
  /// How many of the bytes behind an entry belong to it: of a record its envelope, which says so itself, of a
  /// chunk its mark.
  @inlinable
  func listedByteCount(_ bytes: RawSpan) -> Int? {
    switch self {
    case .record:
      guard bytes.byteCount >= Envelope.minimumByteCount else { return nil }
      let byteCount = Int(bytes.load(UInt16.self, at: 0))
      return byteCount >= Envelope.minimumByteCount ? byteCount : nil
    case .chunk: return ChunkMark.byteCount
    case .tombstone, .liveChange, .commit, .liveSet, .close, .footer: return nil
    }
  }
}

/// The last 24 bytes of a finished segment.
package struct Trailer: Equatable, Sendable {
  package static let magic: UInt64 = 0x894E_4C4F_470D_0A1A

  package var footerOffset: Int
  package var footerByteCount: Int
  package var footerChecksum: UInt32
}

extension Trailer {
  /// Reads the trailer at an offset; nothing where there is none.
  package init?(_ bytes: RawSpan, at start: Int) {
    guard bytes.byteCount - start >= Layout.trailerByteCount,
      bytes.load(UInt64.self, at: start + 16) == Self.magic,
      bytes.load(UInt32.self, at: start + 12) == Checksum.of(bytes.extracting(start..<start + 12))
    else { return nil }
    footerOffset = Int(bytes.load(UInt32.self, at: start))
    footerByteCount = Int(bytes.load(UInt32.self, at: start + 4))
    footerChecksum = bytes.load(UInt32.self, at: start + 8)
  }

  package func append(to buffer: inout Buffer) {
    let start = buffer.appendZeros(Layout.trailerByteCount)
    var bytes = buffer.mutableBytes
    bytes.store(UInt32(footerOffset), at: start)
    bytes.store(UInt32(footerByteCount), at: start + 4)
    bytes.store(footerChecksum, at: start + 8)
    bytes.store(Checksum.of(bytes.bytes.extracting(start..<start + 12)), at: start + 12)
    bytes.store(Self.magic, at: start + 16)
  }
}
