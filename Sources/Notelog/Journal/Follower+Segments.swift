// Exchanging the segments that another process's compactions and recoveries have exchanged: FORMAT.md §25, "Following".

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Follower {
  /// Exchanges segments, so that the catalog has those of the live set.
  mutating func rearrange() throws(NotelogError) {
    let live = log.state.withLock(waking: .nobody) { $0.live }
    let known = catalog.segments
    let removed = known.all.filter { $0.number != place.segment && live[$0.number] == nil }
    let added = live.entries.filter { known[$0.number]?.entry != $0 || known[$0.number]?.cutEnd != nil }
    guard !removed.isEmpty || !added.isEmpty || gap != nil || !isExact else { return }
    beginArranging()
    do throws(StorageError) {
      // What is in memory knows places in segments that are about to go.
      try catalog.index.loadAll()
      let arrivals = try find(added)
      if !arrivals.new.isEmpty, try !catalog.adopt(arrivals.new) { isExact = false }
      if gap != nil { keeper?.distrustAll() }
      if !isExact || gap != nil {
        catalog.chunks.forget()
        for segment in removed { try catalog.forgetFrames(of: segment, deletedBy: first) }
        for (old, found, _) in arrivals.recut {
          try catalog.forgetFrames(of: old, from: found.trailer?.footerOffset ?? 0, deletedBy: first)
        }
      }
      // Their ends are elsewhere by now.
      for (old, found, entry) in arrivals.recut {
        known.insert(old.finished(as: entry, in: found.file))
        catalog.cache.forget(entry.number)
      }
      catalog.oldVersions.keep(removed)
      catalog.remove(removed)
      known.noteDeleted(removed.reduce(0) { $0 + $1.byteCount })
    } catch { throw NotelogError(error) }
    Catalog.letGo(of: consume removed)
  }

  /// What a live set names, and the catalog has not, or in another file.
  private struct Arrivals {
    /// Those whose ends a recovery has moved elsewhere.
    var recut: [(old: Segment, found: FoundSegment, entry: LiveEntry)] = []
    /// Those that are not known.
    var new: [(found: FoundSegment, entry: LiveEntry)] = []
  }

  /// The files of segments that a live set names.
  private func find(_ entries: [LiveEntry]) throws(StorageError) -> Arrivals {
    var arrivals = Arrivals()
    for entry in entries {
      let name = FileName.segment(entry.number)
      let known = catalog.segments[entry.number]
      let found: FoundSegment?
      do { found = try Survey.read(name, entry.number, storage) } catch {
        throw error.cause ?? StorageError(.read, name, errno: SystemErrno.inputOutput)
      }
      // A source that recovery has not cut yet is looked at again when it is. One that is not known was compacted before.
      if let found, found.entry != entry {
        let waits = known == nil ? try isToBeCut(found) : true
        if waits { continue }
      }
      guard let found, found.entry == entry else {
        throw StorageError(.open, name, errno: SystemErrno.notFound)
      }
      if let known {
        arrivals.recut.append((known, found, entry))
      } else {
        arrivals.new.append((found, entry))
      }
    }
    return arrivals
  }

  /// Whether the recovered segment in which the log ends says that it will be cut.
  private func isToBeCut(_ found: FoundSegment) throws(StorageError) -> Bool {
    guard let segment, segment.kind == .recovered else { return false }
    do {
      let sources = try Survey.read(segment.file, segment.number)?.header.sources
      return sources?.contains { $0.segment == found.number } ?? false
    } catch {
      throw error.cause ?? StorageError(.read, segment.file.name, errno: SystemErrno.inputOutput)
    }
  }
}
