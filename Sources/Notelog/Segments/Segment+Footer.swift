// What a finished segment's footer says of it: FORMAT.md §21.1.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Segment {
  /// The entries of a finished segment's footer.
  func footerEntries() throws(StorageError) -> [FooterEntry] {
    var entries: [FooterEntry] = []
    if let entry, let trailer = try trailer() {
      entries.reserveCapacity(min(trailer.footerByteCount, entry.byteCount) / Layout.footerEntryByteCount)
    }
    try forEachFooterEntry { entries.append($0) }
    return entries
  }

  /// Calls `body` with each entry of a finished segment's footer, for who needs them but once.
  func forEachFooterEntry(_ body: (FooterEntry) -> Void) throws(StorageError) {
    guard let entry else { return }
    var reader = SegmentReader(file, salt: salt, end: entry.byteCount)
    let unreadable = StorageError(.read, name, errno: SystemErrno.inputOutput)
    guard let trailer = try trailer() else { throw unreadable }
    let state = try reader.forEachFooterEntry(trailer) { entry, _ in body(entry) }
    guard state == .complete else { throw unreadable }
  }

  /// Where the frames are that are still there: those that the footer lists, complete or not; without a trailer, those that check.
  func soundOffsets() throws(StorageError) -> Set<Int> {
    var offsets: Set<Int> = []
    guard let trailer = try trailer() else {
      let end = min(try file.byteCount(), entry?.byteCount ?? .max)
      guard end > Layout.firstFrameOffset else { return [] }
      var reader = SegmentReader(file, salt: salt, end: end)
      try reader.forEachContentFrame(from: Layout.firstFrameOffset, to: end, checkingPayloads: true) {
        (finding, _) in
        if case .content(let entry, isWhole: true) = finding { offsets.insert(entry.offset) }
      }
      return offsets
    }
    var reader = SegmentReader(file, salt: salt, end: trailer.footerOffset + trailer.footerByteCount)
    _ = try reader.forEachFooterEntry(trailer, evenIfIncomplete: true) { entry, _ in
      offsets.insert(entry.offset)
    }
    return offsets
  }

  /// The highest sequence number of its frames: its footer's header says so.
  func lastSequence() -> UInt64? {
    do throws(StorageError) {
      guard let trailer = try trailer() else { return nil }
      var buffer = Buffer()
      try buffer.fill(Layout.frameHeaderByteCount, from: file, at: trailer.footerOffset)
      guard buffer.count == Layout.frameHeaderByteCount,
        case .header(let header) = FrameHeader.read(
          buffer.bytes, at: 0, salt: salt, place: trailer.footerOffset), header.kind == .footer
      else { return nil }
      return header.sequence
    } catch { return nil }
  }
}
