// What another process's compactions and recoveries did to the segments, taken into the catalog: FORMAT.md §25, "Following".

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Catalog {
  /// Takes in segments that compactions of another process have made. The caller holds `arrangement`.
  ///
  /// - Returns: Whether the frames of all are known to be those of their sources. Otherwise what lives in them was looked up frame by frame,
  ///   and what their sources held besides is not known to be dead yet.
  func adopt(_ arrivals: [(found: FoundSegment, entry: LiveEntry)]) throws(StorageError) -> Bool {
    let segments = arrivals.map { found, entry in
      Segment(
        number: entry.number, kind: found.header.kind, salt: found.salt, file: found.file, entry: entry,
        figures: Segment.Figures(isNew: true))
    }
    let outcome = Lock<(others: [Int], failure: StorageError?)>(([], nil))
    let queue = WorkQueue(count: segments.count)
    inParallel(min(Self.followingThreadCount, segments.count)) { _ in
      while let number = queue.next() {
        do throws(StorageError) {
          if try adopt(segments[number], of: arrivals[number].found.header) { continue }
          outcome.withLock { $0.others.append(number) }
        } catch {
          outcome.withLock { [error] in $0.failure = error }
        }
      }
    }
    let (others, failure) = outcome.withLock { $0 }
    if let failure { throw failure }
    for number in others.sorted() { try merge(segments[number]) }
    return others.isEmpty
  }

  /// So many threads take compacted segments in.
  private static let followingThreadCount = 2

  /// Takes in a compacted segment whose frames are those of its sources.
  ///
  /// - Returns: Whether they are.
  private func adopt(_ segment: Segment, of header: SegmentHeader) throws(StorageError) -> Bool {
    let sources = header.sources.compactMap { segments[$0.segment] }
    // Of a source that is not known to be finished, or does not check any more, nobody says which frames were left behind.
    guard header.kind == .compacted, sources.count == header.sources.count,
      sources.allSatisfy(\.isFinished),
      let moved = try? Self.moves(from: sources, to: segment)
    else { return false }
    let left = try adopt(segment, of: sources, moved.copies, dropped: moved.dropped)
    // Of two frames of a record in one transaction the later one was copied, and the earlier one looks the same.
    for copy in left where copy.old.chunk == nil { _ = try move(copy.id, to: copy.new, in: segment) }
    return true
  }

  /// Takes in a segment frame by frame.
  private func merge(_ segment: Segment) throws(StorageError) {
    segments.insert(segment)
    do throws(StorageError) {
      for entry in try segment.footerEntries() { try merge(entry, in: segment) }
    } catch {
      // It is not taken in by half: the next look begins with it again.
      segments.remove(segment.number)
      throw error
    }
  }

  /// Which frame of the sources became which of the output. Compaction copies in order: source by source, frame by frame.
  ///
  /// - Returns: Nothing where a frame of the output is none of theirs.
  private static func moves(
    from sources: [Segment], to output: Segment
  ) throws(StorageError) -> (copies: [MovedFrame], dropped: [(id: ID16, location: Location)])? {
    let results = try output.footerEntries()
    var copies: [MovedFrame] = []
    copies.reserveCapacity(results.count)
    var dropped: [(id: ID16, location: Location)] = []
    for source in sources {
      try source.forEachFooterEntry { entry in
        let old = Location(entry, segment: source.number)
        if copies.count < results.count, results[copies.count].isCopy(of: entry) {
          let new = Location(results[copies.count], segment: output.number)
          copies.append(MovedFrame(id: entry.id, old: old, new: new))
        } else if entry.kind == .tombstone {
          dropped.append((entry.id, old))
        }
      }
    }
    return copies.count == results.count ? (copies, dropped) : nil
  }

  /// Takes in a frame that may be known at another place, or not at all.
  func merge(_ entry: FooterEntry, in segment: Segment) throws(StorageError) {
    let location = Location(entry, segment: segment.number)
    if let mark = entry.chunk {
      guard let known = chunks.chunk(mark.number, of: entry.id) else { return }
      chunks.move(
        mark, of: entry.id, from: known.place,
        to: LargeValue.Chunk(place: location.place, payloadByteCount: entry.payloadByteCount))
      return
    }
    if try !move(entry.id, to: location, in: segment) { try apply(entry, in: segment) }
  }

  /// Gives a record the place of a copy of its newest frame.
  ///
  /// - Returns: Whether it is one.
  private func move(_ id: ID16, to location: Location, in segment: Segment) throws(StorageError) -> Bool {
    let fingerprint = index.fingerprint(of: id)
    while let known = try resolve(id, fingerprint), known.sequence == location.sequence,
      known.segment != location.segment
    {
      guard try index.replace(fingerprint, at: known.place, with: location.place) else { continue }
      segments.replaceLive(
        known.liveByteCount, in: segments[known.segment], with: location.liveByteCount, in: segment)
      return true
    }
    return false
  }

  /// Forgets what still stands in a segment that is not live any more, or behind an offset of it: all that lives has a frame elsewhere
  /// by now, and this was deleted by a transaction that is `sequence` or later. The caller holds `arrangement`.
  func forgetFrames(
    of segment: Segment, from start: Int = 0, deletedBy sequence: UInt64
  ) throws(StorageError) {
    var dead: [(id: ID16, location: Location)] = []
    _ = try segment.forEachEntry(from: start, upTo: segment.visibleEnd) { (entry, _) in
      if entry.kind != .chunk { dead.append((entry.id, Location(entry, segment: segment.number))) }
    }
    for frame in dead {
      let fingerprint = index.fingerprint(of: frame.id)
      guard try index.contains(fingerprint, at: frame.location.place) else { continue }
      note(frame.location, of: frame.id, supersededBy: sequence)
      guard try index.remove(fingerprint, at: frame.location.place) else { continue }
      segments.addLive(-frame.location.liveByteCount, in: segment)
    }
  }

  /// Closes segments' files on another thread: who closes the last descriptor of a file without a name waits while its blocks are freed.
  static func letGo(of segments: consuming [Segment]) {
    if segments.isEmpty { return }
    let held = Lock(segments)
    onWaitingThread { held.withLock { $0 = [] } }
  }
}

extension FooterEntry {
  /// Whether it is the same frame at another place.
  fileprivate func isCopy(of other: FooterEntry) -> Bool {
    id == other.id && sequence == other.sequence && kind == other.kind && chunk == other.chunk
      && payloadByteCount == other.payloadByteCount
  }
}
