// Makes files of segments that an input describes. FORMAT.md 4 to 6.

@testable import NotelogStorage
@testable import Notelog
@testable import NotelogBase
@testable import NotelogFormat

/// Puts segments together, one after the other: what later ones say of earlier ones fits them.
struct SegmentAssembler {
  private(set) var files: [String: [UInt8]] = [:]
  private var liveEntries: [UInt32: LiveEntry] = [:]

  mutating func add(_ program: SegmentProgram) {
    let saltValue = 0x1122_3344_5566_7788 &* UInt64(program.number | 1)
    var segment = Assembly(program, salt: SegmentSalt(saltValue), saltValue, liveEntries)
    for frame in program.frames { segment.add(frame) }
    if let entry = segment.entry { liveEntries[program.number] = entry }
    let number = program.tweaks.contains(.hasForeignName) ? program.number &+ 1 : program.number
    files["000000000000.journal".withNumber(number)] = segment.finish()
  }
}

extension String {
  /// The name of a segment's file, of any number.
  fileprivate func withNumber(_ number: UInt32) -> String {
    let digits = String(number)
    return String(prefix(12 - digits.count)) + digits + suffix(8)
  }
}

/// A segment in the making.
private struct Assembly {
  private let program: SegmentProgram
  private let salt: SegmentSalt
  private let known: [UInt32: LiveEntry]
  private var header: [UInt8]
  private var bytes: [UInt8]
  /// The entries of the footer so far, and their number.
  private var entries: [UInt8] = []
  private var entryCount: UInt32 = 0
  /// Frames since the last mark, and where the first of them begins.
  private var frameCount: UInt32 = 0
  private var firstOffset: Int?
  /// What a live set says of the segment, once it has a footer.
  private(set) var entry: LiveEntry?

  init(_ program: SegmentProgram, salt: SegmentSalt, _ saltValue: UInt64, _ known: [UInt32: LiveEntry]) {
    self.program = program
    self.salt = salt
    self.known = known
    header = [UInt8](repeating: 0, count: Layout.headerByteCount)
    header.set(SegmentHeader.magic, at: 0)
    header.set(SegmentHeader.version, at: 8)
    header.set(program.kind, at: 10)
    header.set(program.number, at: 20)
    header.set(SampleStore.storeID.low, at: 24)
    header.set(SampleStore.storeID.high, at: 32)
    header.set(saltValue, at: 40)
    header.set(program.firstSequence, at: 48)
    header.set(program.floor.segment, at: 56)
    header.set(UInt32(program.floor.offset), at: 60)
    header.set(UInt32(program.sources.count), at: 72)
    for (index, source) in program.sources.enumerated() {
      header.set(source.segment, at: 80 + 8 * index)
      header.set(UInt32(source.offset), at: 84 + 8 * index)
    }
    bytes = [UInt8](repeating: 0, count: Layout.firstFrameOffset)
    sealHeader()
  }

  private mutating func sealHeader() {
    header.set(Checksum.of(Array(header.prefix(508)).rawSpan), at: 508)
  }

  mutating func add(_ frame: SegmentProgram.Frame) {
    if frame.tweaks.contains(.followsZeros) { bytes += [UInt8](repeating: 0, count: 64) }
    let place = bytes.count
    let kind = FrameKind(rawValue: frame.kind)
    let payload = frame.tweaks.contains(.isRaw) ? frame.payload : fitted(frame.payload, kind, at: place)
    if kind == .liveSet, place == Layout.firstFrameOffset { take(liveSet: payload) }
    var head = [UInt8](repeating: 0, count: Layout.frameHeaderByteCount)
    head[0] = frame.kind
    head[1] =
      (frame.tweaks.contains(.hasEnvelope) ? 1 : 0) | (frame.tweaks.contains(.hasReservedFlag) ? 2 : 0)
    head.set(frame.collection, at: 2)
    head.set(UInt32(payload.count + (frame.tweaks.contains(.isShort) ? 4096 : 0)), at: 4)
    head.set(frame.sequence, at: 8)
    let id = kind?.isContent == true ? SampleStore.id(frame.id) : .zero
    head.set(id.low, at: 16)
    head.set(id.high, at: 24)
    let checksum = Checksum.of(payload.rawSpan)
    head.set(checksum ^ (frame.tweaks.contains(.hasBadPayload) ? 1 : 0), at: 32)
    let own = salt.headerChecksum(Array(head.prefix(36)).rawSpan, place: place)
    head.set(own ^ (frame.tweaks.contains(.hasBadHeader) ? 1 : 0), at: 36)
    bytes += head + payload
    while !bytes.count.isMultiple(of: 8) { bytes.append(frame.tweaks.contains(.hasBadPadding) ? 1 : 0) }
    note(frame, kind, payload, at: place)
    if kind == .footer { end(at: place, checksum) }
  }

