// Which tombstones still delete something: FORMAT.md §24, "Tombstones".

import NotelogBase
import NotelogFormat
import NotelogStorage

/// The tombstones of a compaction's sources that another segment's footer lists, worked out footer by footer.
struct NeededTombstones: Sendable {
  /// The sources' tombstones.
  private let ids: Set<ID16>
  /// Segments whose footers have not been looked into.
  private var others: [Segment]
  private var listed: Set<ID16> = []
  private var areAllNeeded: Bool

  /// - Parameters:
  ///   - sources: What is compacted.
  ///   - catalog: Where the other segments are.
  ///   - live: The live set: of what it names and the catalog lacks, nobody knows what it held.
  ///   - share: How large a part of the live bytes tombstones must be, as one part in so many, for reading
  ///     all other footers to be worth it.
  /// - Throws: `damaged` where a source's footer can't be read.
  init(
    of sources: [Segment], in catalog: Catalog, live: LiveSet, share: Int
  ) throws(Compaction.Obstacle) {
    var ids: Set<ID16> = []
    var liveByteCount = 0
    for source in sources {
      liveByteCount += source.liveBytes
      do throws(StorageError) {
        for entry in try source.footerEntries() where entry.kind == .tombstone {
          if try catalog.isCurrent(entry.id, at: Location(entry, segment: source.number)) {
            ids.insert(entry.id)
          }
        }
      } catch { throw .damaged(source.number) }
    }
    self.ids = ids
    let numbers = Set(sources.map(\.number))
    others = catalog.segments.all.filter { $0.isFinished && !numbers.contains($0.number) }
    let tombstoneByteCount = ids.count * (Layout.frameHeaderByteCount + Layout.footerEntryByteCount)
    areAllNeeded =
      tombstoneByteCount < liveByteCount / share
      || live.entries.contains { catalog.segments[$0.number] == nil }
  }

  /// Whether every footer that matters has been read.
  var isKnown: Bool { ids.isEmpty || areAllNeeded || others.isEmpty }

  /// Looks into one more footer.
  ///
  /// - Returns: How many bytes it has; nothing where no more need be read.
  mutating func readNext() -> Int? {
    guard !isKnown, let segment = others.popLast() else { return nil }
    guard let entries = try? segment.footerEntries() else {
      // A segment that does not say what it holds may hold anything.
      areAllNeeded = true
      return 0
    }
    var byteCount = 0
    for entry in entries {
      byteCount += entry.entryByteCount
      if ids.contains(entry.id) { listed.insert(entry.id) }
    }
    return byteCount
  }

  /// Whether a source's tombstone has to be kept.
  func contains(_ id: ID16) -> Bool { areAllNeeded || listed.contains(id) || !ids.contains(id) }
}

// MARK: - Whether a footer lists all frames that are there: FORMAT.md §21.1, INV-S2, and §24.

/// Goes along a finished segment with its footer's entries, and looks at what lies between them: what a
/// footer leaves out, nobody copies, and its record would go with the segment.
///
/// Hardly anything is read for it. Frames follow each other; where the frames of one transaction end and
/// those of another begin there is room for a commit mark and no more, the mark is there. Other gaps are
/// walked, header by header.
struct FooterCoverage: Sendable {
  private let footerOffset: Int?
  private let hasMarks: Bool
  /// Where the frame listed last ends, and its transaction.
  private var end = Layout.firstFrameOffset
  private var sequence: UInt64?

  init(of segment: Segment) {
    hasMarks = segment.kind.hasMarks
    // Its footer was read a moment ago. Where the trailer can't be now, nothing is covered.
    footerOffset = (try? segment.trailer())?.footerOffset
  }

  /// Whether no content frame lies between the entry before and this one, or the footer where this is
  /// nothing.
  mutating func reaches(_ entry: FooterEntry?, _ reader: inout SegmentReader) throws(StorageError) -> Bool {
    guard let footerOffset, let place = entry?.offset ?? footerOffset as Int?, place <= footerOffset else {
      return false
    }
    let gap = place - end
    let isSameTransaction = entry != nil && entry?.sequence == sequence
    let hasMark = hasMarks && sequence != nil && !isSameTransaction
    if gap != (hasMark ? CommitMark.frameByteCount : 0), try !isWithoutContent(to: place, &reader) {
      return false
    }
    guard let entry else { return true }
    end = place + entry.frameByteCount
    sequence = entry.sequence
    return true
  }

  /// Walks the frames from the last entry's end to a place.
  private func isWithoutContent(to place: Int, _ reader: inout SegmentReader) throws(StorageError) -> Bool {
    var next = end
    while next < place {
      guard let header = try reader.frame(at: next), !header.kind.isContent else { return false }
      next += header.frameByteCount
    }
    return next == place
  }
}
