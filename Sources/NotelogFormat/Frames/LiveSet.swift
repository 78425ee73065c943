// The live set, which segments exist, and its changes: FORMAT.md §4 and §6.

package import NotelogBase

/// A finished segment, as the live set identifies it.
package struct LiveEntry: Equatable, Sendable {
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

  @_lifetime(bytes: copy bytes)
  package func write(into bytes: inout MutableRawSpan, at offset: Int) {
    bytes.store(number, at: offset)
    bytes.store(UInt32(byteCount), at: offset + 4)
    bytes.store(salt, at: offset + 8)
    bytes.store(footerChecksum, at: offset + 16)
  }

  package func append(to buffer: inout Buffer) {
    let start = buffer.count
    buffer.appendZeros(Layout.liveEntryByteCount)
    var bytes = buffer.mutableBytes
    write(into: &bytes, at: start)
  }
}

/// The finished segments that are live.
package struct LiveSet: Equatable, Sendable {
  /// The segments in ascending order of number.
  package private(set) var entries: [LiveEntry]

  package var count: Int { entries.count }

  /// A set of segments in ascending order of number, no two of which have the same.
  package init(ascending entries: [LiveEntry] = []) { self.entries = entries }

  /// Reads a live set's payload; nothing where it is not one.
  package init?(payload bytes: RawSpan) {
    guard bytes.byteCount % Layout.liveEntryByteCount == 0 else { return nil }
    entries = []
    entries.reserveCapacity(bytes.byteCount / Layout.liveEntryByteCount)
    var last: UInt32 = 0
    for offset in stride(from: 0, to: bytes.byteCount, by: Layout.liveEntryByteCount) {
      let entry = LiveEntry(bytes, at: offset)
      guard bytes.load(UInt32.self, at: offset + 20) == 0, FileName.isSegmentNumber(entry.number),
        entry.number > last
      else { return nil }
      last = entry.number
      entries.append(entry)
    }
  }

  package subscript(number: UInt32) -> LiveEntry? { entries.find(number) { $0.number } }

  /// - Complexity: O(*n*), but for a number that is higher than all others.
  package mutating func insert(_ entry: LiveEntry) {
    let place = entries.firstPlace(notBelow: entry.number) { $0.number }
    if place < entries.count, entries[place].number == entry.number {
      entries[place] = entry
    } else {
      entries.insert(entry, at: place)
    }
  }

  /// - Complexity: O(*n*).
  package mutating func remove(_ number: UInt32) {
    let place = entries.firstPlace(notBelow: number) { $0.number }
    if place < entries.count, entries[place].number == number { entries.remove(at: place) }
  }

  /// - Complexity: O(*n* log *n*), *n* being the segments of the set and of the change.
  package mutating func apply(_ change: LiveChange) {
    var changes = LiveChanges(of: self)
    changes.add(change)
    self = changes.result
  }

  /// The payload of a live set frame.
  package func append(to buffer: inout Buffer) {
    for entry in entries { entry.append(to: &buffer) }
  }

  /// The header of the frame that holds it, the first of a log's segment.
  package func frameHeader(firstSequence: UInt64) -> FrameHeader {
    FrameHeader(
      .liveSet, payloadByteCount: count * Layout.liveEntryByteCount, sequence: firstSequence,
      payloadChecksum: checksum)
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
      let entry = LiveEntry(bytes, at: offset)
      guard bytes.load(UInt32.self, at: offset + 20) == 0, FileName.isSegmentNumber(entry.number) else {
        return nil
      }
      added.append(entry)
    }
    removed = (0..<removedCount).map { bytes.load(UInt32.self, at: removedStart + 4 * $0) }
    guard removed.allSatisfy({ FileName.isSegmentNumber($0) }) else { return nil }
  }

  package func append(to buffer: inout Buffer) {
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

/// A live set and the changes that are made to it, one after the other: a file may hold as many changes, of
/// as many segments, as fit into it, and they must not each go through the whole set.
package struct LiveChanges {
  private let live: LiveSet
  /// What became of each segment that a change was about: it is live so, or no longer.
  private var outcomes: [UInt32: LiveEntry?] = [:]

  package init(of live: LiveSet) { self.live = live }

  /// A segment as it is live by now.
  package subscript(number: UInt32) -> LiveEntry? { outcomes[number] ?? live[number] }

  package mutating func insert(_ entry: LiveEntry) { outcomes[entry.number] = .some(entry) }

  package mutating func remove(_ number: UInt32) {
    // One that isn't live takes four bytes to name, and is not to take the memory of an entry.
    if self[number] != nil { outcomes[number] = .some(nil) }
  }

  package mutating func add(_ change: LiveChange) {
    for entry in change.added { insert(entry) }
    for number in change.removed { remove(number) }
  }

  /// What has become of the live set.
  ///
  /// - Complexity: O(*n* log *n*), *n* being the segments of the set and of the changes.
  package var result: LiveSet {
    if outcomes.isEmpty { return live }
    let entries = live.entries.filter { outcomes[$0.number] == nil } + outcomes.values.compactMap(\.self)
    return LiveSet(ascending: entries.sorted { $0.number < $1.number })
  }
}
