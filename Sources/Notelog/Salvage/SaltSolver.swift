// Finds the salt of a segment whose headers are lost, from its frames alone: docs/maintenance.md, "Salvage".

import NotelogBase
import NotelogFormat
import NotelogStorage

/// Works out what a segment's salt contributes to its frames' header checksums.
///
/// A payload's checksum does not depend on the salt, so a frame gives itself away without it. CRC-32 is linear: from
/// such a frame's header checksum, the checksum of the salt before it follows. Two frames that agree settle it.
struct SaltSolver: ~Copyable {
  private static let polynomial: UInt32 = 0xEDB8_8320
  /// Frames with longer payloads don't take part: what looks like a frame must not cost much to be refused.
  private static let maximumPayloadByteCount = 1 << 16
  private static let maximumCandidates = 4096

  private var votes: [UInt32: Int] = [:]

  /// The salt's share, or nothing where no two frames agree.
  static func solve(_ file: any StorageFile, byteCount: Int) throws(StorageError) -> SegmentSalt? {
    var solver = SaltSolver()
    var reader = SegmentReader(file, salt: SegmentSalt(0), end: byteCount)
    var place = Layout.firstFrameOffset
    while place + Layout.frameHeaderByteCount <= byteCount {
      if let share = try solver.share(of: &reader, at: place, byteCount: byteCount), solver.count(share) {
        return SegmentSalt(share: share)
      }
      place += 8
    }
    return nil
  }

  private mutating func count(_ share: UInt32) -> Bool {
    if votes.count == Self.maximumCandidates { votes.removeAll(keepingCapacity: true) }
    votes[share, default: 0] += 1
    return votes[share] == 2
  }

  /// What a frame's header says if it is one.
  private struct Claim {
    let payloadByteCount: Int
    let payloadChecksum: UInt32
    /// What the salt's share must be if it is true.
    let share: UInt32

    init?(_ header: RawSpan, at place: Int) {
      guard let kind = FrameKind(rawValue: header.byte(at: 0)),
        header.byte(at: 1) <= 1
      else { return nil }
      payloadByteCount = Int(header.load(UInt32.self, at: 4))
      guard payloadByteCount > 0,
        payloadByteCount <= min(kind.maximumPayloadByteCount, SaltSolver.maximumPayloadByteCount)
      else { return nil }
      payloadChecksum = header.load(UInt32.self, at: 32)
      var rest = Checksum()
      rest.update(UInt32(truncatingIfNeeded: place))
      rest.update(header.extracting(first: 36))
      share = SaltSolver.rewound(header.load(UInt32.self, at: 36) ^ rest.value, byteCount: 40)
    }
  }

  /// What the salt's share must be if the bytes at a place are a frame with a payload that checks.
  private func share(
    of reader: inout SegmentReader, at place: Int, byteCount: Int
  ) throws(StorageError) -> UInt32? {
    let headerEnd = place + Layout.frameHeaderByteCount
    guard let claim = Claim(try reader.bytes(place..<headerEnd), at: place),
      aligned(claim.payloadByteCount) <= byteCount - headerEnd
    else { return nil }
    let payload = try reader.bytes(headerEnd..<headerEnd + aligned(claim.payloadByteCount))
    guard Checksum.of(payload.extracting(first: claim.payloadByteCount)) == claim.payloadChecksum,
      payload.extracting(droppingFirst: claim.payloadByteCount).isZero
    else { return nil }
    return claim.share
  }

  /// The checksum that becomes `checksum` when that many zero bytes are appended to its polynomial.
  private static func rewound(_ checksum: UInt32, byteCount: Int) -> UInt32 {
    var checksum = checksum
    for _ in 0..<8 * byteCount {
      let wasOdd = checksum & 0x8000_0000 != 0
      checksum = wasOdd ? ((checksum ^ polynomial) << 1) | 1 : checksum << 1
    }
    return checksum
  }
}
