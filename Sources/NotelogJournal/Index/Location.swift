// Where a record's newest frame is.

/// A frame's place and what its header said.
package struct Location: Equatable, Sendable, BitwiseCopyable {
  package let segment: UInt32
  package let offset: UInt32
  package let payloadByteCount: UInt32
  package let entryByteCount: UInt32
  package let sequence: UInt64
  package let collection: UInt16
  package let isTombstone: Bool

  init(_ entry: FooterEntry, segment: UInt32) {
    self.segment = segment
    offset = UInt32(entry.offset)
    payloadByteCount = UInt32(entry.payloadByteCount)
    entryByteCount = UInt32(entry.entryByteCount)
    sequence = entry.sequence
    collection = entry.collection
    isTombstone = entry.kind == .tombstone
  }

  /// Whether the frame is newer than another of the same id: by its transaction, or by its place in it.
  func supersedes(_ other: Location) -> Bool {
    if sequence != other.sequence { return sequence > other.sequence }
    return segment == other.segment && offset > other.offset
  }

  /// The bytes of the frame, padding included.
  var frameByteCount: Int { aligned(Layout.frameHeaderByteCount + Int(payloadByteCount)) }
  /// The bytes that count as live: the frame and its footer entry.
  var liveByteCount: Int { frameByteCount + Int(entryByteCount) }
}
