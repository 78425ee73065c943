// Looking which versions that were replaced are kept: FORMAT.md §24, "Kept versions".

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Journal {
  /// Looks again which of the versions that were replaced are kept, if the store keeps any, and how much each
  /// segment holds that is not. The caller has entered the compactor.
  ///
  /// - Parameter isPurging: Whether none is kept that was replaced before now.
  /// - Throws: `inputOutput` where the system fails.
  /// - Complexity: O(*n*) in what the segments list, and in the transactions that changed records.
  func moveHorizon(isPurging: Bool = false) throws(NotelogError) {
    guard catalog.kept.seconds > 0 else { return }
    try findHorizon(isPurging: isPurging)
    catalog.chunks.forget()
    try loadChunks()
    try fromStorage(countExpired())
  }

  /// With a snapshot that is gone when chunks are looked for: what it might see would count as living.
  private func findHorizon(isPurging: Bool) throws(NotelogError) {
    let kept = catalog.kept
    let now = options.clock()
    let duration = UInt64(kept.seconds) * 1000
    let moment = snapshot()
    do throws(StorageError) {
      var changed: Set<ID16> = []
      for segment in moment.segments {
        try segment.forEachEntry(upTo: moment.scanEnd(of: segment)) { (entry, _) throws(StorageError) in
          let location = Location(entry, segment: segment.number)
          if entry.kind.isVersion, try !catalog.isCurrent(entry.id, at: location) { changed.insert(entry.id) }
        }
      }
      var horizon = try moment.horizon(isPurging ? moment.sequence : kept.horizon)
      var versions: [(id: ID16, sequence: UInt64)] = []
      // Transactions of which what they replaced may go, and the first of which it may not.
      var (old, young): ([UInt64], UInt64) = ([], .max)
      for segment in moment.segments {
        var reader = try moment.reader(segment)
        var last: UInt64?
        try segment.forEachEntry(upTo: moment.scanEnd(of: segment)) { (entry, _) throws(StorageError) in
          guard entry.kind.isVersion else { return }
          let sequence = entry.sequence
          if changed.contains(entry.id) { versions.append((entry.id, sequence)) }
          guard sequence != last, sequence > horizon, sequence < young else { return }
          last = sequence
          guard let time = try reader.time(of: entry) else { return }
          if now < duration || time > now - duration { young = sequence } else { old.append(sequence) }
        }
      }
      for sequence in old where sequence < young { horizon = max(horizon, sequence) }
      var last: [ID16: UInt64] = [:]
      for version in versions where version.sequence <= horizon {
        last[version.id] = max(last[version.id] ?? 0, version.sequence)
      }
      kept.move(to: horizon, last, at: now)
    } catch { throw NotelogError(error) }
  }

  /// Counts what compaction would not leave of each segment.
  private func countExpired() throws(StorageError) {
    let moment = snapshot()
    for segment in moment.segments {
      let markByteCount = segment.kind.hasMarks ? CommitMark.frameByteCount : 0
      var (remaining, dead): (Int, Int) = (0, 0)
      var marked: UInt64?
      try segment.forEachEntry(upTo: moment.scanEnd(of: segment)) { (entry, _) throws(StorageError) in
        let location = Location(entry, segment: segment.number)
        var remains = try catalog.isCurrent(entry.id, at: location)
        if !remains { remains = try catalog.keeps(entry.id, at: location) }
        guard remains else { return dead += entry.frameByteCount }
        remaining += location.liveByteCount + (marked == entry.sequence ? 0 : markByteCount)
        marked = entry.sequence
      }
      let rest = segment.byteCount - Segment.overheadByteCount - remaining
      catalog.segments.setExpired(segment.isFinished ? max(0, rest) : dead, in: segment)
    }
  }

  /// Looks again which versions are kept where it is time to, and nobody compacts.
  func moveHorizonIfDue(unlessKnown: Bool = false) {
    let isWanted = unlessKnown && catalog.kept.seconds > 0 && !catalog.kept.isKnown
    guard isWanted || catalog.kept.isDue(at: options.clock()), compactor.enterIfFree() else { return }
    defer { compactor.leave() }
    // What can't be found out now counts as before, and is not looked for at each commit.
    do { try moveHorizon() } catch { catalog.kept.begin(time: options.clock()) }
  }
}

extension Snapshot {
  /// The horizon, or a higher one that compactions of before left.
  func horizon(_ known: UInt64 = 0) throws(StorageError) -> UInt64 {
    var horizon = known
    for segment in segments where segment.kind == .kept {
      // No compaction knew of what came later than all there is.
      if let said = try segment.header()?.firstSequence, said <= sequence { horizon = max(horizon, said) }
    }
    return horizon
  }
}
