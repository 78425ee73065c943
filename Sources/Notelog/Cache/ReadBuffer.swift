// What a record is read into: all of it, or as much as somebody wants of it.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// Memory that records are read into, one at a time; it is used again and again.
struct ReadBuffer: ~Copyable {
  var frame = Buffer(capacity: 4096)
  private var bodyRange = 0..<0
  /// Where the payload ends: behind the body, or the seal behind that.
  private var end = 0
  private(set) var envelopeRange = 0..<0
  /// The checksum that the payload has to have, as long as nobody has looked, and where the frame is.
  private var unchecked: (checksum: UInt32, place: FrameAddress)?
  /// Where the part of the frame is that was left out: its segment, which is held until then, and where in it
  /// that begins.
  private var rest: (segment: Segment, cache: BlockCache, offset: Int)?

  /// Frames of so many bytes are read whole: that costs no more than going back for one of them.
  private static let shortByteCount = 2048
  /// Of longer ones a field is mostly in so many bytes.
  private static let fieldByteCount = 512

  /// How much is read at first of a frame that has so many bytes; the rest can be read later.
  static func firstByteCount(ofFrame byteCount: Int) -> Int {
    byteCount <= shortByteCount ? byteCount : fieldByteCount
  }

  /// Whether whoever reads bodies has checked how this one is made; the journal neither looks nor knows.
  var isBodyChecked = false

  /// The body of the record that was read last, as much of it as was asked for.
  var body: RawSpan {
    @_lifetime(borrow self)
    borrowing get { frame.bytes.extracting(bodyRange.lowerBound..<min(bodyRange.upperBound, frame.count)) }
  }

  /// How long all of the body is.
  var bodyByteCount: Int { bodyRange.count }

  /// Its envelope; empty where it has none.
  var envelope: RawSpan {
    @_lifetime(borrow self)
    borrowing get { frame.bytes.extracting(envelopeRange) }
  }

  /// What its seal is of.
  var unsealedPayload: RawSpan {
    @_lifetime(borrow self)
    borrowing get { frame.bytes.extracting(envelopeRange.lowerBound..<bodyRange.upperBound) }
  }

  /// Its seal; nothing where it has none.
  var seal: ID16? { end > bodyRange.upperBound ? ID16(frame.bytes, at: bodyRange.upperBound) : nil }

  /// Whether all of the record is here.
  var isWhole: Bool { end <= frame.count }

  /// Whether the payload's checksum was looked at.
  var isChecked: Bool { unchecked == nil }

  /// Reads what was left out.
  ///
  /// - Throws: `damaged`, with the place, where the frame is not all there, or the rest wasn't kept.
  mutating func complete() throws(NotelogError) {
    guard !isWhole, let unchecked else { return }
    guard let rest else { throw NotelogError(lost: unchecked.place) }
    let (start, end) = (frame.count, rest.offset + self.end - frame.count)
    var next = rest.offset
    if !rest.segment.isReplaced { next += rest.cache.append(rest.segment.number, next..<end, to: &frame) }
    do throws(NotelogError) {
      if next < end { _ = try fromStorage(frame.fill(end - next, from: rest.segment.file, at: next)) }
      guard isWhole else { throw NotelogError(lost: unchecked.place) }
    } catch {
      frame.truncate(to: start)
      throw error
    }
    self.rest = nil
  }

  /// Looks at the payload's checksum, if nobody has.
  ///
  /// - Throws: `damaged`, with the place, where it doesn't hold.
  mutating func check() throws(NotelogError) {
    guard let (checksum, place) = unchecked else { return }
    try complete()
    guard Checksum.of(frame.bytes.extracting(envelopeRange.lowerBound..<end)) == checksum
    else { throw NotelogError(lost: place) }
    unchecked = nil
  }

  /// Forgets the record.
  mutating func removeAll() {
    frame.removeAll()
    divide(0..<0, envelopeByteCount: 0)
  }

  /// Copies a payload that is in memory already.
  mutating func copy(_ payload: RawSpan, _ header: FrameHeader, _ envelopeByteCount: Int) -> StoredRecord {
    frame.removeAll()
    frame.append(payload)
    divide(0..<payload.byteCount, envelopeByteCount: envelopeByteCount, header.sealByteCount)
    return StoredRecord(header, isPossiblyStale: false)
  }

  /// Says where in the bytes the payload is, and how it divides into envelope, body and seal, which was checked.
  mutating func divide(_ payload: Range<Int>, envelopeByteCount: Int, _ sealByteCount: Int = 0) {
    unchecked = nil
    rest = nil
    isBodyChecked = false
    envelopeRange = payload.lowerBound..<payload.lowerBound + envelopeByteCount
    bodyRange = envelopeRange.upperBound..<payload.upperBound - sealByteCount
    end = payload.upperBound
  }

  /// The same of a record's frame that starts at an offset of the bytes, and whose payload's checksum nobody
  /// has looked at.
  ///
  /// - Returns: Whether its envelope is all there.
  mutating func divide(_ header: FrameHeader, at start: Int, from place: FrameAddress) -> Bool {
    let payloadStart = start + Layout.frameHeaderByteCount
    let payload = payloadStart..<payloadStart + header.payloadByteCount
    let present = payload.clamped(to: payloadStart..<max(payloadStart, frame.count))
    guard frame.count >= payloadStart,
      let body = header.bodyRange(in: frame.bytes.extracting(present))
    else { return false }
    divide(payload, envelopeByteCount: body.lowerBound, header.sealByteCount)
    unchecked = (header.payloadChecksum, place)
    return true
  }

