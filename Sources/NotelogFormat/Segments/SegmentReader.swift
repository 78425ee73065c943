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

// MARK: - Bytes of a segment in which frames were and none can be read: what their neighbours say of them. FORMAT.md §12.

/// A gap between the frames of a segment.
package struct LostBytes: Sendable {
  package let range: Range<Int>
  /// The frames before and behind it; nothing where the gap is the first thing, or the last.
  package let previous: FrameHeader?
  package let next: FrameHeader?

  package init(range: Range<Int>, previous: FrameHeader?, next: FrameHeader?) {
    (self.range, self.previous, self.next) = (range, previous, next)
  }

  /// Whether a record, a deletion or a chunk may have been in it. In a segment of the log the neighbours can tell that nothing was
  /// lost but a mark, which no record depends on once it is below the floor.
  package func mayHoldContent(in kind: SegmentKind) -> Bool {
    guard kind.isLog, let previous else { return true }
    let markByteCount = previous.kind.isInTransaction ? CommitMark.byteCount : CloseMark.byteCount
    guard range.count == aligned(Layout.frameHeaderByteCount + markByteCount) else { return true }
    if previous.kind.isInTransaction {
      // The transaction ends in the gap if another unit follows: then the gap is its mark, and has no room for more.
      return next.map { $0.kind == .commit || $0.sequence == previous.sequence } ?? false
    }
    // Between units, it is a close mark, unless the next frame may belong to a transaction that begins in the gap.
    return next.map { $0.kind == .commit || $0.kind.isInTransaction } ?? false
  }

  /// The highest sequence number that a frame in it can have had; nothing where its neighbours don't tell.
  package func highestSequence(in kind: SegmentKind) -> UInt64? { kind.isLog ? next?.sequence : nil }
}

