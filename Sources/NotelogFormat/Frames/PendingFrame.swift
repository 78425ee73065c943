// A frame that is laid out and has no place yet: FORMAT.md §5.

/// A frame whose header waits for sequence number and place.
package struct PendingFrame: BitwiseCopyable {
  package var header: FrameHeader
  package var start: Int
  package var envelopeByteCount: Int

  package init(header: FrameHeader, start: Int, envelopeByteCount: Int) {
    self.header = header
    self.start = start
    self.envelopeByteCount = envelopeByteCount
  }

  /// Where its payload is in the bytes that it is laid out in.
  package var payload: Range<Int> {
    let payloadStart = start + Layout.frameHeaderByteCount
    return payloadStart..<payloadStart + header.payloadByteCount
  }
}
