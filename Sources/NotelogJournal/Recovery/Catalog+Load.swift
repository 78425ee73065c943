// Builds the index from what an examination accepted: footers first, frames where there is none.

import NotelogConcurrency

/// A segment, and what of it is to be taken into the index.
private struct IndexSource: Sendable {
  let segment: Segment
  let found: FoundSegment
  /// Where its footer is; nothing where frames are to be read.
  let trailer: Trailer?
  /// Up to where frames are read, where there is no footer or it does not serve.
  let limit: Int

  init(_ found: FoundSegment, entry: LiveEntry?, trailer: Trailer? = nil, limit: Int) {
    segment = Segment(found, entry: entry)
    self.found = found
    self.trailer = trailer
    self.limit = min(limit, found.byteCount)
  }
}

/// Entries of a segment on their way into the index: a few at a time, whose places in it are all asked for before the first
/// one is looked at.
private struct IndexIntake: ~Copyable {
  private static let size = 32

  private let catalog: Catalog
  /// The catalog's: taken out of it for each entry, it would be counted, and other threads count too.
  private let index: Index
  private let segment: Segment
  private let settling: SettlingLocks
  private var waiting: [(entry: FooterEntry, fingerprint: UInt64)] = []

  init(_ catalog: Catalog, _ segment: Segment, _ settling: SettlingLocks) {
    self.catalog = catalog
    index = catalog.index
    self.segment = segment
    self.settling = settling
    waiting.reserveCapacity(Self.size)
  }

  /// Adds an entry.
  mutating func add(_ entry: FooterEntry) throws(StorageError) {
    let fingerprint = index.fingerprint(of: entry.id)
    index.prefetch(fingerprint)
    waiting.append((entry, fingerprint))
    if waiting.count == Self.size { try flush() }
  }

  /// Takes in those that wait.
  mutating func flush() throws(StorageError) {
    try catalog.take(waiting, in: segment, settling)
    waiting.removeAll(keepingCapacity: true)
  }
}

extension Catalog {
  /// Takes in every live segment and the log's unfinished end.
  ///
  /// - Parameters:
  ///   - examination: What is accepted; it gets what is found damaged.
  ///   - threadCount: How many threads share the segments.
  ///   - visit: Called on these threads with each entry, its envelope and its segment.
  /// - Throws: What stands in the way of reading.
  func load(
    _ examination: inout Examination, threadCount: Int = 1,
    visit: @Sendable (FooterEntry, RawSpan, UInt32) -> Void = { _, _, _ in }
  ) throws(JournalError) {
    let sources = examination.indexSources
    for source in sources { segments.insert(source.segment) }
    // The one whose frames are read, if there is one, is the last of them, and takes longest.
    let order = sources.indices.sorted { sources[$0].trailer == nil && sources[$1].trailer != nil }
    let queue = WorkQueue(count: sources.count)
    let settling = SettlingLocks()
    let outcomes = Lock<[(damages: [Damage], failure: StorageError?)]>(
      Array(repeating: ([], nil), count: sources.count))
    inParallel(max(1, min(threadCount, sources.count))) { _ in
      var window = Buffer()
      while let turn = queue.next() {
        let number = order[turn]
        let source = sources[number]
        let segment = source.found.number
        var damages: [Damage] = []
        var failure: StorageError?
        do throws(StorageError) {
          try load(source, settling, through: &window, &damages) { visit($0, $1, segment) }
        } catch { failure = error }
        outcomes.withLock { [damages, failure] in $0[number] = (damages, failure) }
        if failure != nil { queue.stop() }
      }
    }
    for (damages, failure) in outcomes.withLock({ $0 }) {
      if let failure { throw JournalError(failure) }
      examination.report.damages += damages
      for damage in damages where damage.kind == .lostFrames {
        examination.noteLostFrames(in: damage.segment)
      }
    }
  }

  private func load(
    _ source: IndexSource, _ settling: SettlingLocks, through window: inout Buffer, _ damages: inout [Damage],
    _ visit: (FooterEntry, RawSpan) -> Void
  ) throws(StorageError) {
    let number = source.found.number
    var intake = IndexIntake(self, source.segment, settling)
    if let trailer = source.trailer {
      var reader = SegmentReader(source.found.file, salt: source.segment.salt, end: source.found.byteCount)
      reader.exchangeWindow(with: &window)
      defer { reader.exchangeWindow(with: &window) }
      let state = try reader.forEachFooterEntry(trailer) { (entry, envelope) throws(StorageError) in
        try intake.add(entry)
        visit(entry, envelope)
      }
      if state == .complete { return try intake.flush() }
      if state == .unreadable {
        damages.append(
          Damage(.footer, segment: number, offset: trailer.footerOffset, byteCount: trailer.footerByteCount))
      }
      // The frames say where others were lost.
    }
    var reader = SegmentReader(source.found.file, salt: source.segment.salt, end: source.limit)
    reader.exchangeWindow(with: &window)
    defer { reader.exchangeWindow(with: &window) }
    try reader.forEachContentFrame(
      from: Layout.firstFrameOffset, to: source.limit, checkingPayloads: false
    ) { (finding, envelope) throws(StorageError) in
      switch finding {
      case .content(let entry, _):
        try intake.add(entry)
        visit(entry, envelope)
      case .lost(let range):
        damages.append(
          Damage(.lostFrames, segment: number, offset: range.lowerBound, byteCount: range.count))
      }
    }
    try intake.flush()
  }
}

extension Examination {
  /// What the index is built from.
  fileprivate var indexSources: [IndexSource] {
    var sources: [IndexSource] = []
    for entry in live.entries {
      // A file with another salt is not the segment that is meant, whatever its name: nothing of it is read.
      guard let found = survey.segments[entry.number], found.header.salt == entry.salt else { continue }
      let segment = log.first { $0.number == entry.number }
      // A source that was cut and not finished yet holds what its kept length covers; the rest is in its successor.
      if let trailer = found.trailer, segment?.isCut != true {
        sources.append(IndexSource(found, entry: entry, trailer: trailer, limit: trailer.footerOffset))
      } else {
        sources.append(IndexSource(found, entry: entry, limit: segment?.end ?? found.byteCount))
      }
    }
    // Nobody lists the newest but itself. Others that are not listed were compacted away and not yet deleted: what
    // they hold is dead, and what deleted it may be gone.
    if let newest, live[newest.number] == nil {
      let limit = newest.number == end.segment ? end.offset : newest.end
      let floor = report.floor.segment == newest.number ? min(report.floor.offset, newest.end) : 0
      sources.append(IndexSource(newest.found, entry: nil, limit: max(limit, floor)))
    }
    return sources
  }
}

extension Segment {
  convenience init(_ found: FoundSegment, entry: LiveEntry?) {
    self.init(number: found.number, kind: found.header.kind, salt: found.salt, file: found.file, entry: entry)
  }
}
