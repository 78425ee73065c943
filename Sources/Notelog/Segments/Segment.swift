// A segment that the store reads or appends to.

import NotelogBase
import NotelogFormat
import NotelogStorage
import Synchronization

/// A segment of an open store.
final class Segment: Sendable {
  let number: UInt32
  let kind: SegmentKind
  let salt: SegmentSalt
  let file: any StorageFile
  private let figures: Figures
  /// How the live set identifies it, once it is finished.
  let entry: LiveEntry?
  /// What a compacted segment takes beside what remains of its sources, at most.
  static let overheadByteCount = Layout.firstFrameOffset + FooterBuilder().byteCount + 8
  /// Whether nothing is added to it any more: it is not the head.
  var isFinished: Bool { entry != nil }
  /// Where its frames end, if a recovery that was interrupted has cut it and not given it a footer yet.
  let cutEnd: Int?

  /// Whether a recovery has put another file in the place of its own; all that have the same file share it.
  private let replaced: Flag

  /// Whether a recovery has put another file in the place of its own.
  var isReplaced: Bool { replaced.isSet }

  /// Figures that change; a segment keeps them when it is finished.
  final class Figures: Sendable {
    fileprivate let live = Atomic<Int>(0)
    fileprivate let chunks = Atomic<Int>(0)
    fileprivate let visibleEnd = Atomic<Int>(0)
    fileprivate let deaths = Atomic<Int>(0)
    fileprivate let expired = Atomic<Int>(0)
    fileprivate let wholeSince: Atomic<Int>

    /// Figures of a segment of which nothing is known, or to which nothing has been written yet.
    init(isNew: Bool) { wholeSince = Atomic(isNew ? 0 : -1) }
  }

  init(
    number: UInt32, kind: SegmentKind, salt: SegmentSalt, file: any StorageFile, entry: LiveEntry?,
    cutEnd: Int? = nil, figures: Figures = Figures(isNew: false), replaced: Flag = Flag(false)
  ) {
    self.number = number
    self.kind = kind
    self.salt = salt
    self.file = file
    self.entry = entry
    self.cutEnd = cutEnd
    self.figures = figures
    self.replaced = replaced
  }

  /// The segment as it is once it is finished.
  func finished(as entry: LiveEntry) -> Segment {
    Segment(
      number: number, kind: kind, salt: salt, file: file, entry: entry, figures: figures, replaced: replaced)
  }

  /// The same in another file, which a recovery has put in its place. Who holds this one reads on in its
  /// file, and not in the blocks that are kept under its number.
  func finished(as entry: LiveEntry, in file: any StorageFile) -> Segment {
    _ = replaced.exchange(true)
    return Segment(number: number, kind: kind, salt: salt, file: file, entry: entry, figures: figures)
  }

  /// The same, to be appended to.
  func reopened(in file: any StorageFile) -> Segment {
    Segment(number: number, kind: kind, salt: salt, file: file, entry: nil, figures: figures)
  }

  /// The bytes of live frames in it, with their footer entries. Chunks count once it is known which of them
  /// live.
  var liveBytes: Int { recordBytes + figures.chunks.load(ordering: .relaxed) }
  /// The bytes of live records and deletions among them.
  var recordBytes: Int { figures.live.load(ordering: .relaxed) }

  /// In a store that keeps versions, the bytes that compaction would not leave, as it was known when the
  /// horizon was moved.
  var expiredByteCount: Int { figures.expired.load(ordering: .relaxed) }

  /// Sets that figure.
  ///
  /// - Returns: What it was.
  @discardableResult
  func setExpired(_ byteCount: Int) -> Int { figures.expired.exchange(byteCount, ordering: .relaxed) }

  /// Counts bytes of records and deletions that became live, or died.
  func addLive(_ byteCount: Int) {
    figures.live.add(byteCount, ordering: .relaxed)
    if byteCount < 0 { noteDeath() }
  }

