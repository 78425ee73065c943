// Reads a segment's frames in order, through a window of large reads.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import NotelogBase
public import NotelogStorage

/// A window over a file's bytes that moves forward as frames are read.
public struct SegmentReader: ~Copyable {
  /// How much is read at a time: larger pieces cost no fewer calls that matter, and would not stay in the processor's cache
  /// until they are looked at.
  @inlinable public static var windowByteCount: Int { 256 << 10 }

  public let file: any StorageFile
  public let salt: SegmentSalt
  /// Where reading ends: the file's length, or less.
  public let end: Int
  @usableFromInline var window = Buffer()
  @usableFromInline var windowStart = 0

  public init(_ file: any StorageFile, salt: SegmentSalt, end: Int) {
    self.file = file
    self.salt = salt
    self.end = end
  }

  /// Reads on through another window, and gives its own away: whoever reads one segment after the other needs only one. One
  /// that a long footer or record has made large is given to nobody.
  public mutating func exchangeWindow(with other: inout Buffer) {
    swap(&window, &other)
    window.removeAll()
    if other.capacity > 4 * Self.windowByteCount { other = Buffer() }
  }

  /// What stands at a place.
  public enum Reading {
    /// Fewer bytes than a frame header are left.
    case end
    case zero
    case invalid
    case frame(FrameHeader)
  }

  /// Reads the frame header at a place; a frame that passes the end is invalid.
  @inlinable
  public mutating func frame(at place: Int) throws(StorageError) -> Reading {
    guard place + Layout.frameHeaderByteCount <= end else { return .end }
    try load(place..<place + Layout.frameHeaderByteCount)
    switch FrameHeader.read(window.bytes, at: place - windowStart, salt: salt, place: place) {
    case .zero: return .zero
    case .invalid: return .invalid
    case .header(let header): return header.frameByteCount <= end - place ? .frame(header) : .invalid
    }
  }

  /// The id that a frame at a place has if there is one, without a look at anything else; nothing where the place is not
  /// in memory.
  @inlinable
  public func idAhead(at place: Int) -> ID16? {
    let start = place - windowStart
    guard start >= 0, start + Layout.frameHeaderByteCount <= window.count else { return nil }
    return ID16(window.bytes, at: start + 16)
  }

  /// The payload of the frame at a place, until the next read.
  @inlinable
  @_lifetime(&self)
  public mutating func payload(of header: FrameHeader, at place: Int) throws(StorageError) -> RawSpan {
    let start = place + Layout.frameHeaderByteCount
    return try bytes(start..<start + header.payloadByteCount)
  }

  /// Bytes that lie within the end, until the next read.
  @inlinable
  @_lifetime(&self)
  public mutating func bytes(_ range: Range<Int>) throws(StorageError) -> RawSpan {
    try load(range)
    return window.bytes.extracting(range.lowerBound - windowStart..<range.upperBound - windowStart)
  }

  /// Whether payload and envelope of the frame at a place are what its header says.
  @inlinable
  public mutating func isWhole(_ header: FrameHeader, at place: Int) throws(StorageError) -> Bool {
    try load(place..<place + header.frameByteCount)
    let frame = window.bytes.extracting(place - windowStart..<place - windowStart + header.frameByteCount)
    let payloadEnd = Layout.frameHeaderByteCount + header.payloadByteCount
    let payload = frame.extracting(Layout.frameHeaderByteCount..<payloadEnd)
    return Checksum.of(payload) == header.payloadChecksum
      && (!header.hasEnvelope || Envelope.byteCount(inPayload: payload) != nil)
      && (header.kind.beginning != .chunkMark || ChunkMark(payload) != nil)
  }

  /// Where the padding is of the frame at a place, if not all of it is zero.
  @inlinable
  public mutating func brokenPadding(_ header: FrameHeader, at place: Int) throws(StorageError) -> Range<
    Int
  >? {
    let end = place + header.frameByteCount
    let padding = place + Layout.frameHeaderByteCount + header.payloadByteCount..<end
    if padding.isEmpty { return nil }
    // It is the highest bytes of the last word, and never all of it.
    let last = try bytes(end - 8..<end).load(UInt64.self, at: 0)
    return last >> UInt64(8 * (padding.lowerBound & 7)) == 0 ? nil : padding
  }

  /// The first place at or after `place` where a frame header checks, and that header; nothing up to the end.
  public mutating func nextFrame(from place: Int) throws(StorageError) -> (place: Int, header: FrameHeader)? {
    var place = aligned(place)
    while true {
      switch try frame(at: place) {
      case .end: return nil
      case .frame(let header): return (place, header)
      case .zero, .invalid: place += 8
      }
    }
  }

  /// Whether every byte from a place to the end, or to a place before it, is zero.
  public mutating func isZero(from place: Int, to limit: Int? = nil) throws(StorageError) -> Bool {
    let limit = limit ?? end
    for start in stride(from: place, to: limit, by: Self.windowByteCount) {
      if try !bytes(start..<min(limit, start + Self.windowByteCount)).isZero { return false }
    }
    return true
  }

  /// Sees to it that the window holds a range that lies within the end.
  @inlinable
  mutating func load(_ range: Range<Int>) throws(StorageError) {
    if range.lowerBound >= windowStart, range.upperBound <= windowStart + window.count { return }
    try move(to: range)
  }

  @usableFromInline mutating func move(to range: Range<Int>) throws(StorageError) {
    precondition(range.upperBound <= end, "a segment is read within its end")
    let wanted = min(end, range.lowerBound + max(Self.windowByteCount, range.count))
    windowStart = range.lowerBound
    window.removeAll()
    let count = try window.fill(wanted - range.lowerBound, from: file, at: range.lowerBound)
    // The file got shorter than it was when it was measured.
    if count < range.count { throw StorageError(.read, file.name, errno: SystemErrno.inputOutput) }
  }
}
