// One step of compaction: the live frames of some segments, copied into a new one. FORMAT.md §24.

import NotelogBase
import NotelogFormat
import NotelogStorage
import Synchronization

/// Copies the live frames of its sources into one compacted segment, a slice at a time.
struct Compaction: ~Copyable, Sendable {
  /// What was copied, and the tombstones that nothing needs any longer.
  typealias Output = (
    entry: LiveEntry, copies: [Catalog.MovedFrame], dropped: [(id: ID16, location: Location)]
  )

  /// Why a compaction did not come to its end.
  enum Obstacle: Error {
    /// A frame of the source does not check, or its footer doesn't, or can't be read: it stays as it is.
    case damaged(UInt32)
    /// The index lacks a record that the source holds, or names an older version of it, or another record's
    /// frame.
    case wrongIndex(ID16)
    case storage(StorageError)
  }

  let sources: [Segment]
  private let catalog: Catalog
  private var builder: SegmentBuilder
  private var needed: NeededTombstones
  private var copies: [Catalog.MovedFrame] = []
  private var dropped: [(id: ID16, location: Location)] = []
  /// The newest frame of the dead one's record that was looked at last.
  private var newest: (id: ID16, location: Location)?
  /// The source that is being copied, what its footer lists, and how far it is.
  private var source = 0
  private var entries: [FooterEntry] = []
  private var nextEntry = 0
  /// The transaction that frames were copied of last, where a mark is to stand behind them.
  private var run: (sequence: UInt64, mark: CommitMark)?
  private let kind: SegmentKind
  /// The horizon at the beginning. It moves on meanwhile: a deletion above this one may be of a version that
  /// was copied before.
  private let firstHorizon: UInt64
  /// Whether what the footer lists is all that the source holds, so far; nothing before it is begun.
  private var coverage: FooterCoverage?

  /// Begins the output under its temporary name.
  init(
    _ sources: [Segment], of catalog: Catalog, needed: NeededTombstones, in storage: any Storage,
    kind: SegmentKind, number: UInt32, salt: UInt64
  ) throws(Obstacle) {
    do { builder = try SegmentBuilder(in: storage, number: number, salt: salt) } catch {
      throw .storage(error)
    }
    self.sources = sources
    self.catalog = catalog
    self.needed = needed
    self.kind = kind
    firstHorizon = catalog.kept.horizon
  }

  /// The output's segment number.
  var number: UInt32 { builder.number }

  /// Copies live frames, each checked first, until about that many bytes have been read for it or copied.
  ///
  /// - Returns: The bytes that it took, and whether everything is copied.
  mutating func advance(_ byteCount: Int) throws(Obstacle) -> (byteCount: Int, isDone: Bool) {
    // What the tombstones among the frames are still needed for, other footers say.
    var spent = 0
    while spent < byteCount, let count = needed.readNext() { spent += count }
    guard needed.isKnown else { return (spent, false) }
    let start = builder.end
    while source < sources.count {
      let segment = sources[source]
      if coverage == nil {
        do { entries = try segment.footerEntries() } catch { throw .damaged(segment.number) }
        coverage = FooterCoverage(of: segment)
      }
      var reader = SegmentReader(segment.file, salt: segment.salt, end: segment.byteCount)
      while nextEntry < entries.count {
        if builder.end - start >= byteCount - spent { return (spent + builder.end - start, false) }
        let ahead = nextEntry + Catalog.lookahead
        if ahead < entries.count { catalog.prefetch(entries[ahead].id) }
        try check(&reader, entries[nextEntry])
        try copy(entries[nextEntry], of: segment, &reader)
        nextEntry += 1
      }
      try check(&reader, nil)
      source += 1
      (nextEntry, coverage) = (0, nil)
    }
    return (spent + builder.end - start, true)
  }

  /// Finishes the output and gives it its name; that it is live only a transaction can say.
  consuming func publish(
    storeID: ID16, branch: Branch, floor: LogPosition, horizon: UInt64
  ) throws(StorageError) -> Output {
    try endRun()
    let header = SegmentHeader(
      kind, number: builder.number, storeID: storeID, branch: branch, salt: builder.salt.value,
      firstSequence: horizon,
      floor: floor, live: LiveSet(),
      sources: sources.map { LogPosition(segment: $0.number, offset: 0) })
    return (try builder.publish { _ in header }, copies, dropped)
  }

  /// Gives the output up.
  consuming func abandon() { builder.abandon() }

  /// A frame that a footer does not list would be lost with its segment: there must be none before the next
  /// entry.
  private mutating func check(_ reader: inout SegmentReader, _ entry: FooterEntry?) throws(Obstacle) {
    do {
      if try coverage?.reaches(entry, &reader) == true { return }
    } catch {}
    throw .damaged(sources[source].number)
  }

