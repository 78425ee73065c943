// What a backup consists of: FORMAT.md §26.

import NotelogBase
import NotelogFormat

/// The list of a backup's files. It is there twice; each of the two is replaced in one step, one after the other.
struct BackupManifest: Equatable, Sendable {
  static let magic: UInt64 = 0x0A1A_4B42_4C4E_0D89
  static let fileName = "manifest"
  static let copyName = "manifest.copy"
  /// What is refused before anything is allocated for it.
  static let maximumByteCount = 1 << 26
  private static let partsStart = 64 + Layout.headerByteCount

  /// What is known of the log's last segment besides its file, so that a damaged file of it is never taken for a whole one.
  struct End: Equatable, Sendable {
    var header: SegmentHeader
    /// The sequence number that the next transaction would have got.
    var nextSequence: UInt64
    /// What the close mark says of the live set.
    var liveCount: Int
    var liveChecksum: UInt32

    /// Appends the frame of the close mark that the copy of the log ends in.
    func appendClosing(to buffer: inout Buffer, at position: LogPosition) {
      CloseMark(place: position, liveCount: liveCount, liveChecksum: liveChecksum).appendFrame(
        to: &buffer, sequence: nextSequence, salt: SegmentSalt(header.salt), place: position.offset)
    }

    /// What that frame takes.
    static let closingByteCount = Layout.frameHeaderByteCount + CloseMark.byteCount
  }

  var storeID: ID16
  /// Where the backup ends.
  var position = LogPosition.zero
  /// Grows with each backup: tells the newer of the two files.
  var generation: UInt64 = 0
  /// The log's last segment; nothing where it is finished.
  var end: End?
  /// The files, those among them that only the last backup of a sound store consists of.
  var parts: [Part] = []

  /// Whether a part is the log's end, whose last segment is not finished.
  func isEnd(_ part: Part) -> Bool {
    end != nil && part.isCurrent && part.kind != .segment && part.entry.number == position.segment
  }

}

extension BackupManifest {
  init?(_ bytes: RawSpan) {
    guard bytes.byteCount >= Self.partsStart + 4, bytes.load(UInt64.self, at: 0) == Self.magic,
      bytes.load(UInt32.self, at: 8) == 1
    else { return nil }
    let count = Int(bytes.load(UInt32.self, at: 12))
    let partsEnd = Self.partsStart + count * Layout.liveEntryByteCount
    guard bytes.byteCount == partsEnd + 4,
      bytes.load(UInt32.self, at: partsEnd) == Checksum.of(bytes.extracting(first: partsEnd))
    else { return nil }
    storeID = ID16(bytes, at: 16)
    position = LogPosition(bytes, at: 32)
    generation = bytes.load(UInt64.self, at: 40)
    guard position.isValid, position.offset <= FormatLimits.maximumSegmentByteCount else { return nil }
    parts = []
    var numbers: Set<UInt32> = []
    for place in stride(from: Self.partsStart, to: partsEnd, by: Layout.liveEntryByteCount) {
      guard let part = Part(bytes, at: place) else { return nil }
      if part.isCurrent, !numbers.insert(part.entry.number).inserted { return nil }
      parts.append(part)
    }
    if !bytes.extracting(64..<Self.partsStart).isZero {
      guard let header = try? SegmentHeader(bytes, at: 64), header.number == position.segment,
        position.offset >= Layout.firstFrameOffset, position.offset % 8 == 0
      else { return nil }
      end = End(
        header: header, nextSequence: bytes.load(UInt64.self, at: 48),
        liveCount: Int(bytes.load(UInt32.self, at: 56)), liveChecksum: bytes.load(UInt32.self, at: 60))
    }
  }

  func append(to buffer: inout Buffer) {
    buffer.removeAll()
    buffer.appendZeros(Self.partsStart)
    for part in parts { part.append(to: &buffer) }
    var bytes = buffer.mutableBytes
    bytes.store(Self.magic, at: 0)
    bytes.store(UInt32(1), at: 8)
    bytes.store(UInt32(parts.count), at: 12)
    storeID.write(into: &bytes, at: 16)
    position.write(into: &bytes, at: 32)
    bytes.store(generation, at: 40)
    if let end {
      bytes.store(end.nextSequence, at: 48)
      bytes.store(UInt32(end.liveCount), at: 56)
      bytes.store(end.liveChecksum, at: 60)
      end.header.write(into: &bytes, at: 64)
    }
    let checksum = Checksum.of(buffer.bytes)
    let place = buffer.count
    buffer.appendZeros(4)
    var whole = buffer.mutableBytes
    whole.store(checksum, at: place)
  }
}
