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
    result.byteCountBefore = statistics.byteCount
    try finishHeadWithDeadBytes()
    for group in compactionGroups() {
      do { try replace(group, &result) } catch {
        guard error.code == .inputOutput else { throw error }
        // A frame of it does not check, or can't be read. It stays, and so do the others of its group this time.
        result.damagedSegments += group.map(\.number)
      }
    }
    result.byteCountAfter = statistics.byteCount
    return result
  }

  /// Makes the head a finished segment if something in it is dead, so that it can be compacted too.
  private func finishHeadWithDeadBytes() throws(JournalError) {
    log.gate.enter()
    defer { log.gate.leave() }
    try log.waitUntilQuiet()
    let hasDeadBytes = log.state.withLock { state in
      guard let segment = state.head?.segment, let footer = state.head?.footerByteCount,
        let end = state.head?.end
      else { return false }
      return footer > FooterBuilder().byteCount && end > Layout.firstFrameOffset + segment.liveBytes
    }
    guard hasDeadBytes else { return }
    try log.switchSegment(aim: log.aim, needing: 0)
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
    let number = log.state.withLock { $0.takeNumber() }
    let compaction = Compaction(journal: self, sources: sources)
    let output: Compaction.Output
    do { output = try compaction.run(number: number) } catch {
      guard error.code == .full, Reserve(storage).release() else { throw error }
      output = try compaction.run(number: number)
    }
    let file = try journaling { () throws(StorageError) in
      try retryingInterruptions { () throws(StorageError) in try storage.open(FileName.segment(number), .read)
      }
    }
    let segment = Segment(
      number: number, kind: .compacted, salt: SegmentSalt(output.entry.salt), file: file, entry: output.entry)
    catalog.segments.insert(segment)
    try publish(LiveChange(added: [output.entry], removed: sources.map(\.number)))
    for copy in output.copies where !catalog.move(copy.id, from: copy.old, to: copy.new) {
      // It was written anew meanwhile: the copy is dead already.
    }
    for tombstone in output.dropped { catalog.forget(tombstone.id, at: tombstone.location) }
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
