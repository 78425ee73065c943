// Goes through a segment frame by frame, or unit by unit: FORMAT.md §5, §6 and §12.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import NotelogBase
public import NotelogStorage

/// Goes from frame to frame of a segment, past bytes in which no header checks.
///
/// It checks headers. Whether a payload checks, or padding is zero, is asked of the reader, for the frame at
/// `place`.
public struct SegmentWalk: ~Copyable {
  public var reader: SegmentReader
  @usableFromInline var current: Int
  @usableFromInline var following: Int
  @usableFromInline var header: FrameHeader?
  @usableFromInline var gap: LostBytes?

  /// Begins at a place of a file; no frame counts that ends behind `end`.
  @inlinable
  public init(
    _ file: any StorageFile, salt: SegmentSalt, end: Int, from start: Int = Layout.firstFrameOffset
  ) {
    reader = SegmentReader(file, salt: salt, end: end)
    (current, following) = (start, start)
  }

  /// Where the frame starts that the walk came to last. Where there was none any more: the end.
  @inlinable public var place: Int { current }
  /// Where that frame ends, and the walk goes on.
  @inlinable public var next: Int { following }
  /// The bytes before that frame, or before the end, in which no header checks; nothing where there are none.
  @inlinable public var lost: LostBytes? { gap }

  /// Goes to the next frame whose header checks.
  ///
  /// - Returns: Its header; nothing where there is none any more.
  @inlinable
  public mutating func advance() throws(StorageError) -> FrameHeader? {
    let start = following
    guard let header = try reader.frame(at: start) else { return try search(from: start) }
    gap = nil
    self.header = header
    current = start
    following = start + header.frameByteCount
    return header
  }

  /// Looks for a header that checks at each multiple of 8 behind a place.
  @usableFromInline mutating func search(from start: Int) throws(StorageError) -> FrameHeader? {
    let previous = header
    header = nil
    current = aligned(start + 1)
    while header == nil, current < reader.end {
      header = try reader.frame(at: current)
      if header == nil { current += 8 }
    }
    if header == nil { current = max(start, reader.end) }
    following = current + (header?.frameByteCount ?? 0)
    // What stands before a footer was the last of the frames.
    let behind = header?.kind == .footer ? nil : header
    gap = start < reader.end ? LostBytes(range: start..<current, previous: previous, next: behind) : nil
    return header
  }

  /// Goes on at another place.
  public mutating func go(to place: Int) {
    (current, following) = (place, place)
    (header, gap) = (nil, nil)
  }

  /// The content frame that the walk came to, as a footer lists it. Its payload is checked where that is
  /// asked for, or where a footer keeps some of it.
  ///
  /// - Parameters:
  ///   - header: The frame's header.
  ///   - checkingPayload: Whether the payload is checked anyway.
  /// - Returns: The entry, without an envelope where the payload does not check; whether the payload checks,
  ///   as far as it was looked at.
  /// - Throws: What reading throws.
  @inlinable
  public mutating func entry(
    of header: FrameHeader, checkingPayload: Bool = false
  ) throws(StorageError) -> (entry: FooterEntry, isWhole: Bool) {
    guard checkingPayload || header.hasEnvelope || header.kind == .chunk else {
      return (FooterEntry(header, offset: current, envelopeByteCount: 0), true)
    }
    guard try reader.isWhole(header, at: current) else {
      return (FooterEntry(header, offset: current, envelopeByteCount: 0), false)
    }
    return (FooterEntry(header, offset: current, payload: try reader.payload(of: header, at: current)), true)
  }

  /// What a footer keeps of the payload of the frame that the walk came to, until the next read.
  @_lifetime(&self)
  public mutating func envelope(of entry: FooterEntry) throws(StorageError) -> RawSpan {
    let start = entry.offset + Layout.frameHeaderByteCount
    return try reader.bytes(start..<start + entry.envelopeByteCount)
  }
}

extension FrameHeader {
  /// Whether a payload is what the header says: checksum, envelope, and what a chunk begins with.
  @inlinable
  public func accepts(_ payload: RawSpan) -> Bool {
    Checksum.of(payload) == payloadChecksum
      && (!hasEnvelope && !hasSeal || bodyRange(in: payload) != nil)
      && (kind != .chunk || ChunkMark(payload) != nil)
  }
}

// MARK: - Bytes of a segment in which frames were and none can be read: what their neighbours say of them. FORMAT.md §12.

/// A gap between the frames of a segment.
public struct LostBytes: Sendable {
  public let range: Range<Int>
  /// The frames before and behind it; nothing where the gap is the first thing, or the last before the
  /// footer.
  public let previous: FrameHeader?
  public let next: FrameHeader?

