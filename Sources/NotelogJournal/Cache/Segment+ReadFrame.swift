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
