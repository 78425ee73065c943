// Checks every byte of one segment: FORMAT.md §21.1, INV-S2 and INV-S3, and §5.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// Reads a segment from its first byte to its last.
struct SegmentVerifier: ~Copyable {
  private let found: FoundSegment
  private let entry: LiveEntry?
  /// Where frames end in a segment that is not finished.
  private let end: Int
  private(set) var damages: [Finding] = []
  private(set) var frameCount = 0
  /// Content frames that do not check, as their headers or the footer say what they were.
  private(set) var lost: [FooterEntry] = []
  /// The footer as the frames say it must be.
  private var expected = FooterBuilder()

  init(_ found: FoundSegment, entry: LiveEntry?, end: Int) {
    self.found = found
    self.entry = entry
    self.end = end
  }

  private var isFinished: Bool { entry != nil && found.trailer != nil }

  /// Checks everything, and calls `inspect` with each frame that is whole: its header, its place, its payload, and the id
  /// that the next frame has, if that is in memory already. It reads through a window that others have used.
  mutating func run(
    through window: inout Buffer,
    _ inspect: (FrameHeader, Int, RawSpan, ID16?) throws(StorageError) -> Void = { _, _, _, _ in }
  ) throws(StorageError) {
    var reader = SegmentReader(found.file, salt: found.salt, end: found.byteCount)
    reader.exchangeWindow(with: &window)
    defer { reader.exchangeWindow(with: &window) }
    let gap = Layout.headerByteCount..<min(Layout.headerCopyOffset, found.byteCount)
    if !gap.isEmpty, try !reader.bytes(gap).isZero { add(.notZero, gap.lowerBound, gap.count) }
    try checkFrames(&reader, inspect)
    if isFinished { try checkFooter(&reader) }
  }

  private mutating func add(_ kind: Finding.Kind, _ offset: Int, _ byteCount: Int, record: ID16? = nil) {
    damages.append(Finding(kind, segment: found.number, offset: offset, byteCount: byteCount, record: record))
  }

  private mutating func checkFrames(
    _ reader: inout SegmentReader,
    _ inspect: (FrameHeader, Int, RawSpan, ID16?) throws(StorageError) -> Void
  ) throws(StorageError) {
    let limit = isFinished ? (found.trailer?.footerOffset ?? end) : min(end, found.byteCount)
    var place = Layout.firstFrameOffset
    var transaction = (start: place, frameCount: 0)
    var previous: FrameHeader?
    while place < limit {
      guard case .frame(let header) = try reader.frame(at: place), header.frameByteCount <= limit - place
      else {
        let behind = try reader.nextFrame(from: place + 8)
        let next = min(behind?.place ?? limit, limit)
        let lost = LostBytes(
          range: place..<next, previous: previous, next: next < limit ? behind?.header : nil)
        add(lost.mayHoldContent(in: found.header.kind) ? .lostFrames : .commitMark, place, next - place)
        place = next
        transaction = (place, 0)
        continue
      }
      frameCount += 1
      previous = header
      let isWhole = try reader.isWhole(header, at: place)
      let record = header.kind.isContent ? header.id : nil
      if !isWhole {
        add(.payload, place, header.frameByteCount, record: record)
        if header.kind.isContent { lost.append(FooterEntry(header, offset: place, envelopeByteCount: 0)) }
      } else if let padding = try reader.brokenPadding(header, at: place) {
        add(.notZero, padding.lowerBound, padding.count, record: record)
      }
      if isWhole {
        let next = reader.idAhead(at: place + header.frameByteCount)
        let payload = try reader.payload(of: header, at: place)
        expected.note(header, at: place, payload: payload)
        try inspect(header, place, payload, next)
      }
      let next = place + header.frameByteCount
      switch header.kind {
      case .record, .tombstone, .chunk, .liveChange:
        transaction.frameCount += 1
      case .commit:
        if isWhole {
          let mark = CommitMark(payload: try reader.payload(of: header, at: place))
          if mark?.firstOffset != transaction.start || mark?.frameCount != transaction.frameCount,
            !damages.contains(where: { $0.kind == .lostFrames })
          {
            add(.commitMark, place, header.frameByteCount)
          }
        }
        transaction = (next, 0)
      case .liveSet, .close:
        transaction = (next, 0)
      case .footer:
        add(.footer, place, header.frameByteCount)
        transaction = (next, 0)
      }
      place = next
    }
  }

  /// The footer must be, byte for byte, what the frames make it.
  private mutating func checkFooter(_ reader: inout SegmentReader) throws(StorageError) {
    guard let trailer = found.trailer else { return }
    var buffer = Buffer()
    _ = expected.append(to: &buffer, at: trailer.footerOffset, header: found.header, salt: found.salt)
    let range = trailer.footerOffset..<found.byteCount
    let isEqual = try buffer.count == range.count ? reader.bytes(range).elementsEqual(buffer.bytes) : false
    if isEqual { return }
    // Where frames are damaged, the footer is the better witness of those; it has its own checksum.
    if damages.isEmpty { return add(.footer, trailer.footerOffset, range.count) }
    if try !isFooterOfFrames(trailer, &reader) { add(.footer, trailer.footerOffset, range.count) }
  }

  /// Whether a footer checks, lists every frame that is whole, and lists nothing else but where bytes are damaged.
  private mutating func isFooterOfFrames(
    _ trailer: Trailer, _ reader: inout SegmentReader
  ) throws(StorageError) -> Bool {
    var listed: [Int: FooterEntry] = [:]
    let state = try reader.forEachFooterEntry(trailer, evenIfIncomplete: true) { entry, _ in
      listed[entry.offset] = entry
    }
    if state == .unreadable { return false }
    var isSame = true
    try reader.forEachContentFrame(
      from: Layout.firstFrameOffset, to: trailer.footerOffset, checkingPayloads: true
    ) { (finding, _) in
      guard case .content(let entry, isWhole: true) = finding else { return }
      if listed.removeValue(forKey: entry.offset) != entry { isSame = false }
    }
    let damaged = damages.filter { $0.kind == .lostFrames || $0.kind == .payload }
    let known = Set(lost.map(\.offset))
    lost += listed.values.filter { !known.contains($0.offset) }.sorted { $0.offset < $1.offset }
    return isSame
      && listed.values.allSatisfy { entry in
        damaged.contains { $0.range.contains(entry.offset) }
      }
  }
}