  /// Whether a record, a deletion or a chunk may have been in it. In a segment with marks the
  /// neighbours can tell that nothing was lost but a mark, which no record depends on once it is below the
  /// floor.
  package func mayHoldContent(in kind: SegmentKind) -> Bool {
    guard kind.hasMarks, let previous else { return true }
    let markByteCount = previous.kind.isInTransaction ? CommitMark.byteCount : CloseMark.byteCount
    guard range.count == aligned(Layout.frameHeaderByteCount + markByteCount) else { return true }
    if previous.kind.isInTransaction {
      // The transaction ends in the gap if another unit follows: then the gap is its mark, and has no room
      // for more.
      return next.map { $0.kind == .commit || $0.sequence == previous.sequence } ?? false
    }
    // Between units, it is a close mark, unless the next frame may belong to a transaction that begins in the
    // gap.
    return next.map { $0.kind == .commit || $0.kind.isInTransaction } ?? false
  }

  /// The highest sequence number that a frame in it can have had; nothing where its neighbours don't tell.
  package func highestSequence(in kind: SegmentKind) -> UInt64? { kind.isLog ? next?.sequence : nil }
}

// MARK: - What marks and live changes say, past anything broken: FORMAT.md §6 and §12.

extension SegmentWalk {
  /// The position that a frame names as the floor of its time; nothing where it is no witness or does not
  /// check.
  package mutating func witness(_ header: FrameHeader) throws(StorageError) -> LogPosition? {
    switch header.kind {
    case .commit:
      guard try reader.isWhole(header, at: place) else { return nil }
      return CommitMark(payload: try reader.payload(of: header, at: place))?.floor
    case .close:
      guard try reader.isWhole(header, at: place) else { return nil }
      let named = CloseMark(header, payload: try reader.payload(of: header, at: place))?.place
      return named?.offset == place ? named : nil
    case .record, .tombstone, .chunk, .liveChange, .liveSet, .footer:
      return nil
    }
  }

  /// Applies the live changes that are still to come.
  package mutating func applyLiveChanges(to live: inout LiveSet) throws(StorageError) {
    while let header = try advance() {
      if header.kind == .liveChange, try reader.isWhole(header, at: place),
        let change = LiveChange(payload: try reader.payload(of: header, at: place))
      {
        live.apply(change)
      }
    }
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

extension SegmentWalk {
  /// What stands at a place where a unit may start.
  package enum Unit {
    case transaction(TransactionRange)
    /// A close mark, and where its frame ends.
    case close(end: Int)
    /// The footer's frame, whole, and where it ends.
    case footer(end: Int)
    /// No header checks there: zeros, the end, or anything else.
    case none
    /// A frame of a unit that is not whole.
    case broken
  }

  /// Reads the unit that starts where the walk goes on, payloads and padding included. Behind it the walk
  /// goes on, if it is whole.
  package mutating func unit() throws(StorageError) -> Unit {
    let start = next
    var place = start
    var sequence: UInt64?
    var frameCount = 0
    while let header = try reader.frame(at: place) {
      // Nobody acknowledged it yet: any byte that is not what was written tells a write that was torn.
      guard try reader.isWhole(header, at: place), try reader.brokenPadding(header, at: place) == nil else {
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
        guard let mark = CommitMark(payload: try reader.payload(of: header, at: place)),
          sequence == header.sequence, mark.frameCount == frameCount, mark.firstOffset == start
        else { return .broken }
        go(to: end)
        return .transaction(
          TransactionRange(sequence: header.sequence, start: start, markStart: place, end: end, mark: mark))
      case .close:
        guard frameCount == 0,
          let mark = CloseMark(header, payload: try reader.payload(of: header, at: place)),
          mark.place.offset == place
        else { return .broken }
        go(to: end)
        return .close(end: end)
      case .footer:
        guard frameCount == 0 else { return .broken }
        go(to: end)
        return .footer(end: end)
      case .liveSet: return .broken
      }
    }
    return place == start ? .none : .broken
  }

  /// Calls `body` with each frame of a transaction that was whole before, but for its mark; then the walk
  /// goes on behind it.
  ///
  /// - Parameters:
  ///   - range: Where the transaction is.
  ///   - body: Called with a frame's header, its payload and its place.
  /// - Throws: What `body` throws; what reading throws, as where the frames are no longer what they were.
  package mutating func forEachFrame(
    of range: TransactionRange, _ body: (FrameHeader, RawSpan, Int) throws(StorageError) -> Void
  ) throws(StorageError) {
    go(to: range.start)
    while next < range.markStart {
      guard let header = try advance(), lost == nil else {
        throw StorageError(.read, reader.file.name, errno: SystemErrno.inputOutput)
      }
      let place = place
      try body(header, try reader.payload(of: header, at: place), place)
    }
    go(to: range.end)
  }
}
