// Reading a frame whose length is not known yet, with one system call where there has to be one.

extension Segment {
  /// What is read at once where nothing is kept: most records end within it.
  private static let guessByteCount = 2048

  /// Reads a frame, or its beginning, into an emptied buffer.
  ///
  /// - Returns: Where in the buffer the frame starts. It may go on behind the buffer's end.
  func readFrame(
    at offset: Int, into buffer: inout Buffer, _ cache: BlockCache
  ) throws(StorageError) -> Int {
    buffer.removeAll()
    // What is still being appended to is not kept: the rest of its last block is yet to come.
    guard let byteCount = entry?.byteCount else {
      try buffer.fill(Self.guessByteCount, from: file, at: offset)
      return 0
    }
    var start = 0
    switch cache.appendFrame(number, at: offset, to: &buffer) {
    case .found: break
    case .missing(isWanted: false):
      try buffer.fill(Self.guessByteCount, from: file, at: offset)
    case .missing(isWanted: true):
      start = offset % BlockCache.blockByteCount
      let blockStart = offset - start
      let wanted = min(BlockCache.blockByteCount, byteCount - blockStart)
      try buffer.fill(max(wanted, 0), from: file, at: blockStart)
      // A file that got shorter is not kept as if it were whole.
      if buffer.count == wanted { cache.keep(buffer.bytes, of: number, at: blockStart) }
      start = min(start, buffer.count)
    }
    // A header that lies across two blocks is made whole: it says how long the frame is.
    if buffer.count - start < Layout.frameHeaderByteCount {
      try buffer.fill(Self.guessByteCount, from: file, at: offset + buffer.count - start)
    }
    return start
  }
}