  private mutating func copy(
    _ entry: FooterEntry, of segment: Segment, _ reader: inout SegmentReader
  ) throws(Obstacle) {
    let old = Location(entry, segment: segment.number)
    // A chunk whose mark does not check is damage, and no record that the index lacks.
    if entry.kind == .chunk, old.chunk == nil { throw .damaged(segment.number) }
    let supersession: Supersession?
    let isKept: Bool
    do throws(StorageError) {
      let isCurrent = try catalog.isCurrent(entry.id, at: old)
      supersession = isCurrent ? nil : try catalog.supersession(of: entry.id, at: old, &newest)
      isKept = isCurrent ? false : try catalog.keeps(entry.id, at: old)
    } catch { throw .storage(error) }
    switch supersession {
    case nil: break
    case .proven where isKept: break
    case .proven: return
    case .refuted: throw .wrongIndex(entry.id)
    case .unknown: throw .damaged(segment.number)
    }
    let isExpired = catalog.kept.seconds == 0 || old.sequence <= firstHorizon
    if entry.kind == .tombstone, !isKept, isExpired, !needed.contains(entry.id) {
      dropped.append((entry.id, old))
      return
    }
    let frame = try Self.soundFrame(entry, of: segment, &reader)
    do throws(StorageError) {
      try begin(entry, of: segment, &reader)
      let place = try builder.append(frame, try reader.payload(of: frame, at: entry.offset))
      var moved = entry
      moved.offset = place
      copies.append((entry.id, old, Location(moved, segment: builder.number)))
    } catch { throw .storage(error) }
  }

  /// Has a frame's transaction end in a mark, with the time that it had, where segments have marks.
  private mutating func begin(
    _ entry: FooterEntry, of segment: Segment, _ reader: inout SegmentReader
  ) throws(StorageError) {
    guard kind.hasMarks else { return }
    if run?.sequence != entry.sequence {
      try endRun()
      let time = segment.kind.hasMarks ? try reader.time(of: entry) : nil
      run = (
        entry.sequence, CommitMark(frameCount: 0, firstOffset: builder.end, floor: .zero, time: time ?? 0)
      )
    }
    run?.mark.frameCount += 1
  }

  private mutating func endRun() throws(StorageError) {
    if let ended = run.take() { try builder.append(ended.mark, sequence: ended.sequence) }
  }

  /// The frame that an entry lists, if it checks: damage is never copied under a fresh checksum.
  private static func soundFrame(
    _ entry: FooterEntry, of segment: Segment, _ reader: inout SegmentReader
  ) throws(Obstacle) -> FrameHeader {
    do throws(StorageError) {
      if let header = try reader.frame(at: entry.offset), header.id == entry.id,
        header.sequence == entry.sequence, header.kind == entry.kind, header.collection == entry.collection,
        header.payloadByteCount == entry.payloadByteCount,
        try reader.isWhole(header, at: entry.offset)
      {
        return header
      }
    } catch {}
    throw .damaged(segment.number)
  }
}

// MARK: - Which segments to compact, and in which order: benefit × age ÷ cost. FORMAT.md §24.

/// A segment that compaction might replace.
struct CompactionCandidate {
  let segment: Segment
  let byteCount: Int
  let remainingByteCount: Int
  /// How many transactions came since the youngest frame in it.
  let age: UInt64

  var freedByteCount: Int { max(0, byteCount - Segment.overheadByteCount - remainingByteCount) }

  /// What is gained by compacting it, weighed with how long that is likely to last, for what it costs to read
  /// and write. What changes often is better left until more of it is dead.
  var score: Double { Double(freedByteCount) * Double(age) / Double(byteCount + remainingByteCount) }

  /// Whether so much of it is dead that a copy is worth it.
  func isWorthCopying(_ share: CompactionShare) -> Bool { freedByteCount * share.rawValue > byteCount }
}

/// How much of a segment must be dead, as one part in so many, for its copy to be worth it.
enum CompactionShare: Int {
  /// As small as it gets: well within what the space contract leaves.
  case onDemand = 40
  /// Whatever is dead, however little.
  case purge = 0x8000_0000
  /// What keeps the contract, and no more than that.
  case automatic = 8

  /// How large a part of what is copied tombstones must be, as one part in so many, for looking through the
  /// footers of all other segments for what they delete to be worth it.
  var tombstoneShare: Int { self == .automatic ? 20 : .max }
}

