// Compaction on demand: FORMAT.md §13.

import NotelogConcurrency

extension Journal {
  /// What a compaction did.
  package struct CompactionResult: Sendable {
    /// Segments that were replaced, and those that took their place.
    package var removedSegments = 0
    package var addedSegments = 0
    /// Segments that are damaged and were left as they are.
    package var damagedSegments: [UInt32] = []
    /// The bytes of the files before and after.
    package var byteCountBefore = 0
    package var byteCountAfter = 0
  }

  /// Copies what is live in segments that hold dead bytes, and deletes them.
  package func compact() throws(JournalError) -> CompactionResult {
    try checkWritable()
    compaction.enter()
    defer { compaction.leave() }
    var result = CompactionResult()
    // How much is live in each segment is known only when all of the index is.
    try journaling { () throws(StorageError) in try catalog.index.loadAll() }
    // Where it can't be found out which chunks live, all of them are taken to.
    try? loadChunks()
    result.byteCountBefore = statistics.byteCount
    do { try finishHeadWithDeadBytes() } catch {
      // Without room for another head, the finished segments come first.
      guard error.code == .full else { throw error }
    }
    try replaceInTurn(compactionGroups(), &result)
    log.refillReserve()
    result.byteCountAfter = statistics.byteCount
    return result
  }

  /// Replaces groups one after another. On a disk too full for a group's copy its segments are tried one by one,
  /// those with the least to copy first: each leaves more room for the next.
  private func replaceInTurn(
    _ groups: [[Segment]], _ result: inout CompactionResult
  ) throws(JournalError) {
    var full: JournalError?
    for group in groups {
      guard let error = try replaceIfRoom(group, &result) else { continue }
      full = error
      guard group.count > 1 else { continue }
      for segment in group.sorted(by: { $0.liveBytes < $1.liveBytes }) where segment.hasDeadBytes {
        _ = try replaceIfRoom([segment], &result)
      }
    }
    if let full, result.removedSegments == 0 { throw full }
  }

  /// Replaces a group, unless it is damaged.
  ///
  /// - Returns: The error where there is no room for the copy.
  private func replaceIfRoom(
    _ group: [Segment], _ result: inout CompactionResult
  ) throws(JournalError) -> JournalError? {
    do {
      try replace(group, &result)
      return nil
    } catch {
      switch error.code {
      case .full: return error
      case .inputOutput:
        // A frame of it does not check, or can't be read. It stays, and so do the others of its group this time.
        result.damagedSegments += group.map(\.number)
        return nil
      default: throw error
      }
    }
  }

  /// Makes the head a finished segment if something in it is dead, so that it can be compacted too.
  private func finishHeadWithDeadBytes() throws(JournalError) {
    log.gate.enter()
    defer { log.gate.leave() }
    try log.waitUntilQuiet()
    try log.readFooter()
    let hasDeadBytes = log.state.withLock { state in
      guard let segment = state.head?.segment, let footer = state.head?.footerByteCount,
        let end = state.head?.end
      else { return false }
      return footer > FooterBuilder().byteCount && end > Layout.firstFrameOffset + segment.liveBytes
    }
    guard hasDeadBytes else { return }
    do { try log.switchSegment(aim: log.aim, needing: 0) } catch {
      guard error.code == .full, log.releaseReserve() else { throw error }
      try log.switchSegment(aim: log.aim, needing: 0)
    }
  }

  /// Segments worth compacting, in groups whose live bytes fill one segment each.
  private func compactionGroups() -> [[Segment]] {
    let aim = log.aim
    var groups: [[Segment]] = []
    var group: [Segment] = []
    var liveByteCount = 0
    for segment in catalog.segments.all {
      guard let byteCount = segment.entry?.byteCount, segment.isWorthCompacting(byteCount, aim: aim) else {
        continue
      }
      if !group.isEmpty, liveByteCount + segment.liveBytes > aim || group.count == Limits.maximumSources {
        groups.append(group)
        group = []
        liveByteCount = 0
      }
      group.append(segment)
      liveByteCount += segment.liveBytes
    }
    if !group.isEmpty { groups.append(group) }
    // One small segment without anything dead in it is as good as its copy.
    return groups.filter { $0.count > 1 || $0[0].hasDeadBytes }
  }

  /// Writes a group's copy, publishes it in one transaction and deletes the sources.
  private func replace(_ sources: [Segment], _ result: inout CompactionResult) throws(JournalError) {
    try promisePublication(of: sources.count)
    let number = try log.state.withLock { state throws(JournalError) in try state.takeNumber() }
    let compaction = Compaction(journal: self, sources: sources)
    let output: Compaction.Output
    do { output = try compaction.run(number: number) } catch {
      guard error.code == .full, log.releaseReserve() else { throw error }
      output = try compaction.run(number: number)
    }
    let file = try journaling { () throws(StorageError) in
      try retryingInterruptions { () throws(StorageError) in try storage.open(FileName.segment(number), .read)
      }
    }
    let segment = Segment(
      number: number, kind: .compacted, salt: SegmentSalt(output.entry.salt), file: file, entry: output.entry)
    try publish(LiveChange(added: [output.entry], removed: sources.map(\.number)))
    try journaling { () throws(StorageError) in
      try catalog.adopt(segment, output.copies, dropped: output.dropped)
    }
    // A second transaction names a floor above the first: a witness that must survive before anything is deleted.
    try publish(LiveChange(added: [], removed: []))
    for source in sources {
      catalog.segments.remove(source.number)
      // What can't be unlinked now is deleted at the next opening: the output names it as a source.
      try? storage.unlink(source.name)
    }
    result.removedSegments += sources.count
    result.addedSegments += 1
  }

  /// Promises the room that publishing takes before the copy is made, which on a full disk may take all there is.
  private func promisePublication(of sourceCount: Int) throws(JournalError) {
    let markByteCount = Layout.frameHeaderByteCount + CommitMark.byteCount
    let changeByteCount = Layout.frameHeaderByteCount + 8 + Layout.liveEntryByteCount + 4 * sourceCount
    log.gate.enter()
    defer { log.gate.leave() }
    try log.makeRoom(
      byteCount: 2 * (markByteCount + changeByteCount + 16), footerByteCount: 0, onlyFrees: true)
  }

  /// Commits a change of the live set durably.
  private func publish(_ change: LiveChange) throws(JournalError) {
    var batch = Batch()
    batch.publish(change)
    try commit(&batch, .durable)
  }
}

extension Segment {
  /// Whether frames in it are dead.
  var hasDeadBytes: Bool {
    guard let byteCount = entry?.byteCount else { return false }
    return byteCount > Self.overheadByteCount + liveBytes
  }

  /// What a compacted segment takes beside its live bytes, at most.
  private static let overheadByteCount =
    Layout.firstFrameOffset + FooterBuilder().byteCount + 8

  /// Whether compacting it would free something, or join it with others.
  func isWorthCompacting(_ byteCount: Int, aim: Int) -> Bool {
    hasDeadBytes || byteCount < aim / 2
  }
}
