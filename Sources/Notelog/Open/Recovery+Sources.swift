// What becomes of the segments that a recovery cuts: FORMAT.md §22, line 11.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Recovery {
  /// Line 11: cuts and finishes, or deletes, the sources of the newest recovered segment.
  ///
  /// It is done again at each opening until the log goes on: what an earlier opening did can be read, but a process
  /// that was killed, or a sync that failed, may have left it in memory only.
  ///
  /// - Returns: Whether anything had to be done.
  static func finishSources(_ examination: Examination, in storage: any Storage) throws(NotelogError) -> Bool
  {
    guard let newest = examination.newest?.found, newest.header.kind == .recovered else { return false }
    let isAnythingLeft = newest.header.sources.contains { examination.survey.segments[$0.segment] != nil }
    guard isAnythingLeft else { return false }
    do {
      // Nothing may go before the name of the segment that takes its place is durable.
      try storage.makeNamesDurable()
      var isChanged = false
      for source in newest.header.sources {
        guard let found = examination.survey.segments[source.segment] else { continue }
        if source.keptByteCount == 0 {
          try storage.remove(FileName.segment(source.segment))
          isChanged = true
        } else if let entry = examination.live[source.segment] {
          isChanged = try cutAndFinish(found, kept: source.keptByteCount, as: entry, storage) || isChanged
        }
      }
      if isChanged { try storage.makeNamesDurable() }
      return isChanged
    } catch { throw NotelogError(error) }
  }

  /// - Returns: Whether it was done; not where the frames are no longer those that the recovered segment spoke of: then
  ///   they are damaged, and stay as they are.
  private static func cutAndFinish(
    _ found: FoundSegment, kept: Int, as entry: LiveEntry, _ storage: any Storage
  ) throws(StorageError) -> Bool {
    var buffer = Buffer()
    guard try footer(of: found, kept: kept, into: &buffer) == entry else { return false }
    let name = FileName.segment(found.number)
    // Whoever has the file open may read what is moved to the recovered segment, so a copy takes its place. The footer of one that
    // was cut already is written again, over itself.
    let isCut = found.byteCount == entry.byteCount
    if !isCut {
      let temporary = name + FileName.partialSuffix
      do throws(StorageError) {
        let copy = try storage.openEmpty(temporary)
        defer { copy.close() }
        try copy.copyBytes(of: found.file, 0..<min(kept, found.byteCount))
        try copy.setLength(kept)
        try copy.writeAll(buffer.bytes, at: kept)
        try copy.makeDurable()
        try storage.move(temporary, to: name)
        return true
      } catch {
        guard error.isNoSpace else { throw error }
        try? storage.unlink(temporary)
      }
    }
    let file = try storage.openFile(name, .update)
    defer { file.close() }
    if !isCut { try file.setLength(kept) }
    try file.writeAll(buffer.bytes, at: kept)
    try file.makeDurable()
    return true
  }
}

extension Examination {
  /// Where a source ends that a recovery was interrupted before it cut, and in `footer` what comes behind that; nothing where it is cut, or its
  /// frames are not those that the live set speaks of.
  func cutEnd(of entry: LiveEntry, footer: inout Buffer) throws(StorageError) -> Int? {
    guard let segment = log.first(where: { $0.number == entry.number && $0.isCut }),
      let source = log.flatMap(\.found.header.sources).last(where: { $0.segment == entry.number }),
      try Recovery.footer(of: segment.found, kept: source.keptByteCount, into: &footer) == entry
    else { return nil }
    return source.keptByteCount
  }
}
