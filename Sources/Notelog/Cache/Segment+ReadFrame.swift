// Reading a frame whose length is not known yet, with one system call where there has to be one.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Segment {
  /// What is read at once where nothing is kept: most records end within it.
  private static let guessByteCount = 2048

  /// Reads a frame, or its beginning, into an emptied buffer.
  ///
  /// - Returns: Where in the buffer the frame starts. It may go on behind the buffer's end.
  func readFrame(
    at offset: Int, _ extent: ReadExtent, into buffer: inout Buffer, _ cache: BlockCache
  ) throws(StorageError) -> Int {
    buffer.removeAll()
    if !isReplaced, cache.appendFrame(number, at: offset, extent, to: &buffer) != nil { return 0 }
    var start = 0
    if buffer.count == 0 {
      start = offset % BlockCache.blockByteCount
      let blockStart = offset - start
      let settled = min(BlockCache.blockByteCount, visibleEnd - blockStart)
      // Of what is still being appended to, blocks are kept that are full: the rest of the last one is yet to come.
      let isKept = !isReplaced && (isFinished || settled == BlockCache.blockByteCount)
      if isKept, cache.wantsMissing(number, at: offset) {
        try buffer.fill(max(settled, 0), from: file, at: blockStart)
        // A file that got shorter is not kept as if it were whole.
        if buffer.count == settled { cache.keep(buffer.bytes, of: number, salt, at: blockStart) }
        start = min(start, buffer.count)
      } else {
        start = 0
        try buffer.fill(Self.guessByteCount, from: file, at: offset)
      }
    }
    // A header that lies across two blocks is made whole: it says how long the frame is.
    if buffer.count - start < Layout.frameHeaderByteCount {
      try buffer.fill(Self.guessByteCount, from: file, at: offset + buffer.count - start)
    }
    return start
  }
}

extension Segment {
  /// What the header of the content frame at an offset says, and its envelope's length; nothing where it does not check.
  func frameEntry(at offset: Int, _ cache: BlockCache) throws(StorageError) -> FooterEntry? {
    try withScratch { bytes throws(StorageError) -> FooterEntry? in
      var count = bytes.byteCount
      if !cache.copy(number, at: offset, into: &bytes) {
        count = try file.readFully(into: &bytes, at: offset)
      }
      guard count >= Layout.frameHeaderByteCount,
        case .header(let header) = FrameHeader.read(bytes.bytes, at: 0, salt: salt, place: offset),
        header.kind.isContent
      else { return nil }
      let envelopeByteCount =
        header.hasEnvelope ? Int(bytes.bytes.load(UInt16.self, at: Layout.frameHeaderByteCount)) : 0
      return FooterEntry(
        header, offset: offset, envelopeByteCount: min(envelopeByteCount, header.payloadByteCount))
    }
  }

  /// What the segment's footer says of the frame at an offset; nothing where it has none that checks.
  func listedEntry(at offset: Int) throws(StorageError) -> FooterEntry? {
    guard let byteCount = entry?.byteCount, let trailer = try trailer() else { return nil }
    var reader = SegmentReader(file, salt: salt, end: byteCount)
    var found: FooterEntry?
    _ = try reader.forEachFooterEntry(trailer, evenIfIncomplete: true) { entry, _ in
      if entry.offset == offset { found = entry }
    }
    return found
  }
}

/// What stands where an entry of the index points.
enum CandidateState {
  case frame(FooterEntry)
  /// Neither the frame's header nor the footer says what it is.
  case unreadable
  /// The segment is gone: the frame was moved or is dead.
  case gone
}

extension SegmentTable {
  /// What the frame at a place is.
  func candidateState(at place: FrameAddress, _ cache: BlockCache) throws(StorageError)
    -> CandidateState
  {
    guard let segment = self[place.segment] else { return .gone }
    if let entry = cache.lists.entry(at: place.offset, in: segment) { return .frame(entry) }
    if let entry = try segment.frameEntry(at: place.offset, cache) { return .frame(entry) }
    // The header does not check. Its footer says the same, if there is one.
    if let entry = try segment.listedEntry(at: place.offset) { return .frame(entry) }
    return .unreadable
  }
}
