// Collects a segment's footer while its frames are written: FORMAT.md §4.

/// The entries of a footer in the making.
struct FooterBuilder: ~Copyable {
  private var entries = Buffer()
  private var entryCount = 0
  private var lastSequence: UInt64 = 0

  /// The bytes that the footer frame and the trailer take now.
  var byteCount: Int {
    aligned(Layout.frameHeaderByteCount + Layout.footerPrefixByteCount + entries.count)
      + Layout.trailerByteCount
  }

  /// Takes in a frame that was written.
  mutating func note(_ header: FrameHeader, at place: Int, payload: RawSpan) {
    guard header.kind.isContent else { return }
    let envelopeByteCount = header.listedByteCount(inPayload: payload)
    let entry = FooterEntry(header, offset: place, envelopeByteCount: envelopeByteCount)
    add(entry, envelope: payload.extracting(0..<envelopeByteCount))
  }

  /// Takes in an entry as it is.
  mutating func add(_ entry: FooterEntry, envelope: RawSpan) {
    lastSequence = max(lastSequence, entry.sequence)
    entry.append(to: &entries, envelope: envelope)
    entryCount += 1
  }

  /// Appends footer frame and trailer to a buffer whose end will be at `place` of the segment.
  ///
  /// - Returns: The footer checksum.
  func append(to buffer: inout Buffer, at place: Int, header: SegmentHeader, salt: SegmentSalt) -> UInt32 {
    let start = buffer.count
    let payloadStart = start + Layout.frameHeaderByteCount
    buffer.appendZeros(Layout.frameHeaderByteCount + Layout.footerPrefixByteCount)
    buffer.append(entries.bytes)
    let payloadByteCount = buffer.count - payloadStart
    buffer.appendZeros(aligned(buffer.count - start) - (buffer.count - start))
    let frameByteCount = buffer.count - start
    var bytes = buffer.mutableBytes
    header.write(into: &bytes, at: payloadStart)
    bytes.store(UInt32(entryCount), at: payloadStart + Layout.headerByteCount)
    let checksum = Checksum.of(bytes.bytes.extracting(payloadStart..<payloadStart + payloadByteCount))
    FrameHeader(
      .footer, payloadByteCount: payloadByteCount, sequence: lastSequence, payloadChecksum: checksum
    ).write(into: &bytes, at: start, salt: salt, place: place)
    Trailer(footerOffset: place, footerByteCount: frameByteCount, footerChecksum: checksum).append(
      to: &buffer)
    return checksum
  }
}
