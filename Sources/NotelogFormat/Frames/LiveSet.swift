// The live set, which segments exist, and its changes: FORMAT.md §4 and §6.

package import NotelogBase

/// A finished segment, as the live set identifies it.
package struct LiveEntry: Hashable, Sendable {
  package let number: UInt32
  package let byteCount: Int
  package let salt: UInt64
  package let footerChecksum: UInt32

  package init(number: UInt32, byteCount: Int, salt: UInt64, footerChecksum: UInt32) {
    self.number = number
    self.byteCount = byteCount
    self.salt = salt
    self.footerChecksum = footerChecksum
  }

  package init(_ bytes: RawSpan, at offset: Int) {
    number = bytes.load(UInt32.self, at: offset)
    byteCount = Int(bytes.load(UInt32.self, at: offset + 4))
    salt = bytes.load(UInt64.self, at: offset + 8)
    footerChecksum = bytes.load(UInt32.self, at: offset + 16)
  }

  /// Reads an entry of a frame; nothing where it is none.
  fileprivate init?(inFrame bytes: RawSpan, at offset: Int) {
    self.init(bytes, at: offset)
    guard bytes.load(UInt32.self, at: offset + 20) == 0, FileName.isSegmentNumber(number) else { return nil }
  }

  package func write(into bytes: inout MutableRawSpan, at offset: Int) {
    bytes.store(number, at: offset)
    bytes.store(UInt32(byteCount), at: offset + 4)
    bytes.store(salt, at: offset + 8)
    bytes.store(footerChecksum, at: offset + 16)
  }

  package func append(to buffer: inout Buffer) {
    let start = buffer.appendZeros(Layout.liveEntryByteCount)
    var bytes = buffer.mutableBytes
    write(into: &bytes, at: start)
  }
}

/// The finished segments that are live.
package struct LiveSet: Equatable, Sendable {
  private var segments: [UInt32: LiveEntry] = [:]

  package var count: Int { segments.count }

  /// The segments in ascending order of number.
  ///
  /// - Complexity: O(*n* log *n*)
  package var entries: [LiveEntry] { segments.values.sorted { $0.number < $1.number } }

  /// A set of segments; of two with the same number, the later one.
  package init(_ entries: [LiveEntry] = []) {
    segments.reserveCapacity(entries.count)
    for entry in entries { insert(entry) }
  }

  /// Reads a live set's payload; nothing where it is not one.
  package init?(payload bytes: RawSpan) {
    guard bytes.byteCount % Layout.liveEntryByteCount == 0 else { return nil }
    segments.reserveCapacity(bytes.byteCount / Layout.liveEntryByteCount)
    var last: UInt32 = 0
    for offset in stride(from: 0, to: bytes.byteCount, by: Layout.liveEntryByteCount) {
      guard let entry = LiveEntry(inFrame: bytes, at: offset), entry.number > last else { return nil }
      last = entry.number
      insert(entry)
    }
  }

  package subscript(number: UInt32) -> LiveEntry? { segments[number] }

  package mutating func insert(_ entry: LiveEntry) { segments[entry.number] = entry }

  package mutating func remove(_ number: UInt32) { segments[number] = nil }

  /// - Complexity: O(*n*), *n* being the segments of the change.
  package mutating func apply(_ change: LiveChange) {
    for entry in change.added { insert(entry) }
    for number in change.removed { remove(number) }
  }

  /// The payload of a live set frame.
  package func append(to buffer: inout Buffer) {
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
package struct LiveChange: Equatable, Sendable {
  package var added: [LiveEntry]
  package var removed: [UInt32]

  package init(added: [LiveEntry], removed: [UInt32]) {
    self.added = added
    self.removed = removed
  }

  /// Reads a live change's payload; nothing where it is not one.
  package init?(payload bytes: RawSpan) {
    guard bytes.byteCount >= 8 else { return nil }
    let addedCount = Int(bytes.load(UInt32.self, at: 0))
    let removedCount = Int(bytes.load(UInt32.self, at: 4))
    guard bytes.byteCount == 8 + Layout.liveEntryByteCount * addedCount + 4 * removedCount else { return nil }
    let removedStart = 8 + Layout.liveEntryByteCount * addedCount
    added = []
    added.reserveCapacity(addedCount)
    for offset in stride(from: 8, to: removedStart, by: Layout.liveEntryByteCount) {
      guard let entry = LiveEntry(inFrame: bytes, at: offset) else { return nil }
      added.append(entry)
    }
    removed = (0..<removedCount).map { bytes.load(UInt32.self, at: removedStart + 4 * $0) }
    guard removed.allSatisfy({ FileName.isSegmentNumber($0) }) else { return nil }
  }

  package func append(to buffer: inout Buffer) {
    let start = buffer.appendZeros(8)
    for entry in added { entry.append(to: &buffer) }
    let removedStart = buffer.appendZeros(4 * removed.count)
    var bytes = buffer.mutableBytes
    bytes.store(UInt32(added.count), at: start)
    bytes.store(UInt32(removed.count), at: start + 4)
    for (index, number) in removed.enumerated() { bytes.store(number, at: removedStart + 4 * index) }
  }
}
