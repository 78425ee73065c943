// The live set, which segments exist, and its changes: FORMAT.md §4 and §13.

/// A finished segment, as the live set identifies it.
package struct LiveEntry: Equatable, Sendable {
  package let number: UInt32
  package let byteCount: Int
  package let salt: UInt64
  package let footerChecksum: UInt32

  init(number: UInt32, byteCount: Int, salt: UInt64, footerChecksum: UInt32) {
    self.number = number
    self.byteCount = byteCount
    self.salt = salt
    self.footerChecksum = footerChecksum
  }

  init(_ bytes: RawSpan, at offset: Int) {
    number = bytes.load(UInt32.self, at: offset)
    byteCount = Int(bytes.load(UInt32.self, at: offset + 4))
    salt = bytes.load(UInt64.self, at: offset + 8)
    footerChecksum = bytes.load(UInt32.self, at: offset + 16)
  }

  @_lifetime(bytes: copy bytes)
  func write(into bytes: inout MutableRawSpan, at offset: Int) {
    bytes.store(number, at: offset)
    bytes.store(UInt32(byteCount), at: offset + 4)
    bytes.store(salt, at: offset + 8)
    bytes.store(footerChecksum, at: offset + 16)
  }

  func append(to buffer: inout Buffer) {
    let start = buffer.count
    buffer.appendZeros(Layout.liveEntryByteCount)
    var bytes = buffer.mutableBytes
    write(into: &bytes, at: start)
  }
}

/// The finished segments that are live.
///
/// A change takes time for what it changes only: a file may hold as many changes, of as many segments, as fit into it.
package struct LiveSet: Equatable, Sendable {
  private var byNumber: [UInt32: LiveEntry] = [:]

  /// The segments in ascending order of number.
  ///
  /// - Complexity: O(*n* log *n*).
  package var entries: [LiveEntry] { byNumber.values.sorted { $0.number < $1.number } }

  package var count: Int { byNumber.count }

  init() {}

  /// Reads a live set's payload; nothing where it is not one.
  init?(payload bytes: RawSpan) {
    guard bytes.byteCount % Layout.liveEntryByteCount == 0 else { return nil }
    var last: UInt32 = 0
    for offset in stride(from: 0, to: bytes.byteCount, by: Layout.liveEntryByteCount) {
      let entry = LiveEntry(bytes, at: offset)
      guard bytes.load(UInt32.self, at: offset + 20) == 0, FileName.isSegmentNumber(entry.number),
        entry.number > last
      else { return nil }
      last = entry.number
      insert(entry)
    }
  }

  subscript(number: UInt32) -> LiveEntry? { byNumber[number] }

  mutating func insert(_ entry: LiveEntry) { byNumber[entry.number] = entry }

  mutating func remove(_ number: UInt32) { byNumber[number] = nil }

  mutating func apply(_ change: LiveChange) {
    for entry in change.added { insert(entry) }
    for number in change.removed { remove(number) }
  }

  /// The payload of a live set frame.
  func append(to buffer: inout Buffer) {
    for entry in entries { entry.append(to: &buffer) }
  }

  /// The checksum that headers and close marks carry.
  package var checksum: UInt32 {
    var payload = Buffer(capacity: count * Layout.liveEntryByteCount)
    append(to: &payload)
    return Checksum.of(payload.bytes)
  }
}

/// What a compaction publishes: segments that come, segments that go.
struct LiveChange: Equatable, Sendable {
  var added: [LiveEntry]
  var removed: [UInt32]

  init(added: [LiveEntry], removed: [UInt32]) {
    self.added = added
    self.removed = removed
  }

  init?(payload bytes: RawSpan) {
    guard bytes.byteCount >= 8 else { return nil }
    let addedCount = Int(bytes.load(UInt32.self, at: 0))
    let removedCount = Int(bytes.load(UInt32.self, at: 4))
    guard bytes.byteCount == 8 + Layout.liveEntryByteCount * addedCount + 4 * removedCount else { return nil }
    let removedStart = 8 + Layout.liveEntryByteCount * addedCount
    added = (0..<addedCount).map { LiveEntry(bytes, at: 8 + Layout.liveEntryByteCount * $0) }
    removed = (0..<removedCount).map { bytes.load(UInt32.self, at: removedStart + 4 * $0) }
    guard added.allSatisfy({ FileName.isSegmentNumber($0.number) }) else { return nil }
  }

  func append(to buffer: inout Buffer) {
    let start = buffer.count
    buffer.appendZeros(8)
    for entry in added { entry.append(to: &buffer) }
    let removedStart = buffer.count
    buffer.appendZeros(4 * removed.count)
    var bytes = buffer.mutableBytes
    bytes.store(UInt32(added.count), at: start)
    bytes.store(UInt32(removed.count), at: start + 4)
    for (index, number) in removed.enumerated() { bytes.store(number, at: removedStart + 4 * index) }
  }
}