  /// What a mark, a live set or a footer has to say here.
  private func fitted(_ payload: [UInt8], _ kind: FrameKind?, at place: Int) -> [UInt8] {
    var payload = payload
    switch kind {
    case .commit where payload.count >= 8:
      payload.set(frameCount, at: 0)
      payload.set(UInt32(firstOffset ?? place), at: 4)
    case .close where payload.count >= 8:
      payload.set(program.number, at: 0)
      payload.set(UInt32(place), at: 4)
    case .liveSet: fit(&payload, from: 0)
    case .liveChange: fit(&payload, from: 8)
    case .footer:
      // What the input gives for a footer's payload are changes to the one that fits.
      var changes = InputReader(payload)
      payload = header
      payload.append(integer: entryCount)
      payload.append(integer: UInt32(0))
      payload += entries
      Edits.apply(&changes, to: &payload)
    default: break
    }
    return payload
  }

  /// Makes the entries of a live set true, as far as their segments are known.
  private func fit(_ payload: inout [UInt8], from start: Int) {
    for place in stride(
      from: start, through: payload.count - Layout.liveEntryByteCount, by: Layout.liveEntryByteCount)
    {
      guard let entry = known[payload.rawSpan.load(UInt32.self, at: place)] else { continue }
      payload.set(UInt32(entry.byteCount), at: place + 4)
      payload.set(entry.salt, at: place + 8)
      payload.set(entry.footerChecksum, at: place + 16)
    }
  }

  private mutating func take(liveSet payload: [UInt8]) {
    let extra = program.tweaks.contains(.countsOneMore) ? 1 : 0
    header.set(UInt32(payload.count / Layout.liveEntryByteCount + extra), at: 64)
    header.set(Checksum.of(payload.rawSpan), at: 68)
    sealHeader()
  }

  /// Keeps what the next mark and the footer say of a frame.
  private mutating func note(
    _ frame: SegmentProgram.Frame, _ kind: FrameKind?, _ payload: [UInt8], at place: Int
  ) {
    switch kind {
    case .commit, .close, .liveSet, .footer:
      frameCount = 0
      firstOffset = nil
    default:
      frameCount += 1
      firstOffset = firstOffset ?? place
    }
    guard let kind, kind.isContent else { return }
    let flags = frame.tweaks.contains(.hasEnvelope)
    let header = FrameHeader(
      kind, hasEnvelope: flags, collection: frame.collection, payloadByteCount: payload.count,
      sequence: frame.sequence, id: SampleStore.id(frame.id))
    let listed = header.listedByteCount(inPayload: payload.rawSpan)
    var buffer = Buffer()
    FooterEntry(header, offset: place, envelopeByteCount: listed)
      .append(to: &buffer, envelope: payload.rawSpan.extracting(first: listed))
    entries += buffer.bytes.array()
    entryCount += 1
  }

  private mutating func end(at place: Int, _ checksum: UInt32) {
    guard !program.tweaks.contains(.lacksTrailer) else { return }
    var buffer = Buffer()
    Trailer(footerOffset: place, footerByteCount: bytes.count - place, footerChecksum: checksum)
      .append(to: &buffer)
    bytes += buffer.bytes.array()
    entry = LiveEntry(
      number: program.number, byteCount: bytes.count, salt: salt.value, footerChecksum: checksum)
  }

  /// The whole file.
  func finish() -> [UInt8] {
    var file = bytes
    file.replaceSubrange(0..<header.count, with: header)
    file.replaceSubrange(Layout.headerCopyOffset..<Layout.headerCopyOffset + header.count, with: header)
    if program.tweaks.contains(.hasBadHeader) { file[100] ^= 1 }
    if program.tweaks.contains(.hasBadCopy) { file[Layout.headerCopyOffset + 100] ^= 1 }
    if program.tweaks.contains(.hasZerosBehind) { file += [UInt8](repeating: 0, count: 4096) }
    return file
  }
}
