// What a record is read into: all of it, or as much as somebody wants of it.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// How much of a frame is read at once.
enum ReadExtent {
  /// All of it.
  case whole
  /// As much as a field is mostly in, of a long frame; the rest can be read later. Reading short frames whole costs no more than
  /// going back for one of them.
  case field

  /// Frames of so many bytes are read whole in any case.
  private static let shortByteCount = 2048
  /// Of longer ones a field is mostly in so many bytes.
  private static let fieldByteCount = 512
  /// How much most records take, which is asked of memory before it is known how much it is.
  static let usualByteCount = 640

  /// How much to read of a frame that has so many bytes.
  func part(of frameByteCount: Int) -> Int {
    self == .whole || frameByteCount <= Self.shortByteCount ? frameByteCount : Self.fieldByteCount
  }
}

/// Memory that records are read into, one at a time; it is used again and again.
struct ReadBuffer: ~Copyable {
  var frame = Buffer(capacity: 4096)
  private var bodyRange = 0..<0
  private(set) var envelopeRange = 0..<0
  /// The checksum that the payload has to have, as long as nobody has looked, and where the frame is.
  private var unchecked: (checksum: UInt32, place: FrameAddress)?
  /// Where the part of the frame is that was left out.
  private var rest: Rest?

  /// Whether whoever reads bodies has checked how this one is made; the journal neither looks nor knows.
  var isBodyChecked = false

  /// The end of a frame: its segment, which is held until then, and where in it that begins.
  private struct Rest {
    let segment: Segment
    let cache: BlockCache
    let offset: Int
  }

  init() {}

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

  /// Whether all of the record is here.
  var isWhole: Bool { bodyRange.upperBound <= frame.count }

  /// Whether the payload's checksum was looked at.
  var isChecked: Bool { unchecked == nil }

  /// Reads what was left out.
  ///
  /// - Throws: `damaged`, with the place, where the frame is not all there, or the rest wasn't kept.
  mutating func complete() throws(NotelogError) {
    guard !isWhole, let unchecked else { return }
    guard let rest else { throw NotelogError(lost: unchecked.place) }
    let (start, end) = (frame.count, rest.offset + bodyRange.upperBound - frame.count)
    let next = rest.offset + rest.cache.append(rest.segment.number, rest.offset..<end, to: &frame)
    do throws(NotelogError) {
      if next < end {
        try fromStorage { () throws(StorageError) in
          _ = try frame.fill(end - next, from: rest.segment.file, at: next)
        }
      }
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
    guard Checksum.of(frame.bytes.extracting(envelopeRange.lowerBound..<bodyRange.upperBound)) == checksum
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
    divide(0..<payload.byteCount, envelopeByteCount: envelopeByteCount)
    return StoredRecord(
      id: header.id, collection: header.collection, revision: header.sequence, isPossiblyStale: false)
  }

  /// Says where in the bytes the payload is, and how it divides into envelope and body, which was checked.
  mutating func divide(_ payload: Range<Int>, envelopeByteCount: Int) {
    unchecked = nil
    rest = nil
    isBodyChecked = false
    envelopeRange = payload.lowerBound..<payload.lowerBound + envelopeByteCount
    bodyRange = envelopeRange.upperBound..<payload.upperBound
  }

  /// The same of a record's frame that starts at an offset of the bytes, and whose payload's checksum nobody has looked at.
  ///
  /// - Returns: Whether its envelope is all there.
  mutating func divide(_ header: FrameHeader, at start: Int, from place: FrameAddress) -> Bool {
    let payloadStart = start + Layout.frameHeaderByteCount
    let payload = payloadStart..<payloadStart + header.payloadByteCount
    let present = payload.clamped(to: payloadStart..<max(payloadStart, frame.count))
    guard frame.count >= payloadStart,
      let envelopeByteCount = header.hasEnvelope
        ? Envelope.byteCount(inPayload: frame.bytes.extracting(present)) : 0
    else { return false }
    divide(payload, envelopeByteCount: envelopeByteCount)
    unchecked = (header.payloadChecksum, place)
    return true
  }

  /// Keeps what isn't there of the frame that starts at an offset of the bytes.
  mutating func keepRest(of segment: Segment, _ cache: BlockCache, at start: Int, from place: FrameAddress) {
    rest = Rest(segment: segment, cache: cache, offset: place.offset + frame.count - start)
  }
}

extension NotelogError {
  /// A record's frame does not check.
  init(lost place: FrameAddress) {
    self.init(
      .damaged, "the record's frame does not check", segment: Int(place.segment), offset: place.offset)
  }
}
