// What the log says behind a checkpoint, and how a shard takes it in: FORMAT.md §14.

/// A frame that a shard does not know yet.
struct TailEntry: Sendable {
  let fingerprint: UInt64
  let id: RecordKey
  let location: Location
}

extension Shard {
  /// What taking in an entry came to.
  enum Taken {
    case new
    case replaced(Location)
    /// Known already, or older than what is known.
    case older
  }

  /// Takes in an entry; which of the candidates is its record, the ids in their frames say.
  mutating func take(
    _ entry: TailEntry, _ segments: SegmentTable, _ cache: BlockCache
  ) throws(StorageError) -> Taken {
    var ordinal = 0
    while let place = table.place(entry.fingerprint, at: ordinal) {
      if place == entry.location.place { return .older }
      guard case .frame(let known) = try segments.standing(at: place, cache), known.id == entry.id else {
        ordinal += 1
        continue
      }
      let location = Location(known, segment: place.segment)
      guard entry.location.supersedes(location) else { return .older }
      _ = table.replace(entry.fingerprint, at: place, with: entry.location.place)
      tombstoneCount += (entry.location.isTombstone ? 1 : 0) - (place.isTombstone ? 1 : 0)
      return .replaced(location)
    }
    table.insert(entry.fingerprint, entry.location.place)
    if entry.location.isTombstone { tombstoneCount += 1 }
    return .new
  }
}

extension Segment {
  /// Calls `body` with the records and deletions that lie between two positions of the log, or anywhere in a segment
  /// that is wholly between them.
  ///
  /// - Returns: Whether the whole range could be read.
  @discardableResult
  func forEachTailEntry(
    key: FingerprintKey, from start: LogPosition?, to end: LogPosition,
    _ body: (TailEntry) throws(StorageError) -> Void
  ) throws(StorageError) -> Bool {
    let first = start?.segment == number ? start?.offset ?? 0 : 0
    let limit = end.segment == number ? end.offset : Int.max
    func pass(_ entry: FooterEntry) throws(StorageError) {
      guard entry.kind != .chunk, entry.offset >= first, entry.offset < limit else { return }
      try body(
        TailEntry(
          fingerprint: key.fingerprint(of: entry.id), id: entry.id,
          location: Location(entry, segment: self.number)))
    }
    if let byteCount = entry?.byteCount, try file.byteCount() >= byteCount {
      var reader = SegmentReader(file, salt: salt.value, end: byteCount)
      let trailerStart = byteCount - Layout.trailerByteCount
      if let trailer = Trailer(try reader.bytes(trailerStart..<byteCount), at: 0),
        try reader.forEachFooterEntry(trailer, { (entry, _) throws(StorageError) in try pass(entry) })
          == .complete
      {
        return true
      }
    }
    let byteCount = try file.byteCount()
    let readEnd = min(limit, byteCount)
    var isWhole = limit == .max || byteCount >= limit
    var reader = SegmentReader(file, salt: salt.value, end: readEnd)
    try reader.forEachContentFrame(
      from: max(first, Layout.firstFrameOffset), to: readEnd, checkingPayloads: false
    ) { (finding, _) throws(StorageError) in
      switch finding {
      case .content(let entry, _): try pass(entry)
      case .lost: isWhole = false
      }
    }
    return isWhole
  }
}
