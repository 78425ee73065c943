// One step of compaction: the live frames of some segments, copied into a new one. FORMAT.md §24.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// Copies the live frames of its sources into one compacted segment, a slice at a time.
struct Compaction: ~Copyable, Sendable {
  /// What was copied and what was left behind.
  struct Output {
    let entry: LiveEntry
    let copies: [Catalog.MovedFrame]
    /// Tombstones that nothing needs any longer.
    let dropped: [(id: ID16, location: Location)]
  }

  /// Why a compaction did not come to its end.
  enum Obstacle: Error {
    /// A frame of the source does not check, or its footer doesn't, or can't be read: it stays as it is.
    case damaged(UInt32)
    /// The index lacks a record that the source holds, or names an older version of it, or another record's frame.
    case wrongIndex(ID16)
    case storage(StorageError)
  }

  let sources: [Segment]
  private let catalog: Catalog
  private var builder: SegmentBuilder
  private var needed: NeededTombstones
  private var copies: [Catalog.MovedFrame] = []
  private var dropped: [(id: ID16, location: Location)] = []
  /// The source that is being copied, what its footer lists, and how far it is.
  private var source = 0
  private var entries: [FooterEntry]
  private var nextEntry = 0
  /// Whether what the footer lists is all that the source holds, so far.
  private var coverage: FooterCoverage

  /// Begins the output under its temporary name.
  init(
    _ sources: [Segment], of catalog: Catalog, needed: NeededTombstones, in storage: any Storage,
    number: UInt32, salt: UInt64
  ) throws(Obstacle) {
    let entries = try Self.entries(sources.first)
    let coverage = FooterCoverage(of: sources.first)
    let builder = try Self.builder(in: storage, number: number, salt: salt)
    self.init(sources, catalog, builder, needed, entries, coverage)
  }

  private init(
    _ sources: [Segment], _ catalog: Catalog, _ builder: consuming SegmentBuilder, _ needed: NeededTombstones,
    _ entries: [FooterEntry], _ coverage: FooterCoverage
  ) {
    self.sources = sources
    self.catalog = catalog
    self.builder = builder
    self.needed = needed
    self.entries = entries
    self.coverage = coverage
  }

  private static func builder(
    in storage: any Storage, number: UInt32, salt: UInt64
  ) throws(Obstacle) -> SegmentBuilder {
    do { return try SegmentBuilder.create(in: storage, number: number, salt: salt) } catch {
      throw .storage(error)
    }
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
      nextEntry = 0
      let next = source < sources.count ? sources[source] : nil
      entries = try Self.entries(next)
      coverage = FooterCoverage(of: next)
    }
    return (spent + builder.end - start, true)
  }

  /// Finishes the output and gives it its name; that it is live only a transaction can say.
  consuming func publish(
    storeID: ID16, branch: Branch, floor: LogPosition
  ) throws(StorageError) -> Output {
    let header = SegmentHeader(
      .compacted, number: builder.number, storeID: storeID, branch: branch, salt: builder.salt.value,
      firstSequence: 0,
      floor: floor, live: LiveSet(),
      sources: sources.map { SegmentSource(segment: $0.number, keptByteCount: 0) })
    return Output(entry: try builder.publish { _ in header }, copies: copies, dropped: dropped)
  }

  /// Gives the output up.
  consuming func abandon() { builder.abandon() }

  private static func entries(_ source: Segment?) throws(Obstacle) -> [FooterEntry] {
    guard let source else { return [] }
    do { return try source.footerEntries() } catch { throw .damaged(source.number) }
  }

  /// A frame that a footer does not list would be lost with its segment: there must be none before the next entry.
  private mutating func check(_ reader: inout SegmentReader, _ entry: FooterEntry?) throws(Obstacle) {
    do {
      if try coverage.reaches(entry, &reader) { return }
    } catch {}
    throw .damaged(sources[source].number)
  }

  private mutating func copy(
    _ entry: FooterEntry, of segment: Segment, _ reader: inout SegmentReader
  ) throws(Obstacle) {
    let old = Location(entry, segment: segment.number)
    let supersession: Supersession?
    do throws(StorageError) {
      let isCurrent = try catalog.isCurrent(entry.id, at: old)
      supersession = isCurrent ? nil : try catalog.supersession(of: entry.id, at: old)
    } catch { throw .storage(error) }
    switch supersession {
    case nil: break
    case .proven: return
    case .refuted: throw .wrongIndex(entry.id)
    case .unknown: throw .damaged(segment.number)
    }
    if entry.kind == .tombstone, !needed.contains(entry.id) {
      dropped.append((entry.id, old))
      return
    }
    let frame = try Self.soundFrame(entry, of: segment, &reader)
    do throws(StorageError) {
      let place = try builder.append(frame, try reader.payload(of: frame, at: entry.offset))
      var moved = entry
      moved.offset = place
      copies.append(Catalog.MovedFrame(id: entry.id, old: old, new: Location(moved, segment: builder.number)))
    } catch { throw .storage(error) }
  }

  /// The frame that an entry lists, if it checks: damage is never copied under a fresh checksum.
  private static func soundFrame(
    _ entry: FooterEntry, of segment: Segment, _ reader: inout SegmentReader
  ) throws(Obstacle) -> FrameHeader {
    do throws(StorageError) {
      if case .frame(let header) = try reader.frame(at: entry.offset), header.id == entry.id,
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
