// One step of compaction: the live frames of some segments, copied into a new one. FORMAT.md §13.

import NotelogConcurrency

/// Copies the live frames of its sources into one compacted segment.
struct Compaction {
  /// A frame that was copied.
  struct Copy {
    let id: RecordKey
    let old: Location
    let new: Location
  }

  /// What was copied and what was left behind.
  struct Output {
    let entry: LiveEntry
    var copies: [Copy]
    /// Tombstones that nothing needs any longer.
    var dropped: [(id: RecordKey, location: Location)]
  }

  let journal: Journal
  let sources: [Segment]

  /// Writes and publishes the output's file; that it is live only a transaction can say.
  func run(number: UInt32) throws(JournalError) -> Output {
    let salt = journal.options.random()
    let neededTombstones = try tombstonesListedElsewhere()
    do throws(StorageError) {
      var builder = try SegmentBuilder.create(in: journal.storage, number: number, salt: salt)
      var copies: [Copy] = []
      var dropped: [(id: RecordKey, location: Location)] = []
      do throws(StorageError) {
        for source in sources {
          try copy(source, to: &builder, needed: neededTombstones, &copies, &dropped)
        }
      } catch {
        builder.abandon()
        throw error
      }
      let header = SegmentHeader(
        .compacted, number: number, storeID: journal.storeID, salt: salt, firstSequence: 0,
        floor: journal.log.state.withLock { $0.floor }, live: LiveSet(),
        sources: sources.map { SegmentSource(segment: $0.number, keptByteCount: 0) })
      return Output(entry: try builder.publish { _ in header }, copies: copies, dropped: dropped)
    } catch { throw JournalError(error) }
  }

  /// Copies a source's live frames, each checked first.
  private func copy(
    _ source: Segment, to builder: inout SegmentBuilder, needed: Set<RecordKey>, _ copies: inout [Copy],
    _ dropped: inout [(id: RecordKey, location: Location)]
  ) throws(StorageError) {
    guard let byteCount = source.entry?.byteCount else { return }
    for entry in try source.footerEntries() {
      let old = Location(entry, segment: source.number)
      guard try journal.catalog.isCurrent(entry.id, at: old) else { continue }
      if entry.kind == .tombstone, !needed.contains(entry.id) {
        dropped.append((entry.id, old))
        continue
      }
      var reader = SegmentReader(source.file, salt: source.salt.value, end: byteCount)
      guard case .frame(let header) = try reader.frame(at: entry.offset),
        try reader.isWhole(header, at: entry.offset)
      else { throw StorageError(.read, source.name, errno: SystemErrno.inputOutput) }
      let place = try builder.append(header, try reader.payload(of: header, at: entry.offset))
      var moved = entry
      moved.offset = place
      copies.append(Copy(id: entry.id, old: old, new: Location(moved, segment: builder.number)))
    }
  }

  /// The ids of the sources' tombstones that another segment's footer lists: there is something they still delete.
  private func tombstonesListedElsewhere() throws(JournalError) -> Set<RecordKey> {
    do {
      var ids: Set<RecordKey> = []
      for source in sources {
        for entry in try source.footerEntries() where entry.kind == .tombstone { ids.insert(entry.id) }
      }
      guard !ids.isEmpty else { return [] }
      var listed: Set<RecordKey> = []
      let sourceNumbers = Set(sources.map(\.number))
      for segment in journal.catalog.segments.all
      where segment.entry != nil && !sourceNumbers.contains(segment.number) {
        for entry in try segment.footerEntries() where ids.contains(entry.id) { listed.insert(entry.id) }
      }
      return listed
    } catch { throw JournalError(error) }
  }
}

extension Segment {
  /// The entries of a finished segment's footer.
  func footerEntries() throws(StorageError) -> [FooterEntry] {
    guard let entry else { return [] }
    var reader = SegmentReader(file, salt: salt.value, end: entry.byteCount)
    var entries: [FooterEntry] = []
    let trailerStart = entry.byteCount - Layout.trailerByteCount
    guard let trailer = Trailer(try reader.bytes(trailerStart..<entry.byteCount), at: 0),
      try reader.forEachFooterEntry(trailer, { entry, _ in entries.append(entry) })
    else { throw StorageError(.read, name, errno: SystemErrno.inputOutput) }
    return entries
  }
}
