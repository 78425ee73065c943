// A segment's header: FORMAT.md §4.

package import NotelogBase
package import NotelogStorage

/// What a segment is.
package enum SegmentKind: UInt16, Sendable, BitwiseCopyable {
  case log = 1
  case recovered = 2
  case compacted = 3
  /// Compacted, with a commit mark behind the frames of each transaction.
  case kept = 4

  /// Whether its transactions are part of the log, in order of segment numbers.
  package var isLog: Bool { self == .log || self == .recovered }

  /// Whether a commit mark stands behind the frames of each transaction.
  package var hasMarks: Bool { self != .compacted }
}

/// The line of a store's history that a segment was written in. Copies of a store part ways: a restored and a
/// salvaged store begin another.
package struct Branch: Equatable, Sendable {
  /// Random.
  package var id: ID16
  /// Whether commits have their times, which is chosen when the store is created.
  package let keepsTimes: Bool
  /// For how many seconds after they were replaced versions are kept, which is chosen then too; 0 for none.
  package let keptSeconds: UInt32

  package init(id: ID16, keepsTimes: Bool, keptSeconds: UInt32 = 0) {
    self.id = id
    self.keepsTimes = keepsTimes || keptSeconds > 0
    self.keptSeconds = keptSeconds
  }

  /// What compaction makes.
  package var compactedKind: SegmentKind { keptSeconds > 0 ? .kept : .compacted }
}