  /// Keeps what isn't there of the frame that starts at an offset of the bytes.
  mutating func keepRest(of segment: Segment, _ cache: BlockCache, at start: Int, from place: FrameAddress) {
    rest = (segment, cache, place.offset + frame.count - start)
  }
}

extension NotelogError {
  /// A record's frame does not check.
  init(lost place: FrameAddress) {
    self.init(
      .damaged, "the record's frame does not check", segment: Int(place.segment), offset: place.offset)
  }
}

// MARK: - A record that was read: FORMAT.md §5.

/// A record as it is stored. Its bytes are in the buffer it was read into.
struct StoredRecord: Sendable, BitwiseCopyable {
  let id: ID16
  let collection: UInt16
  /// The sequence number of the transaction that wrote it; 0 for one that is not committed yet.
  let revision: UInt64
  /// Whether frames that are lost may have held a newer version.
  let isPossiblyStale: Bool
}

extension StoredRecord {
  /// What a record's frame says of it.
  init(_ header: FrameHeader, isPossiblyStale: Bool) {
    self.init(
      id: header.id, collection: header.collection, revision: header.sequence,
      isPossiblyStale: isPossiblyStale)
  }
}

// MARK: - Reading a frame whose length is not known yet, with one system call where there has to be one.

extension Segment {
  /// What is read at once where nothing is kept: most records end within it.
  private static let guessByteCount = 2048

  /// Reads a frame, or its beginning, into an emptied buffer.
  ///
  /// - Returns: Where in the buffer the frame starts. It may go on behind the buffer's end.
  func readFrame(
    at offset: Int, into buffer: inout Buffer, _ cache: BlockCache
  ) throws(StorageError) -> Int {
    buffer.removeAll()
    if !isReplaced, cache.appendFrame(number, at: offset, to: &buffer) != nil { return 0 }
    var start = 0
    if buffer.count == 0 {
      start = offset % BlockCache.blockByteCount
      let blockStart = offset - start
      let settled = min(BlockCache.blockByteCount, visibleEnd - blockStart)
      // Of what is still being appended to, blocks are kept that are full: the rest of the last one is yet to
      // come.
      let isKept = !isReplaced && (isFinished || settled == BlockCache.blockByteCount)
      if isKept, cache.wantsMissing(number, at: offset) {
        try buffer.fill(max(settled, 0), from: file, at: blockStart)
        // A file that got shorter is not kept as if it were whole.
        if buffer.count == settled { cache.keep(buffer.bytes, of: number, salt, at: blockStart) }
        start = min(start, buffer.count)
      } else {
        start = 0
        try buffer.fill(Self.guessByteCount, from: file, at: offset)
      }
    }
    // A header that lies across two blocks is made whole: it says how long the frame is.
    if buffer.count - start < Layout.frameHeaderByteCount {
      try buffer.fill(Self.guessByteCount, from: file, at: offset + buffer.count - start)
    }
    return start
  }

  /// What the header of the content frame at an offset says, and its envelope's length; nothing where it does
  /// not check.
  func frameEntry(at offset: Int, _ cache: BlockCache) throws(StorageError) -> FooterEntry? {
    try withScratch { bytes throws(StorageError) -> FooterEntry? in
      var count = bytes.byteCount
      if !cache.copy(number, at: offset, into: &bytes) {
        count = try file.readFully(into: &bytes, at: offset)
      }
      guard count >= Layout.frameHeaderByteCount,
        let header = FrameHeader(bytes.bytes, at: 0, salt: salt, place: offset),
        header.kind.isContent
      else { return nil }
      let envelopeByteCount =
        header.hasEnvelope ? Int(bytes.bytes.load(UInt16.self, at: Layout.frameHeaderByteCount)) : 0
      return FooterEntry(
        header, offset: offset, envelopeByteCount: min(envelopeByteCount, header.payloadByteCount))
    }
  }

  /// What the segment's footer says of the frame at an offset; nothing where it has none that checks.
  func listedEntry(at offset: Int) throws(StorageError) -> FooterEntry? {
    guard let byteCount = entry?.byteCount, let trailer = try trailer() else { return nil }
    var reader = SegmentReader(file, salt: salt, end: byteCount)
    var found: FooterEntry?
    _ = try reader.forEachFooterEntry(trailer, evenIfIncomplete: true) { entry, _ in
      if entry.offset == offset { found = entry }
    }
    return found
  }
}

extension SegmentTable {
  /// What the frame at a place is; nothing where neither its header nor the footer says it, or the segment is
  /// gone: then the frame was moved or is dead.
  func entry(at place: FrameAddress, _ cache: BlockCache) throws(StorageError) -> FooterEntry? {
    guard let segment = self[place.segment] else { return nil }
    if let entry = cache.lists.entry(at: place.offset, in: segment) { return entry }
    if let entry = try segment.frameEntry(at: place.offset, cache) { return entry }
    // The header does not check. Its footer says the same, if there is one.
    return try segment.listedEntry(at: place.offset)
  }
}