// MARK: - Lists a segment's record, tombstone and chunk frames: from its footer, or from the frames themselves.

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

  /// Calls `body` with every entry of the footer and its envelope; with none of one that is incomplete, unless that is asked
  /// for, nor of one that does not check.
  package mutating func forEachFooterEntry(
    _ trailer: Trailer, evenIfIncomplete: Bool = false,
    _ body: (FooterEntry, RawSpan) throws(StorageError) -> Void
  ) throws(StorageError) -> FooterState {
    guard let header = try footerHeader(trailer), try isWhole(header, at: trailer.footerOffset) else {
      return .unreadable
    }
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

  /// The header of the footer that a trailer speaks of, if there is one.
  private mutating func footerHeader(_ trailer: Trailer) throws(StorageError) -> FrameHeader? {
    guard case .frame(let header) = try frame(at: trailer.footerOffset), header.kind == .footer,
      header.payloadChecksum == trailer.footerChecksum, header.frameByteCount == trailer.footerByteCount,
      header.payloadByteCount >= Layout.footerPrefixByteCount
    else { return nil }
    return header
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

  /// What listing the frames of a range came upon.
  package enum Finding {
    /// A content frame; the envelope is empty where it has none or its payload does not check.
    case content(FooterEntry, isWhole: Bool)
    /// Bytes in which no frame could be read.
    case lost(LostBytes)
  }

  /// Calls `body` with every content frame from a place up to a limit, below which everything did happen.
  ///
  /// Payloads are read and checked where that is asked for, or where an envelope has to be found in one.
  ///
  /// - Returns: Where it ended: at the limit, or where the footer's frame begins.
  @discardableResult
  package mutating func forEachContentFrame(
    from start: Int, to limit: Int, checkingPayloads: Bool,
    _ body: (Finding, RawSpan) throws(StorageError) -> Void
  ) throws(StorageError) -> Int {
    var place = start
    var previous: FrameHeader?
    while place < limit {
      guard case .frame(let header) = try frame(at: place), header.frameByteCount <= limit - place else {
        let next = try nextFrame(from: place + 8)
        let end = min(next?.place ?? limit, limit)
        let lost = LostBytes(range: place..<end, previous: previous, next: end < limit ? next?.header : nil)
        try body(.lost(lost), RawSpan())
        place = end
        continue
      }
      if header.kind == .footer { return place }
      if header.kind.isContent {
        let needsPayload =
          checkingPayloads || header.hasEnvelope || header.kind.beginning == .chunkMark
        let isWhole = needsPayload ? try isWhole(header, at: place) : true
        if needsPayload, isWhole {
          let payload = try payload(of: header, at: place)
          let entry = FooterEntry(header, offset: place, payload: payload)
          try body(.content(entry, isWhole: true), payload.extracting(first: entry.envelopeByteCount))
        } else {
          let entry = FooterEntry(header, offset: place, envelopeByteCount: 0)
          try body(.content(entry, isWhole: isWhole), RawSpan())
        }
      }
      previous = header
      place += header.frameByteCount
    }
    return place
  }
}

// MARK: - Reads units, transactions and close marks, with every check: FORMAT.md §6, and §12 above the floor.

/// A transaction's place in its segment.
package struct TransactionRange: Equatable, Sendable {
  package let sequence: UInt64
  /// Where its first frame starts.
  package let start: Int
  /// Where its commit mark starts.
  package let markStart: Int
  /// Where the next unit starts.
  package let end: Int
  package let mark: CommitMark
}

extension SegmentReader {
  /// What stands at a place where a unit may start.
  package enum Unit {
    case transaction(TransactionRange)
    case close(CloseMark, end: Int)
    /// The footer's frame, whole.
    case footer(FrameHeader, end: Int)
    /// Nothing but zeros, or nothing at all, up to the end.
    case nothing
    /// Something that is not whole.
    case broken
  }

  /// Reads the unit at a place, payloads and padding included.
  package mutating func unit(at start: Int) throws(StorageError) -> Unit {
    var place = start
    var sequence: UInt64?
    var frameCount = 0
    while true {
      switch try frame(at: place) {
      case .invalid: return .broken
      case .end, .zero:
        guard place == start else { return .broken }
        return try isZero(from: place) ? .nothing : .broken
      case .frame(let header):
        // Nobody acknowledged it yet: any byte that is not what was written tells a write that was torn.
        guard try isWhole(header, at: place), try brokenPadding(header, at: place) == nil else {
          return .broken
        }
        let end = place + header.frameByteCount
        switch header.kind {
        case .record, .tombstone, .chunk, .liveChange:
          guard sequence == nil || sequence == header.sequence else { return .broken }
          sequence = header.sequence
          frameCount += 1
          place = end
        case .commit:
          guard let mark = CommitMark(payload: try payload(of: header, at: place)),
            sequence == header.sequence, mark.frameCount == frameCount, mark.firstOffset == start
          else { return .broken }
          return .transaction(
            TransactionRange(
              sequence: header.sequence, start: start, markStart: place, end: end, mark: mark))
        case .close:
          guard frameCount == 0, let mark = CloseMark(payload: try payload(of: header, at: place)),
            mark.place.offset == place
          else { return .broken }
          return .close(mark, end: end)
        case .footer:
          return frameCount == 0 ? .footer(header, end: end) : .broken
        case .liveSet:
          return .broken
        }
      }
    }
  }
}

// MARK: - What a log segment says of the whole store: the live set it begins with, the close mark it may end in, and the floor that its marks name. FORMAT.md §4, §6 and §12.

/// A close mark that a segment ends in.
package struct Closing {
  package let mark: CloseMark
  /// Where its frame lies.
  package let range: Range<Int>
  /// The number that the next transaction gets.
  package let nextSequence: UInt64
}

extension SegmentReader {
  /// The close mark that the segment ends in; nothing where it ends otherwise.
  package mutating func closing() throws(StorageError) -> Closing? {
    let start = end - aligned(Layout.frameHeaderByteCount + CloseMark.byteCount)
    guard start > Layout.firstFrameOffset, start % 8 == 0, case .frame(let header) = try frame(at: start),
      header.kind == .close, try isWhole(header, at: start),
      let mark = CloseMark(payload: try payload(of: header, at: start)), mark.place.offset == start
    else { return nil }
    return Closing(mark: mark, range: start..<end, nextSequence: header.sequence)
  }

  /// The position that a frame names as the floor of its time; nothing where it is no witness or does not check.
  package mutating func witness(
    _ header: FrameHeader, at place: Int
  ) throws(StorageError) -> LogPosition? {
    switch header.kind {
    case .commit:
      guard try isWhole(header, at: place) else { return nil }
      return CommitMark(payload: try payload(of: header, at: place))?.floor
    case .close:
      guard try isWhole(header, at: place) else { return nil }
      let named = CloseMark(payload: try payload(of: header, at: place))?.place
      return named?.offset == place ? named : nil
    case .record, .tombstone, .chunk, .liveChange, .liveSet, .footer:
      return nil
    }
  }

  /// The live set that the segment begins with, and where its frame ends; nothing where it isn't the one that the
  /// segment's header speaks of.
  package mutating func liveSet(of segment: SegmentHeader) throws(StorageError) -> (set: LiveSet, end: Int)? {
    let place = Layout.firstFrameOffset
    guard case .frame(let header) = try frame(at: place), header.kind == .liveSet,
      try isWhole(header, at: place),
      let set = LiveSet(payload: try payload(of: header, at: place)), set.count == segment.liveCount,
      header.payloadChecksum == segment.liveChecksum
    else { return nil }
    return (set, place + header.frameByteCount)
  }

  /// Where the segment's first unit starts, or would: behind its live set, if that can be read.
  package mutating func unitsStart() throws(StorageError) -> Int {
    let place = Layout.firstFrameOffset
    guard case .frame(let header) = try frame(at: place), header.kind == .liveSet else { return place }
    return place + header.frameByteCount
  }

  /// Applies the live changes that begin between two places, past anything broken.
  package mutating func applyLiveChanges(
    to live: inout LiveSet, from start: Int, to limit: Int
  ) throws(StorageError) {
    var changes = LiveChanges(of: live)
    var place = start
    while let (next, header) = try nextFrame(from: place), next < limit {
      if header.kind == .liveChange, try isWhole(header, at: next),
        let change = LiveChange(payload: try payload(of: header, at: next))
      {
        changes.add(change)
      }
      place = next + header.frameByteCount
    }
    live = changes.result
  }
}

// MARK: - The trailer at a file's end: FORMAT.md §4.

extension Trailer {
  /// The trailer at the end of a file of that many bytes; nothing where there is none that points where a footer can be.
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
