// Which of the index's candidates is a record's: the id in the frame decides. docs/format-derived.md §31.

import NotelogBase
package import NotelogFormat
package import NotelogStorage

/// What stands where an entry of the index points.
package enum CandidateState {
  case frame(FooterEntry)
  /// Neither the frame's header nor the footer says what it is.
  case unreadable
  /// The segment is gone: the frame was moved or is dead.
  case gone
}

extension SegmentTable {
  /// What the frame at a place is.
  package func candidateState(at place: FrameAddress, _ cache: BlockCache) throws(StorageError)
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

extension Catalog {
  /// The candidate whose frame bears the id.
  func resolve(_ id: ID16, _ fingerprint: UInt64) throws(StorageError) -> Location? {
    var ordinal = 0
    while let place = try index.candidate(fingerprint, ordinal) {
      switch try segments.candidateState(at: place, cache) {
      case .frame(let entry):
        if entry.id == id { return Location(entry, segment: place.segment) }
        ordinal += 1
      case .unreadable:
        ordinal += 1
      case .gone:
        // Moved in between, the entry holds another place by now. If it doesn't, it is nobody's any longer.
        if try index.candidate(fingerprint, ordinal) == place { ordinal += 1 }
      }
    }
    return nil
  }
}

/// Whether a frame that the index does not name is dead.
enum Supersession {
  /// The index names a later frame of the same record.
  case proven
  /// It names none, or an earlier one, or other records' frames in its place: the index is wrong.
  case refuted
  /// What it names can't be read, or is not there.
  case unknown
}

extension Catalog {
  /// Whether a frame that the index does not name is dead. The index's word alone is not enough for destroying it: it may come
  /// from a checkpoint that is wrong.
  ///
  /// Where it names nothing at all the frame is not dead: a tombstone goes only when no footer lists its id any longer.
  func supersession(of id: ID16, at old: Location) throws(StorageError) -> Supersession {
    if old.chunk != nil { return .proven }
    let fingerprint = index.fingerprint(of: id)
    var ordinal = 0
    var isUnknown = false
    while let place = try index.candidate(fingerprint, ordinal) {
      switch try segments.candidateState(at: place, cache) {
      case .frame(let entry) where entry.id == id:
        let known = Location(entry, segment: place.segment)
        // Of one frame there are two where a recovery copied again what a compaction had copied before.
        let isCopy = known.sequence == old.sequence && known.segment != old.segment
        return known.supersedes(old) || isCopy ? .proven : .refuted
      case .frame: ordinal += 1
      case .unreadable:
        isUnknown = true
        ordinal += 1
      case .gone:
        // Moved in between, the entry holds another place by now.
        guard try index.candidate(fingerprint, ordinal) == place else { continue }
        isUnknown = true
        ordinal += 1
      }
    }
    return isVacated(old.segment) ? .proven : isUnknown ? .unknown : .refuted
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