  // Whether all of the records in it are current. Where that is known, what goes through the segment need not
  // look each of them up in the index, which costs it a wait for memory.

  /// How often one of its frames died, as far as is known.
  var deathCount: Int { figures.deaths.load(ordering: .acquiring) }

  /// Notes that a frame is not current any more, or never was.
  func noteDeath() { figures.deaths.add(1, ordering: .acquiringAndReleasing) }

  /// Notes that all records were found to be current, by looking them up after there had been so many deaths.
  func noteWhole(since deathCount: Int) { figures.wholeSince.store(deathCount, ordering: .releasing) }

  /// Whether all records in it are known to be current now. Of what is being appended to, that is all that is
  /// visible.
  var isWhole: Bool { figures.wholeSince.load(ordering: .acquiring) == deathCount }

  /// Counts bytes of chunks that became live, or died.
  func addChunks(_ byteCount: Int) { figures.chunks.add(byteCount, ordering: .relaxed) }

  /// Notes that everything below an offset is visible, and so filled.
  func show(upTo end: Int) { figures.visibleEnd.store(end, ordering: .releasing) }

  /// Up to where its bytes never change again: all of them once it is finished, and until then what was
  /// written to it and is visible, as far as that is known.
  var visibleEnd: Int { cutEnd ?? entry?.byteCount ?? figures.visibleEnd.load(ordering: .acquiring) }

  /// The length of its file, once it is finished.
  var byteCount: Int { entry?.byteCount ?? 0 }

  var name: String { FileName.segment(number) }
}

// MARK: - What a segment holds: from its footer, or from its frames where it has none that checks. FORMAT.md §4 and §12.

/// What going through a segment's entries came to.
struct EntryReading: Sendable {
  /// What does not check and costs nothing: the footer, where the frames are all there; a mark; the live
  /// set's frame.
  var damages: [Finding] = []
  /// Bytes where frames were, and which of them, nothing in the segment says. No frame in them had a higher
  /// sequence number; nothing where that isn't known.
  var losses: [(finding: Finding, highestSequence: UInt64?)] = []
  /// Where the frames end of a finished segment of which none is lost, as its footer says, or as they make
  /// the footer that is meant.
  var framesEnd: Int?
  /// Whether every entry there ever was has been shown.
  var isWhole: Bool { losses.isEmpty }

  /// All that was found.
  var allDamages: [Finding] { damages + losses.map(\.finding) }
}

extension Segment {
  /// The trailer of a finished segment; nothing where it does not check, isn't the one that the live set
  /// speaks of, or the file has lost its end.
  func trailer() throws(StorageError) -> Trailer? {
    guard let entry, let trailer = try Trailer.read(file, byteCount: entry.byteCount),
      trailer.footerChecksum == entry.footerChecksum
    else { return nil }
    return trailer
  }

  /// Calls `body` with what the footer lists, or with what the frames say where no footer checks, from one
  /// offset up to a limit.
  ///
  /// - Parameters:
  ///   - start: Entries before it are passed over.
  ///   - limit: Where frames end, in a segment that isn't finished; in one that is, no more than its footer's
  ///     place matters.
  ///   - body: Called with an entry and its envelope.
  /// - Returns: What does not check, and where frames are lost that nothing names.
  /// - Throws: What `body` throws, and what stands in the way of reading.
  @discardableResult
  func forEachEntry(
    from start: Int = 0, upTo limit: Int, _ body: (FooterEntry, RawSpan) throws(StorageError) -> Void
  ) throws(StorageError) -> EntryReading {
    var reading = EntryReading()
    if let cutEnd {
      _ = try forEachFrameEntry(from: start, upTo: limit, end: cutEnd, &reading, body)
      return reading
    }
    let trailer = try trailer()
    if let entry, let trailer {
      var reader = SegmentReader(file, salt: salt, end: entry.byteCount)
      let state = try reader.forEachFooterEntry(trailer) { (entry, envelope) throws(StorageError) in
        if entry.offset >= start, entry.offset < limit { try body(entry, envelope) }
      }
      if state == .complete {
        reading.framesEnd = trailer.footerOffset
        return reading
      }
      if state == .unreadable {
        reading.damages.append(
          Finding(.footer, segment: number, offset: trailer.footerOffset, byteCount: trailer.footerByteCount))
      }
    }
    // Where frames end, the trailer says; without it, the frames themselves up to where the footer begins.
    let end = trailer?.footerOffset ?? (entry == nil ? limit : entry?.byteCount ?? limit)
    let framesEnd = try forEachFrameEntry(from: start, upTo: limit, end: end, &reading, body)
    if let entry, trailer == nil { try proveFrames(of: entry, end: framesEnd, &reading) }
    return reading
  }

