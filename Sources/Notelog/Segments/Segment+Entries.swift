// What a segment holds: from its footer, or from its frames where it has none that checks. FORMAT.md §4 and §12.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// What going through a segment's entries came to.
struct EntryReading: Sendable {
  /// Bytes where frames were, and which of them, nothing in the segment says.
  struct Loss: Sendable {
    let range: Range<Int>
    /// No frame in it had a higher sequence number; nothing where that isn't known.
    let highestSequence: UInt64?
  }

  /// What does not check and costs nothing: the footer, where the frames are all there; a mark; the live set's frame.
  var damages: [Finding] = []
  var losses: [Loss] = []
  /// Whether every entry there ever was has been shown.
  var isWhole: Bool { losses.isEmpty }

  /// All that was found, as damage of a segment.
  func allDamages(of segment: UInt32) -> [Finding] {
    damages
      + losses.map {
        Finding(.lostFrames, segment: segment, offset: $0.range.lowerBound, byteCount: $0.range.count)
      }
  }
}

extension Segment {
  /// The trailer of a finished segment; nothing where it does not check, isn't the one that the live set speaks of, or the file has
  /// lost its end.
  func trailer() throws(StorageError) -> Trailer? {
    guard let entry, let trailer = try Trailer.read(file, byteCount: entry.byteCount),
      trailer.footerChecksum == entry.footerChecksum
    else { return nil }
    return trailer
  }

  /// Calls `body` with what the footer lists, or with what the frames say where no footer checks, from one offset up to a limit.
  ///
  /// - Parameters:
  ///   - start: Entries before it are passed over.
  ///   - limit: Where frames end, in a segment that isn't finished; in one that is, no more than its footer's place matters.
  ///   - window: Memory to read through.
  ///   - body: Called with an entry and its envelope.
  /// - Returns: What does not check, and where frames are lost that nothing names.
  /// - Throws: What `body` throws, and what stands in the way of reading.
  @discardableResult
  func forEachEntry(
    from start: Int = 0, upTo limit: Int, through window: inout Buffer,
    _ body: (FooterEntry, RawSpan) throws(StorageError) -> Void
  ) throws(StorageError) -> EntryReading {
    var reading = EntryReading()
    if let cutEnd {
      _ = try forEachFrameEntry(from: start, upTo: limit, end: cutEnd, through: &window, &reading, body)
      return reading
    }
    let trailer = try trailer()
    if let entry, let trailer {
      var reader = SegmentReader(file, salt: salt, end: entry.byteCount)
      reader.exchangeWindow(with: &window)
      defer { reader.exchangeWindow(with: &window) }
      let state = try reader.forEachFooterEntry(trailer) { (entry, envelope) throws(StorageError) in
        if entry.offset >= start, entry.offset < limit { try body(entry, envelope) }
      }
      if state == .complete { return reading }
      if state == .unreadable {
        reading.damages.append(
          Finding(.footer, segment: number, offset: trailer.footerOffset, byteCount: trailer.footerByteCount))
      }
    }
    // Where frames end, the trailer says; without it, the frames themselves up to where the footer begins.
    let end = trailer?.footerOffset ?? (entry == nil ? limit : entry?.byteCount ?? limit)
    let framesEnd = try forEachFrameEntry(
      from: start, upTo: limit, end: end, through: &window, &reading, body)
    if let entry, trailer == nil { try proveFrames(of: entry, end: framesEnd, &reading) }
    return reading
  }

  /// The same for who has no window, and asks only whether that was everything.
  @discardableResult
  func forEachEntry(
    from start: Int = 0, upTo limit: Int, _ body: (FooterEntry, RawSpan) throws(StorageError) -> Void
  ) throws(StorageError) -> Bool {
    var window = Buffer()
    return try forEachEntry(from: start, upTo: limit, through: &window, body).isWhole
  }

  /// Goes through the frames, which end at `end` at the latest, and notes what is lost between them.
  ///
  /// - Returns: Where the last frame ends.
  private func forEachFrameEntry(
    from start: Int, upTo limit: Int, end: Int, through window: inout Buffer, _ reading: inout EntryReading,
    _ body: (FooterEntry, RawSpan) throws(StorageError) -> Void
  ) throws(StorageError) -> Int {
    let fileEnd = try file.byteCount()
    let first = max(start, Layout.firstFrameOffset)
    let readEnd = min(limit, end, fileEnd)
    var reader = SegmentReader(file, salt: salt, end: readEnd)
    reader.exchangeWindow(with: &window)
    defer { reader.exchangeWindow(with: &window) }
    var framesEnd = first
    if first < readEnd {
      framesEnd = try reader.forEachContentFrame(from: first, to: readEnd, checkingPayloads: false) {
        (finding, envelope) throws(StorageError) in
        switch finding {
        case .content(let entry, _): try body(entry, envelope)
        case .lost(let lost): try note(lost, &reading)
        }
      }
    }
    let wanted = min(limit, end)
    if fileEnd < wanted, first < wanted {
      reading.losses.append(EntryReading.Loss(range: max(fileEnd, first)..<wanted, highestSequence: nil))
    }
    return framesEnd
  }

  /// Notes a gap between frames: a loss, unless it held nothing but a mark, or the live set.
  private func note(_ lost: LostBytes, _ reading: inout EntryReading) throws(StorageError) {
    if !lost.mayHoldContent(in: kind) {
      reading.damages.append(
        Finding(.commitMark, segment: number, offset: lost.range.lowerBound, byteCount: lost.range.count))
      return
    }
    var range = lost.range
    if kind.isLog, range.lowerBound == Layout.firstFrameOffset, let header = try header() {
      let byteCount = aligned(Layout.frameHeaderByteCount + header.liveCount * Layout.liveEntryByteCount)
      reading.damages.append(
        Finding(.liveSet, segment: number, offset: range.lowerBound, byteCount: min(byteCount, range.count)))
      range = min(range.lowerBound + byteCount, range.upperBound)..<range.upperBound
      if range.isEmpty { return }
    }
    reading.losses.append(
      EntryReading.Loss(range: range, highestSequence: lost.highestSequence(in: kind)))
  }

  /// In a finished segment without a trailer, the footer that its frames make tells whether all of them are there: the live set
  /// has its checksum.
  private func proveFrames(
    of entry: LiveEntry, end: Int, _ reading: inout EntryReading
  ) throws(StorageError) {
    let framesEnd = reading.losses.first?.range.lowerBound ?? end
    var isProven = false
    if reading.losses.allSatisfy({ $0.range.lowerBound >= framesEnd }), let header = try header() {
      var footer = FooterBuilder()
      try footer.addFrames(of: file, salt: salt, to: framesEnd)
      isProven = footer.frame(at: framesEnd, header: header, salt: salt).checksum == entry.footerChecksum
    }
    let rest = framesEnd..<max(framesEnd, entry.byteCount)
    if isProven {
      reading.losses = []
    } else if reading.losses.isEmpty {
      reading.losses.append(EntryReading.Loss(range: rest, highestSequence: nil))
    }
    reading.damages.append(
      Finding(.footer, segment: number, offset: rest.lowerBound, byteCount: rest.count))
  }

  /// The segment's header, from any of its copies.
  private func header() throws(StorageError) -> SegmentHeader? {
    do throws(NotelogError) {
      guard let header = try Survey.read(file, number)?.header, header.salt == salt.value else { return nil }
      return header
    } catch {
      if let cause = error.cause { throw cause }
      return nil
    }
  }
}