extension [CompactionCandidate] {
  /// Those worth compacting, best first, in groups of which each fills one segment; `aim` is the size of one.
  func groups(aim: Int, _ share: CompactionShare) -> [[CompactionCandidate]] {
    let worthwhile = filter { $0.isWorthCopying(share) }.sorted { $0.score > $1.score }
    // Small segments without anything dead in them are joined with whatever is copied.
    let small = filter { !$0.isWorthCopying(share) && $0.byteCount < aim / 2 }
    var groups: [[CompactionCandidate]] = []
    var group: [CompactionCandidate] = []
    var outputByteCount = Segment.overheadByteCount
    for candidate in worthwhile + small {
      let isFull =
        outputByteCount + candidate.remainingByteCount > aim || group.count == FormatLimits.maximumSources
      if !group.isEmpty, isFull {
        groups.append(group)
        group = []
        outputByteCount = Segment.overheadByteCount
      }
      group.append(candidate)
      outputByteCount += candidate.remainingByteCount
    }
    if !group.isEmpty { groups.append(group) }
    // One small segment alone is as good as its copy.
    groups.removeAll { group in group.count == 1 && !group[0].isWorthCopying(share) }
    return groups
  }

  /// Each by itself, those with the least to copy first: where there is hardly room for anything.
  func single(_ share: CompactionShare) -> [[CompactionCandidate]] {
    filter { $0.isWorthCopying(share) }.sorted { $0.remainingByteCount < $1.remainingByteCount }.map { [$0] }
  }
}

extension [[CompactionCandidate]] {
  /// What compacting these groups would do.
  var estimate: CompactionForecast {
    var estimate = CompactionForecast()
    for group in self {
      estimate.segments += group.map { Int($0.segment.number) }
      estimate.copiedByteCount += group.reduce(0) { $0 + $1.remainingByteCount }
      // The overheads of all but one go too.
      estimate.freedByteCount +=
        group.reduce(0) { $0 + $1.freedByteCount }
        + (group.count - 1) * Segment.overheadByteCount
    }
    estimate.segments.sort()
    return estimate
  }
}

// MARK: - What compaction remembers between its steps. FORMAT.md §24.

/// The state of compaction in an open journal.
final class Compactor: Sendable {
  struct State: ~Copyable, Sendable {
    /// A compaction that ran out of its budget.
    var unfinished: Compaction?
    /// Segments that are damaged: they are set aside, and stay as they are.
    var damaged: Set<UInt32> = []
    /// Replaced segments whose files are still there because a pin holds them: what took their place, by which
    /// revision, and how long they are.
    var deferred: [UInt32: (by: UInt32, revision: UInt64, byteCount: Int)] = [:]
    /// The highest sequence number in each finished segment, as far as anybody asked.
    var lastSequences: [UInt32: UInt64] = [:]
  }

  /// One thread compacts at a time.
  private let isBusy = Monitor(false)
  let state = Lock(State())
  /// The bytes written by transactions since somebody last looked whether compaction is due.
  private let unwatchedByteCount = Atomic<Int>(0)
  /// How many threads do what writers otherwise do a share of.
  let keeperCount = Atomic<Int>(0)
  /// When compaction last found nothing left that was worth it.
  let uselessAt = Lock<NothingToGain?>(nil)

  /// What the store wasted, and what had died in it, when there was nothing to gain; and whether the head was
  /// finished, and nothing under way, when that was found.
  typealias NothingToGain = (wastedByteCount: Int, diedByteCount: Int, includesHead: Bool)

  /// Waits for whoever compacts, and begins.
  func enter() { isBusy.withLock(when: { !$0 }, in: { _ in 0 }) { $0 = true } }

  /// Waits for whoever compacts, and begins, unless it turns out that there is no need to.
  ///
  /// - Returns: Whether compaction is the caller's now.
  func enter(unless isNeedless: () -> Bool) -> Bool {
    isBusy.withLock(when: { !$0 || isNeedless() }, in: { _ in 0 }) { isBusy in
      if isBusy { return false }
      isBusy = true
      return true
    }
  }

  /// Begins if nobody compacts.
  func enterIfFree() -> Bool {
    isBusy.withLock(waking: .nobody) { isBusy in
      defer { isBusy = true }
      return !isBusy
    }
  }

  /// Lets others compact.
  func leave() { isBusy.withLock { $0 = false } }

  /// Has those who wait look again whether they still need to: something was freed.
  func noteFreed() { isBusy.withLock { _ in } }

  /// Counts what a transaction wrote.
  ///
  /// - Returns: Whether it is time to look again whether compaction is due.
  func note(_ byteCount: Int, every interval: Int) -> Bool {
    guard unwatchedByteCount.add(byteCount, ordering: .relaxed).newValue >= interval else { return false }
    unwatchedByteCount.store(0, ordering: .relaxed)
    return true
  }

  /// Gives up what was not finished.
  func abandon() {
    if let unfinished = state.withLock({ $0.unfinished.take() }) { unfinished.abandon() }
  }
}