  /// Goes through the frames, which end at `end` at the latest, and notes what is lost between them.
  ///
  /// - Returns: Where the last frame ends.
  private func forEachFrameEntry(
    from start: Int, upTo limit: Int, end: Int, _ reading: inout EntryReading,
    _ body: (FooterEntry, RawSpan) throws(StorageError) -> Void
  ) throws(StorageError) -> Int {
    let fileEnd = try file.byteCount()
    let first = max(start, Layout.firstFrameOffset)
    let readEnd = min(limit, end, fileEnd)
    var walk = SegmentWalk(file, salt: salt, end: readEnd, from: first)
    while true {
      let header = try walk.advance()
      if let lost = walk.lost { try note(lost, &reading) }
      guard let header, header.kind != .footer else { break }
      guard header.kind.isContent else { continue }
      let entry = try walk.entry(of: header).entry
      try body(entry, try walk.envelope(of: entry))
    }
    let wanted = min(limit, end)
    if fileEnd < wanted, first < wanted {
      reading.losses.append((Finding(.lostFrames, segment: number, max(fileEnd, first)..<wanted), nil))
    }
    return walk.place
  }

  /// Notes a gap between frames: a loss, unless it held nothing but a mark, or the live set.
  private func note(_ lost: LostBytes, _ reading: inout EntryReading) throws(StorageError) {
    if !lost.mayHoldContent(in: kind) {
      return reading.damages.append(Finding(.commitMark, segment: number, lost.range))
    }
    var range = lost.range
    if kind.isLog, range.lowerBound == Layout.firstFrameOffset, let header = try header() {
      let byteCount = aligned(Layout.frameHeaderByteCount + header.liveCount * Layout.liveEntryByteCount)
      reading.damages.append(
        Finding(.liveSet, segment: number, offset: range.lowerBound, byteCount: min(byteCount, range.count)))
      range = min(range.lowerBound + byteCount, range.upperBound)..<range.upperBound
      if range.isEmpty { return }
    }
    reading.losses.append((Finding(.lostFrames, segment: number, range), lost.highestSequence(in: kind)))
  }

  /// In a finished segment without a trailer, the footer that its frames make tells whether all of them are
  /// there: the live set has its checksum.
  private func proveFrames(
    of entry: LiveEntry, end: Int, _ reading: inout EntryReading
  ) throws(StorageError) {
    // Losses are in order, and before the first one nothing is lost that a footer lists.
    let framesEnd = reading.losses.first?.finding.range.lowerBound ?? end
    if let header = try header() {
      let footer = try FooterBuilder(framesOf: file, salt: salt, to: framesEnd, isWhole: true)
      let made = footer.finish(at: framesEnd, header: header) { _ in }
      if made.footerChecksum == entry.footerChecksum { reading.framesEnd = framesEnd }
    }
    let rest = framesEnd..<max(framesEnd, entry.byteCount)
    if reading.framesEnd != nil {
      reading.losses = []
    } else if reading.losses.isEmpty {
      reading.losses.append((Finding(.lostFrames, segment: number, rest), nil))
    }
    reading.damages.append(Finding(.footer, segment: number, rest))
  }