/// The 512 bytes that a segment starts with, has again at 4,096, and a third time in its footer.
package struct SegmentHeader: Equatable, Sendable {
  package static let magic: UInt64 = 0x1A0A_0D47_4F4C_4E89
  package static let version: UInt16 = 1

  package var kind: SegmentKind
  package var number: UInt32
  package var storeID: ID16
  package var salt: UInt64
  package var firstSequence: UInt64
  package var floor: LogPosition
  package var liveCount: Int
  package var liveChecksum: UInt32
  /// The segments that it takes the place of, each from a place on: where that is 0, of all of it.
  package var sources: [LogPosition]
  package var branch: Branch
  /// Bits that only a writer must know.
  package var writeFlags: UInt32 = 0

  /// Why bytes are not a header.
  package enum Refusal: Error { case notAHeader, unsupportedVersion }

  /// Reads the header at an offset.
  package init(_ bytes: RawSpan, at start: Int) throws(Refusal) {
    guard bytes.byteCount - start >= Layout.headerByteCount else { throw .notAHeader }
    let bytes = bytes.extracting(start..<start + Layout.headerByteCount)
    guard bytes.load(UInt64.self, at: 0) == Self.magic,
      bytes.load(UInt32.self, at: 508) == Checksum.of(bytes.extracting(0..<508))
    else { throw .notAHeader }
    guard bytes.load(UInt16.self, at: 8) == Self.version, bytes.load(UInt32.self, at: 12) == 0 else {
      throw .unsupportedVersion
    }
    guard let kind = SegmentKind(rawValue: bytes.load(UInt16.self, at: 10)),
      bytes.load(UInt32.self, at: 76) <= 1, bytes.extracting(500..<508).isZero
    else { throw .notAHeader }
    let keptSeconds = bytes.load(UInt32.self, at: 496)
    guard keptSeconds == 0 || bytes.load(UInt32.self, at: 76) == 1, keptSeconds > 0 || kind != .kept else {
      throw .notAHeader
    }
    let sourceCount = Int(bytes.load(UInt32.self, at: 72))
    guard sourceCount <= FormatLimits.maximumSources, bytes.extracting(80 + 8 * sourceCount..<480).isZero
    else { throw .notAHeader }
    self.kind = kind
    writeFlags = bytes.load(UInt32.self, at: 16)
    number = bytes.load(UInt32.self, at: 20)
    storeID = ID16(bytes, at: 24)
    branch = Branch(
      id: ID16(bytes, at: 480), keepsTimes: bytes.load(UInt32.self, at: 76) == 1, keptSeconds: keptSeconds)
    salt = bytes.load(UInt64.self, at: 40)
    firstSequence = bytes.load(UInt64.self, at: 48)
    floor = LogPosition(bytes, at: 56)
    liveCount = Int(bytes.load(UInt32.self, at: 64))
    liveChecksum = bytes.load(UInt32.self, at: 68)
    sources = (0..<sourceCount).map { LogPosition(bytes, at: 80 + 8 * $0) }
    guard FileName.isSegmentNumber(number), firstSequence <= FormatLimits.maximumSequence, floor.isValid,
      sources.allSatisfy({ FileName.isSegmentNumber($0.segment) })
    else { throw .notAHeader }
  }

  package init(
    _ kind: SegmentKind, number: UInt32, storeID: ID16, branch: Branch, salt: UInt64, firstSequence: UInt64,
    floor: LogPosition, live: LiveSet, sources: [LogPosition] = []
  ) {
    self.kind = kind
    self.number = number
    self.storeID = storeID
    self.branch = branch
    self.salt = salt
    self.firstSequence = firstSequence
    self.floor = floor
    liveCount = live.count
    liveChecksum = live.checksum
    self.sources = sources
  }

  /// Writes the header into 512 zeros at an offset.
  package func write(into bytes: inout MutableRawSpan, at start: Int) {
    precondition(sources.count <= FormatLimits.maximumSources, "a header names at most 50 sources")
    bytes.store(Self.magic, at: start)
    bytes.store(Self.version, at: start + 8)
    bytes.store(kind.rawValue, at: start + 10)
    bytes.store(writeFlags, at: start + 16)
    bytes.store(number, at: start + 20)
    storeID.write(into: &bytes, at: start + 24)
    bytes.store(salt, at: start + 40)
    bytes.store(firstSequence, at: start + 48)
    floor.write(into: &bytes, at: start + 56)
    bytes.store(UInt32(liveCount), at: start + 64)
    bytes.store(liveChecksum, at: start + 68)
    bytes.store(UInt32(sources.count), at: start + 72)
    bytes.store(UInt32(branch.keepsTimes ? 1 : 0), at: start + 76)
    branch.id.write(into: &bytes, at: start + 480)
    bytes.store(branch.keptSeconds, at: start + 496)
    for (index, source) in sources.enumerated() { source.write(into: &bytes, at: start + 80 + 8 * index) }
    bytes.store(Checksum.of(bytes.bytes.extracting(start..<start + 508)), at: start + 508)
  }

  /// Writes the header at both of its places in a file.
  ///
  /// - Parameter file: The segment's file.
  /// - Throws: What writing throws.
  package func write(to file: any StorageFile) throws(StorageError) {
    var buffer = Buffer(capacity: Layout.headerByteCount)
    buffer.appendZeros(Layout.headerByteCount)
    var bytes = buffer.mutableBytes
    write(into: &bytes, at: 0)
    try file.writeAll(buffer.bytes, at: 0)
    try file.writeAll(buffer.bytes, at: Layout.headerCopyOffset)
  }

  /// Whether it is the live set that the segment was created with.
  package func speaks(of live: LiveSet) -> Bool { liveCount == live.count && liveChecksum == live.checksum }

  /// The start of a log segment: header, zeros, copy, live set.
  package func start(live: LiveSet) -> Buffer {
    var buffer = Buffer(capacity: Layout.firstFrameOffset * 2)
    buffer.appendZeros(Layout.firstFrameOffset + Layout.frameHeaderByteCount)
    live.append(to: &buffer)
    var bytes = buffer.mutableBytes
    write(into: &bytes, at: 0)
    write(into: &bytes, at: Layout.headerCopyOffset)
    let payloadStart = Layout.firstFrameOffset + Layout.frameHeaderByteCount
    let header = FrameHeader(
      .liveSet, sequence: firstSequence, of: bytes.bytes.extracting(droppingFirst: payloadStart))
    header.write(
      into: &bytes, at: Layout.firstFrameOffset, salt: SegmentSalt(salt), place: Layout.firstFrameOffset)
    return buffer
  }
}
