// A frame's header: FORMAT.md §5.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import NotelogBase

/// The 40 bytes before a frame's payload.
public struct FrameHeader: Equatable, Sendable, BitwiseCopyable {
  public var kind: FrameKind
  public var hasEnvelope: Bool
  /// Whether a record's payload ends in a seal: FORMAT.md §27.
  public var hasSeal: Bool
  public var collection: UInt16
  public var payloadByteCount: Int
  public var sequence: UInt64
  public var id: ID16
  public var payloadChecksum: UInt32

  @inlinable
  public init(
    _ kind: FrameKind, hasEnvelope: Bool = false, hasSeal: Bool = false, collection: UInt16 = 0,
    payloadByteCount: Int = 0,
    sequence: UInt64 = 0, id: ID16 = .zero, payloadChecksum: UInt32 = 0
  ) {
    self.kind = kind
    self.hasEnvelope = hasEnvelope
    self.hasSeal = hasSeal
    self.collection = collection
    self.payloadByteCount = payloadByteCount
    self.sequence = sequence
    self.id = id
    self.payloadChecksum = payloadChecksum
  }

  /// The header of a frame of the log itself, with a payload that is at hand.
  package init(_ kind: FrameKind, sequence: UInt64, of payload: RawSpan) {
    self.init(
      kind, payloadByteCount: payload.byteCount, sequence: sequence, payloadChecksum: Checksum.of(payload))
  }

  /// The bytes the whole frame takes, padding included.
  @inlinable
  public var frameByteCount: Int { aligned(Layout.frameHeaderByteCount + payloadByteCount) }

  /// The id of the record that says what all records add up to: FORMAT.md §27.
  @inlinable
  public static var stateID: ID16 { ID16(low: 0xFFFF, high: 0) }

  /// Whether it is that record's.
  @inlinable
  public var isState: Bool { id == Self.stateID }

  /// The bytes of its seal.
  @inlinable
  public var sealByteCount: Int { hasSeal ? Layout.sealByteCount : 0 }

  /// Where the body of a record's payload is: behind its envelope, and before its seal. The payload's beginning is enough for
  /// telling; nothing where it is not made like that.
  @inlinable
  public func bodyRange(in payload: RawSpan) -> Range<Int>? {
    let end = payloadByteCount - sealByteCount
    guard let start = hasEnvelope ? Envelope.byteCount(inPayload: payload) : 0, start <= end else {
      return nil
    }
    return start..<end
  }

  /// The lowest number that a transaction behind the frame can have: FORMAT.md §6, INV-R11.
  package var nextSequence: UInt64 {
    switch kind {
    case .record, .tombstone, .chunk, .liveChange, .commit, .footer: sequence + 1
    case .liveSet, .close: sequence
    }
  }

  /// Reads the header at `offset` of the bytes, which are at `place` in their segment; nothing where none
  /// was written there.
  @inlinable
  @inline(__always)
  public init?(_ bytes: RawSpan, at offset: Int, salt: SegmentSalt, place: Int) {
    guard let kind = FrameKind(rawValue: bytes.byte(at: offset)) else { return nil }
    let flags = bytes.byte(at: offset + 1)
    let payloadByteCount = Int(bytes.load(UInt32.self, at: offset + 4))
    guard flags & ~3 == 0, payloadByteCount <= kind.maximumPayloadByteCount else { return nil }
    let checksum = salt.headerChecksum(bytes.extracting(offset..<offset + 36), place: place)
    let sequence = bytes.load(UInt64.self, at: offset + 8)
    let collection = bytes.load(UInt16.self, at: offset + 2)
    guard checksum == bytes.load(UInt32.self, at: offset + 36),
      sequence <= UInt64(FormatLimits.maximumSequence),
      Int(collection) <= FormatLimits.maximumCollection
    else { return nil }
    self.init(
      kind, hasEnvelope: flags & 1 != 0, hasSeal: flags & 2 != 0, collection: collection,
      payloadByteCount: payloadByteCount,
      sequence: sequence, id: ID16(bytes, at: offset + 16),
      payloadChecksum: bytes.load(UInt32.self, at: offset + 32))
  }

  /// Writes the header at `offset` of the bytes, for the place it will have in its segment.
  @inlinable
  @inline(__always)
  public func write(into bytes: inout MutableRawSpan, at offset: Int, salt: SegmentSalt, place: Int) {
    bytes.store(kind.rawValue, at: offset)
    bytes.store(UInt8((hasEnvelope ? 1 : 0) | (hasSeal ? 2 : 0)), at: offset + 1)
    bytes.store(collection, at: offset + 2)
    bytes.store(UInt32(payloadByteCount), at: offset + 4)
    bytes.store(sequence, at: offset + 8)
    id.write(into: &bytes, at: offset + 16)
    bytes.store(payloadChecksum, at: offset + 32)
    let checksum = salt.headerChecksum(bytes.bytes.extracting(offset..<offset + 36), place: place)
    bytes.store(checksum, at: offset + 36)
  }
}

/// A segment's salt, ready to check frame headers with.
public struct SegmentSalt: Equatable, Sendable, BitwiseCopyable {
  public let value: UInt64
  /// What it contributes to every checksum.
  public let share: UInt32

  public init(_ value: UInt64) {
    self.value = value
    var checksum = Checksum()
    checksum.update(value)
    share = checksum.value
  }

  /// A salt of which only its share in the checksums is known: what salvage works out.
  @inlinable
  public init(share: UInt32) {
    value = 0
    self.share = share
  }

  /// The checksum of a header's first 36 bytes at a place of this segment.
  @inlinable
  @inline(__always)
  public func headerChecksum(_ bytes: RawSpan, place: Int) -> UInt32 {
    Checksum.of(UInt32(truncatingIfNeeded: place), bytes, after: share)
  }
}