  /// The segment's header, from any of its copies.
  func header() throws(StorageError) -> SegmentHeader? {
    do throws(StorageError) {
      guard let header = try Survey.read(file, number)?.header, header.salt == salt.value else { return nil }
      return header
    } catch {
      if error.call == .version { return nil }
      throw error
    }
  }

  // MARK: - What a finished segment's footer says of it: FORMAT.md §21.1.

  /// The entries of a finished segment's footer.
  func footerEntries() throws(StorageError) -> [FooterEntry] {
    guard let entry else { return [] }
    let unreadable = StorageError(.read, name, errno: SystemErrno.inputOutput)
    guard let trailer = try trailer() else { throw unreadable }
    var entries: [FooterEntry] = []
    entries.reserveCapacity(min(trailer.footerByteCount, entry.byteCount) / Layout.footerEntryByteCount)
    var reader = SegmentReader(file, salt: salt, end: entry.byteCount)
    let state = try reader.forEachFooterEntry(trailer) { entry, _ in entries.append(entry) }
    guard state == .complete else { throw unreadable }
    return entries
  }

  /// Where the frames are that are still there: those that the footer lists, complete or not; without a
  /// trailer, those that check.
  func soundOffsets() throws(StorageError) -> Set<Int> {
    var offsets: Set<Int> = []
    guard let trailer = try trailer() else {
      var walk = SegmentWalk(file, salt: salt, end: min(try file.byteCount(), entry?.byteCount ?? .max))
      while let header = try walk.advance(), header.kind != .footer {
        if header.kind.isContent, try walk.reader.isWhole(header, at: walk.place) {
          offsets.insert(walk.place)
        }
      }
      return offsets
    }
    var reader = SegmentReader(file, salt: salt, end: trailer.footerOffset + trailer.footerByteCount)
    _ = try reader.forEachFooterEntry(trailer, evenIfIncomplete: true) { entry, _ in
      offsets.insert(entry.offset)
    }
    return offsets
  }

  /// The highest sequence number of its frames: its footer's header says so.
  func lastSequence() -> UInt64? {
    guard let entry, let trailer = try? trailer() else { return nil }
    var reader = SegmentReader(file, salt: salt, end: entry.byteCount)
    let header = try? reader.frame(at: trailer.footerOffset)
    return header?.kind == .footer ? header?.sequence : nil
  }
}

// MARK: - A file that is opened when somebody first reads it: a store has many segments, and an opening needs few of them.

/// A file for reading that is opened at the first read.
///
/// Nothing of it need be checked then: a frame is valid only under the salt of the segment that is meant.
final class DeferredFile: StorageFile {
  /// What the reference holds: it can only hold objects of one class.
  private final class Opened: Sendable {
    let file: any StorageFile
    init(_ file: any StorageFile) { self.file = file }
  }

  private let storage: any Storage
  private let number: UInt32
  private let opened = AtomicLazyReference<Opened>()

  /// The file of a segment.
  init(segment number: UInt32, in storage: any Storage) {
    self.number = number
    self.storage = storage
  }

  var name: String { FileName.segment(number) }

  /// The file, opened now if it wasn't. Of two threads that open it at once, the later closes what it opened.
  private func file() throws(StorageError) -> any StorageFile {
    if let opened = opened.load() { return opened.file }
    let file = try storage.openFile(name, .read)
    return opened.storeIfNil(Opened(file)).file
  }

  func read(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
    try file().read(into: &bytes, at: offset)
  }

  func byteCount() throws(StorageError) -> Int { try file().byteCount() }

  func close() { opened.load()?.file.close() }
}

// MARK: - What stands for a file that is not there: FORMAT.md §12, line 7.

/// A segment's file that is missing, or holds something else: nothing can be read of it, as of one that was
/// cut to nothing.
final class MissingFile: StorageFile {
  let name: String

  init(_ name: String) { self.name = name }

  func read(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int { 0 }
  func sync() throws(StorageError) {}
  func byteCount() throws(StorageError) -> Int { 0 }
  func close() {}
}
