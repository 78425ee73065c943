// What a chunk's frame says of it before the sealed bytes: FORMAT.md §8.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import NotelogBase

/// A chunk's number, and whether it ends its value. A footer keeps it where it keeps a record's envelope.
public struct ChunkMark: Equatable, Sendable, BitwiseCopyable {
  public static let byteCount = 8

  public let number: UInt32
  public let isLast: Bool

  @inlinable
  public init(_ number: UInt32, isLast: Bool) {
    self.number = number
    self.isLast = isLast
  }

  /// Reads what a chunk's payload begins with; nothing where that can't be one.
  @inlinable
  public init?(_ bytes: RawSpan) {
    guard bytes.byteCount >= Self.byteCount, bytes.load(UInt32.self, at: 4) <= 1,
      bytes.load(UInt32.self, at: 0) < FormatLimits.maximumChunks
    else { return nil }
    number = bytes.load(UInt32.self, at: 0)
    isLast = bytes.load(UInt32.self, at: 4) == 1
  }

  @inlinable
  @_lifetime(bytes: copy bytes)
  public func write(into bytes: inout MutableRawSpan, at offset: Int) {
    bytes.store(number, at: offset)
    bytes.store(isLast ? 1 : 0 as UInt32, at: offset + 4)
  }
}

extension FrameHeader {
  /// How many bytes of a payload that checks a footer keeps: of a record its envelope, of a chunk its mark.
  @inlinable
  public func listedByteCount(inPayload payload: RawSpan) -> Int {
    switch kind.beginning {
    case .envelope: hasEnvelope ? Envelope.byteCount(inPayload: payload) ?? 0 : 0
    case .chunkMark: ChunkMark(payload) == nil ? 0 : ChunkMark.byteCount
    case .nothing: 0
    }
  }
}
