// What a finished segment's footer lists, in memory: FORMAT.md §21.1.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// The frames of a finished segment by their offsets. What its footer says of one is what the frame's header says.
final class FrameList: Sendable {
  /// The entries as the footer has them, each with its envelope.
  private let entries: [UInt8]
  /// Of each stretch of the segment, where the entries begin of the frames that start in it or behind it.
  private let starts: [UInt32]
  /// A stretch has so many bytes, as an exponent of 2: about as many as a frame.
  private let stretchShift: Int

  /// The memory that is counted for it.
  let byteCount: Int

  /// The memory a list takes, at most: as many stretches as frames, or twice as many.
  static func byteCount(of trailer: Trailer) -> Int {
    trailer.footerByteCount + 2 * (frameCount(of: trailer) + 1) * MemoryLayout<UInt32>.size
  }

  /// How many frames a footer lists, at most.
  static func frameCount(of trailer: Trailer) -> Int { trailer.footerByteCount / Layout.footerEntryByteCount }

  /// Reads a segment's footer; nothing where it does not check, or lists less than there was.
  init?(_ segment: Segment, _ trailer: Trailer) throws(StorageError) {
    guard let end = segment.entry?.byteCount else { return nil }
    let frameByteCount = trailer.footerOffset / max(Self.frameCount(of: trailer), 1)
    let shift = Int.bitWidth - 1 - max(frameByteCount, 1).leadingZeroBitCount
    var reader = SegmentReader(segment.file, salt: segment.salt, end: end)
    var entries = Buffer(capacity: trailer.footerByteCount)
    var starts: [UInt32] = []
    starts.reserveCapacity(trailer.footerOffset >> shift + 1)
    let state = try reader.forEachFooterEntry(trailer) { entry, envelope in
      // There is no frame behind the footer, whatever it says.
      guard entry.offset < trailer.footerOffset else { return }
      while starts.count <= entry.offset >> shift { starts.append(UInt32(entries.count)) }
      entry.append(to: &entries, envelope: envelope)
    }
    guard state == .complete else { return nil }
    self.entries = entries.bytes.array()
    self.starts = starts
    byteCount = Self.byteCount(of: trailer)
    stretchShift = shift
  }

  /// What is listed at an offset.
  func entry(at offset: Int) -> FooterEntry? {
    let stretch = offset >> stretchShift
    guard stretch < starts.count else { return nil }
    return Self.entry(at: offset, of: entries, from: Int(starts[stretch]))
  }

  private static func entry(at offset: Int, of entries: [UInt8], from start: Int) -> FooterEntry? {
    let entries = entries.rawSpan
    var start = start
    while let entry = FooterEntry(entries, at: start), entry.offset <= offset {
      if entry.offset == offset { return entry }
      start += entry.entryByteCount
    }
    return nil
  }
}
