// Reads a segment through a window of large reads: FORMAT.md §4, §5 and §21.1.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import NotelogBase
public import NotelogStorage

/// A window over a file's bytes that moves forward as frames are read.
public struct SegmentReader: ~Copyable {
  /// How much is read at a time: larger pieces cost no fewer calls that matter, and would not stay in the
  /// processor's cache until they are looked at.
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

  /// Reads on through another window, and gives its own away: whoever reads one segment after the other needs
  /// only one. One that a long footer or record has made large is given to nobody.
  public mutating func exchangeWindow(with other: inout Buffer) {
    swap(&window, &other)
    window.removeAll()
    if other.capacity > 4 * Self.windowByteCount { other = Buffer() }
  }

  /// Reads the frame header at a place; nothing where there is none, or where its frame passes the end.
  @inlinable
  public mutating func frame(at place: Int) throws(StorageError) -> FrameHeader? {
    guard place + Layout.frameHeaderByteCount <= end else { return nil }
    try load(place..<place + Layout.frameHeaderByteCount)
    guard let header = FrameHeader(window.bytes, at: place - windowStart, salt: salt, place: place),
      header.frameByteCount <= end - place
    else { return nil }
    return header
  }

  /// The id that a frame at a place has if there is one, without a look at anything else; nothing where the
  /// place is not in memory.
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
    return header.accepts(try payload(of: header, at: place))
  }

  /// The header of the frame at a place, if there is one whose payload and envelope check.
  ///
  /// - Parameters:
  ///   - place: Where it starts.
  ///   - kind: The kind that it must have; any where nothing is given.
  /// - Returns: Nothing where no such frame starts there.
  /// - Throws: What reading throws.
  public mutating func wholeFrame(at place: Int, _ kind: FrameKind? = nil) throws(StorageError)
    -> FrameHeader?
  {
    guard let header = try frame(at: place), kind == nil || kind == header.kind,
      try isWhole(header, at: place)
    else { return nil }
    return header
  }

  /// Where the padding is of the frame at a place, if not all of it is zero.
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

// MARK: - The entries of a footer: FORMAT.md §21.1.

extension SegmentReader {
  /// What a footer says.
  package enum FooterState {
    /// All that the segment ever held.
    case complete
    /// What was left when the footer was made: frames had been lost by then.
    case incomplete
    /// Nothing: it does not check.
    case unreadable
  }

  /// Calls `body` with every entry of the footer and its envelope; with none of one that is incomplete,
  /// unless that is asked for, nor of one that does not check.
  package mutating func forEachFooterEntry(
    _ trailer: Trailer, evenIfIncomplete: Bool = false,
    _ body: (FooterEntry, RawSpan) throws(StorageError) -> Void
  ) throws(StorageError) -> FooterState {
    guard let header = try wholeFrame(at: trailer.footerOffset, .footer),
      header.payloadChecksum == trailer.footerChecksum, header.frameByteCount == trailer.footerByteCount,
      header.payloadByteCount >= Layout.footerPrefixByteCount
    else { return .unreadable }
    let payload = try payload(of: header, at: trailer.footerOffset)
    let count = Int(payload.load(UInt32.self, at: Layout.headerByteCount))
    let incompleteness = payload.load(UInt32.self, at: Layout.headerByteCount + 4)
    guard incompleteness <= 1, Self.entriesFit(payload, count: count) else { return .unreadable }
    if incompleteness == 1, !evenIfIncomplete { return .incomplete }
    var place = Layout.footerPrefixByteCount
    for _ in 0..<count {
      guard let entry = FooterEntry(payload, at: place) else { return .unreadable }
      let envelopeStart = place + Layout.footerEntryByteCount
      try body(entry, payload.extracting(envelopeStart..<envelopeStart + entry.envelopeByteCount))
      place += entry.entryByteCount
    }
    return incompleteness == 1 ? .incomplete : .complete
  }

  /// Whether that many entries fill the payload exactly.
  private static func entriesFit(_ payload: RawSpan, count: Int) -> Bool {
    var place = Layout.footerPrefixByteCount
    for _ in 0..<count {
      guard let entry = FooterEntry(payload, at: place) else { return false }
      place += entry.entryByteCount
    }
    return place == payload.byteCount
  }
}

// MARK: - What a log segment says of the whole store: the live set it begins with, the close mark it may end in. FORMAT.md §4 and §6.

extension SegmentReader {
  /// The close mark that the segment ends in; nothing where it ends otherwise.
  package mutating func closing() throws(StorageError) -> CloseMark? {
    let start = end - CloseMark.frameByteCount
    guard start > Layout.firstFrameOffset, start % 8 == 0, let header = try wholeFrame(at: start, .close),
      let mark = CloseMark(header, payload: try payload(of: header, at: start)), mark.place.offset == start
    else { return nil }
    return mark
  }

  /// The live set that the segment begins with, and where its frame ends; nothing where it isn't the one that
  /// the segment's header speaks of.
  package mutating func liveSet(of segment: SegmentHeader) throws(StorageError) -> (set: LiveSet, end: Int)? {
    let place = Layout.firstFrameOffset
    guard let header = try wholeFrame(at: place, .liveSet),
      let set = LiveSet(payload: try payload(of: header, at: place)), set.count == segment.liveCount,
      header.payloadChecksum == segment.liveChecksum
    else { return nil }
    return (set, place + header.frameByteCount)
  }

  /// Where the segment's first unit starts, or would: behind its live set, if that can be read.
  package mutating func unitsStart() throws(StorageError) -> Int {
    let place = Layout.firstFrameOffset
    guard let header = try frame(at: place), header.kind == .liveSet else { return place }
    return place + header.frameByteCount
  }
}

// MARK: - The trailer at a file's end: FORMAT.md §4.

extension Trailer {
  /// The trailer at the end of a file of that many bytes; nothing where there is none that points where a
  /// footer can be.
  package static func read(_ file: any StorageFile, byteCount: Int) throws(StorageError) -> Trailer? {
    let start = byteCount - Layout.trailerByteCount
    guard start >= Layout.firstFrameOffset else { return nil }
    var buffer = Buffer(capacity: Layout.trailerByteCount)
    try buffer.fill(Layout.trailerByteCount, from: file, at: start)
    guard let trailer = Trailer(buffer.bytes, at: 0), trailer.footerOffset >= Layout.firstFrameOffset,
      trailer.footerOffset % 8 == 0,
      trailer.footerByteCount >= Layout.frameHeaderByteCount + Layout.footerPrefixByteCount,
      trailer.footerOffset + trailer.footerByteCount == start
    else { return nil }
    return trailer
  }
}
