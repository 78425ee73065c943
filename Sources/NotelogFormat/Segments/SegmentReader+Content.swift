// Lists a segment's record, tombstone and chunk frames: from its footer, or from the frames themselves.

import NotelogBase
package import NotelogStorage

extension SegmentReader {
  /// What a footer says.
  package enum FooterState {
    /// All that the segment ever held.
    case complete
    /// What was left when the footer was made: frames had been lost by then.
    case incomplete
    /// Nothing: it does not check.
    case unreadable
  }

  /// Calls `body` with every entry of the footer and its envelope; with none of one that is incomplete, unless that is asked
  /// for, nor of one that does not check.
  package mutating func forEachFooterEntry(
    _ trailer: Trailer, evenIfIncomplete: Bool = false,
    _ body: (FooterEntry, RawSpan) throws(StorageError) -> Void
  ) throws(StorageError) -> FooterState {
    guard let header = try footerHeader(trailer), try isWhole(header, at: trailer.footerOffset) else {
      return .unreadable
    }
    let payload = try payload(of: header, at: trailer.footerOffset)
    let count = Int(payload.load(UInt32.self, at: Layout.headerByteCount))
    let incompleteness = payload.load(UInt32.self, at: Layout.headerByteCount + 4)
    guard incompleteness <= 1, Self.entriesFit(payload, count: count) else { return .unreadable }
    if incompleteness == 1, !evenIfIncomplete { return .incomplete }
    var place = Layout.footerPrefixByteCount
    for _ in 0..<count {
      guard let entry = FooterEntry(payload, at: place) else { return .unreadable }
      let envelopeStart = place + Layout.footerEntryByteCount
      try body(entry, payload.extracting(envelopeStart..<envelopeStart + entry.envelopeByteCount))
      place += entry.entryByteCount
    }
    return incompleteness == 1 ? .incomplete : .complete
  }

  /// The header of the footer that a trailer speaks of, if there is one.
  private mutating func footerHeader(_ trailer: Trailer) throws(StorageError) -> FrameHeader? {
    guard case .frame(let header) = try frame(at: trailer.footerOffset), header.kind == .footer,
      header.payloadChecksum == trailer.footerChecksum, header.frameByteCount == trailer.footerByteCount,
      header.payloadByteCount >= Layout.footerPrefixByteCount
    else { return nil }
    return header
  }

  /// Whether that many entries fill the payload exactly.
  private static func entriesFit(_ payload: RawSpan, count: Int) -> Bool {
    var place = Layout.footerPrefixByteCount
    for _ in 0..<count {
      guard let entry = FooterEntry(payload, at: place) else { return false }
      place += entry.entryByteCount
    }
    return place == payload.byteCount
  }

  /// What listing the frames of a range came upon.
  package enum Finding {
    /// A content frame; the envelope is empty where it has none or its payload does not check.
    case content(FooterEntry, isWhole: Bool)
    /// Bytes in which no frame could be read.
    case lost(LostBytes)
  }

  /// Calls `body` with every content frame from a place up to a limit, below which everything did happen.
  ///
  /// Payloads are read and checked where that is asked for, or where an envelope has to be found in one.
  ///
  /// - Returns: Where it ended: at the limit, or where the footer's frame begins.
  @discardableResult
  package mutating func forEachContentFrame(
    from start: Int, to limit: Int, checkingPayloads: Bool,
    _ body: (Finding, RawSpan) throws(StorageError) -> Void
  ) throws(StorageError) -> Int {
    var place = start
    var previous: FrameHeader?
    while place < limit {
      guard case .frame(let header) = try frame(at: place), header.frameByteCount <= limit - place else {
        let next = try nextFrame(from: place + 8)
        let end = min(next?.place ?? limit, limit)
        let lost = LostBytes(range: place..<end, previous: previous, next: end < limit ? next?.header : nil)
        try body(.lost(lost), RawSpan())
        place = end
        continue
      }
      if header.kind == .footer { return place }
      if header.kind.isContent {
        let needsPayload =
          checkingPayloads || header.hasEnvelope || header.kind.beginning == .chunkMark
        let isWhole = needsPayload ? try isWhole(header, at: place) : true
        if needsPayload, isWhole {
          let payload = try payload(of: header, at: place)
          let entry = FooterEntry(header, offset: place, payload: payload)
          try body(.content(entry, isWhole: true), payload.extracting(first: entry.envelopeByteCount))
        } else {
          let entry = FooterEntry(header, offset: place, envelopeByteCount: 0)
          try body(.content(entry, isWhole: isWhole), RawSpan())
        }
      }
      previous = header
      place += header.frameByteCount
    }
    return place
  }
}
