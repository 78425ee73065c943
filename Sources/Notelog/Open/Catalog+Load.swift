// Builds the index from what an examination accepted: footers first, frames where there is none.

import NotelogFormat
import NotelogStorage
import NotelogBase

/// A segment, and up to where frames are read where it has no footer, or that does not serve.
private struct IndexSource: Sendable {
  let segment: Segment
  var limit = Int.max
}

/// Entries of a segment on their way into the index: a few at a time, whose places in it are all asked for before the first
/// one is looked at.
private struct IndexIntake: ~Copyable {
  private static let size = 32

  private let catalog: Catalog
  /// The catalog's: taken out of it for each entry, it would be counted, and other threads count too.
  private let index: Index
  private let segment: Segment
  private let recordLocks: RecordLocks
  private var waiting: [(entry: FooterEntry, fingerprint: UInt64)] = []

  init(_ catalog: Catalog, _ segment: Segment, _ recordLocks: RecordLocks) {
    self.catalog = catalog
    index = catalog.index
    self.segment = segment
    self.recordLocks = recordLocks
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
    try catalog.apply(waiting, in: segment, recordLocks)
    waiting.removeAll(keepingCapacity: true)
  }
}

extension Catalog {
  /// Takes in every live segment and the log's unfinished end.
  ///
  /// - Parameters:
  ///   - examination: What is accepted; it gets what is found damaged, and what is lost without a name.
  ///   - threadCount: How many threads share the segments.
  ///   - visit: Called on these threads with each entry, its envelope and its segment.
  /// - Throws: What stands in the way of reading.
  func load(
    _ examination: inout Examination, threadCount: Int = 1,
    visit: @Sendable (FooterEntry, RawSpan, UInt32) -> Void = { _, _, _ in }
  ) throws(NotelogError) {
    let sources = examination.indexSources
    for source in sources { segments.insert(source.segment) }
    // The one whose frames are read, if there is one, is the last of them, and takes longest.
    let order = sources.indices.sorted { !sources[$0].segment.hasFooter && sources[$1].segment.hasFooter }
    let queue = WorkQueue(count: sources.count)
    let recordLocks = RecordLocks()
    let outcomes = Lock<[(reading: EntryReading, failure: StorageError?)]>(
      Array(repeating: (EntryReading(), nil), count: sources.count))
    inParallel(max(1, min(threadCount, sources.count))) { _ in
      var window = Buffer()
      while let turn = queue.next() {
        let number = order[turn]
        let source = sources[number]
        let segment = source.segment.number
        var reading = EntryReading()
        var failure: StorageError?
        do throws(StorageError) {
          reading = try load(source, recordLocks, through: &window) { visit($0, $1, segment) }
        } catch { failure = error }
        outcomes.withLock { [reading, failure] in $0[number] = (reading, failure) }
        if failure != nil { queue.stop() }
      }
    }
    for (source, outcome) in zip(sources, outcomes.withLock { $0 }) {
      if let failure = outcome.failure { throw NotelogError(failure) }
      examination.note(outcome.reading, of: source.segment.number)
    }
    examination.noteUnnamedLosses(beside: nil)
  }

  private func load(
    _ source: IndexSource, _ recordLocks: RecordLocks, through window: inout Buffer,
    _ visit: (FooterEntry, RawSpan) -> Void
  ) throws(StorageError) -> EntryReading {
    var intake = IndexIntake(self, source.segment, recordLocks)
    let reading = try source.segment.forEachEntry(upTo: source.limit, through: &window) {
      (entry, envelope) throws(StorageError) in
      try intake.add(entry)
      visit(entry, envelope)
    }
    try intake.flush()
    return reading
  }
}

extension Examination {
  /// What the index is built from.
  fileprivate var indexSources: [IndexSource] {
    var sources: [IndexSource] = []
    for entry in live.entries {
      // A file with another salt is not the segment that is meant, whatever its name: nothing of it is read.
      guard let found = survey.segments[entry.number], found.header.salt == entry.salt else { continue }
      // A source that was cut and not finished yet holds what its kept length covers; the rest is in its successor.
      let cut = log.first { $0.number == entry.number && $0.isCut }
      sources.append(IndexSource(segment: Segment(found, entry: entry, cutEnd: cut?.end)))
    }
    // Nobody lists the newest but itself. Others that are not listed were compacted away and not yet deleted: what
    // they hold is dead, and what deleted it may be gone.
    if let newest, live[newest.number] == nil {
      let limit = newest.number == end.segment ? end.offset : newest.end
      let floor = report.floor.segment == newest.number ? min(report.floor.offset, newest.end) : 0
      sources.append(IndexSource(segment: Segment(newest.found, entry: nil), limit: max(limit, floor)))
    }
    return sources
  }
}

extension Segment {
  convenience init(_ found: FoundSegment, entry: LiveEntry?, cutEnd: Int? = nil) {
    self.init(
      number: found.number, kind: found.header.kind, salt: found.salt, file: found.file, entry: entry,
      cutEnd: cutEnd)
  }

  /// Whether there is a footer in it that lists its frames.
  fileprivate var hasFooter: Bool { entry != nil && cutEnd == nil }
}
