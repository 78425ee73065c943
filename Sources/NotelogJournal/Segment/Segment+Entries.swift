// What a segment holds: from its footer, or from its frames as long as it has none.

extension Segment {
  /// The trailer of a finished segment; nothing where it does not check, or the file has lost its end.
  func trailer() throws(StorageError) -> Trailer? {
    guard let byteCount = entry?.byteCount, byteCount >= Layout.trailerByteCount,
      try file.byteCount() >= byteCount
    else { return nil }
    var reader = SegmentReader(file, salt: salt, end: byteCount)
    return Trailer(try reader.bytes(byteCount - Layout.trailerByteCount..<byteCount), at: 0)
  }

  /// Calls `body` with what the footer lists, or with what the frames say, from one offset up to a limit, where no footer
  /// checks.
  ///
  /// - Returns: Whether that is everything: not where bytes are lost in which frames may have been.
  @discardableResult
  func forEachEntry(
    from start: Int = 0, upTo limit: Int, _ body: (FooterEntry, RawSpan) throws(StorageError) -> Void
  ) throws(StorageError) -> Bool {
    let fileByteCount = try file.byteCount()
    if let byteCount = entry?.byteCount, let trailer = try trailer() {
      var reader = SegmentReader(file, salt: salt, end: byteCount)
      let state = try reader.forEachFooterEntry(trailer) { (entry, envelope) throws(StorageError) in
        if entry.offset >= start { try body(entry, envelope) }
      }
      if state == .complete { return true }
    }
    let end = min(limit, fileByteCount)
    var isWhole = end == limit
    var reader = SegmentReader(file, salt: salt, end: end)
    try reader.forEachContentFrame(
      from: max(start, Layout.firstFrameOffset), to: end, checkingPayloads: false
    ) { (finding, envelope) throws(StorageError) in
      switch finding {
      case .content(let entry, _): try body(entry, envelope)
      case .lost: isWhole = false
      }
    }
    return isWhole
  }
}
