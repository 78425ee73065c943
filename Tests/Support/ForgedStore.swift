// What somebody makes of a store's files who can write them, and has no key.

package import NotelogBase
package import NotelogFormat
package import NotelogStorage

/// Any choice of what was ever written, put together as a store that is whole: all checksums fit.
package struct ForgedStore: Sendable {
  /// A version of a record, a deletion, or a piece of a large value.
  package struct Frame: Equatable, Sendable {
    package var header: FrameHeader
    /// Its checksum is made to fit when the store is written.
    package var payload: [UInt8]

    package init(_ header: FrameHeader, _ payload: [UInt8]) {
      (self.header, self.payload) = (header, payload)
    }

    package var id: ID16 { header.id }
    package var revision: UInt64 { header.sequence }
  }

  /// The frames that the store has; of each record one at most, unless it is written as a log.
  package var frames: [Frame] = []
  /// The files beside the segments and the index.
  package var files: [String: [UInt8]] = [:]
  /// The number of the next transaction.
  package var nextSequence: UInt64 = 0
  private var header: SegmentHeader?

  /// Everything that lies on a disk, every version of it.
  package init(_ disk: SimulatedDisk) throws {
    let derived = [FileName.index, FileName.lock, FileName.reserve, FileName.waiting]
    for name in disk.fileNames where !derived.contains(name) {
      guard FileName.segmentNumber(name) != nil else {
        files[name] = disk.contents(name)
        continue
      }
      let file = try disk.openFile(name, .read)
      let bytes = disk.contents(name) ?? []
      let header = try SegmentHeader(bytes.rawSpan, at: 0)
      var walk = SegmentWalk(file, salt: SegmentSalt(header.salt), end: try file.byteCount())
      while let frame = try walk.advance() {
        guard frame.kind.isContent else { continue }
        frames.append(Frame(frame, try walk.reader.payload(of: frame, at: walk.place).array()))
        nextSequence = max(nextSequence, frame.nextSequence)
      }
      if header.kind.isLog { self.header = header }
    }
  }

  /// The versions of a record, oldest first.
  package func versions(of id: ID16) -> [Frame] {
    frames.filter { $0.id == id && $0.header.kind.isVersion }.sorted { $0.revision < $1.revision }
  }

  /// The store as it was behind a transaction: the last frame of each record, and the large values.
  package func moment(_ sequence: UInt64 = .max) -> ForgedStore {
    var newest: [ID16: Int] = [:]
    for (index, frame) in frames.enumerated() where frame.header.kind.isVersion && frame.revision <= sequence
    {
      if let known = newest[frame.id], frames[known].revision > frame.revision { continue }
      newest[frame.id] = index
    }
    var store = self
    store.frames = frames.enumerated().filter { index, frame in
      frame.header.kind.isVersion ? newest[frame.id] == index : frame.revision <= sequence
    }.map(\.element)
    return store
  }

  /// Takes a record out.
  package mutating func drop(_ id: ID16) { frames.removeAll { $0.id == id } }

  /// Puts a frame in the place of what there is of its record.
  package mutating func put(_ frame: Frame) {
    drop(frame.id)
    frames.append(frame)
    nextSequence = max(nextSequence, frame.revision + 1)
  }

  /// Changes the frame of a record.
  package mutating func change(_ id: ID16, _ body: (inout Frame) throws -> Void) rethrows {
    for index in frames.indices where frames[index].id == id { try body(&frames[index]) }
  }

  /// A disk with the store.
  package func disk() throws(StorageError) -> SimulatedDisk {
    let disk = SimulatedDisk()
    try write(to: disk)
    return disk
  }

  /// Writes the store: one compacted segment with all frames, and a log that goes on behind it.
  package func write(to storage: any Storage) throws(StorageError) {
    guard let header else { return }
    func segment(_ kind: SegmentKind, _ number: UInt32, _ live: LiveSet) -> SegmentHeader {
      let floor = LogPosition(segment: number, offset: Layout.firstFrameOffset)
      return SegmentHeader(
        kind, number: number, storeID: header.storeID, branch: header.branch, salt: UInt64(number),
        firstSequence: kind.isLog ? nextSequence : 0, floor: kind.isLog ? floor : .zero, live: live)
    }
    var builder = try SegmentBuilder(in: storage, number: 1, salt: 1)
    for frame in frames {
      var header = frame.header
      header.payloadByteCount = frame.payload.count
      header.payloadChecksum = Checksum.of(frame.payload.rawSpan)
      try builder.append(header, frame.payload.rawSpan)
    }
    let live = LiveSet([try builder.publish { _ in segment(header.branch.compactedKind, 1, LiveSet()) }])
    let log = segment(.log, 2, live).start(live: live)
    try storage.replaceWhole(FileName.segment(2), with: log.bytes.array())
    for (name, bytes) in files { try storage.replaceWhole(name, with: bytes) }
  }
}

extension SimulatedDisk {
  /// Changes frames of a segment where they lie, and has their checksums fit. They stay as long as they are.
  package func edit(_ name: String, _ body: (inout ForgedStore.Frame) throws -> Void) throws {
    let file = try openFile(name, .update)
    let bytes = contents(name) ?? []
    let salt = SegmentSalt(try SegmentHeader(bytes.rawSpan, at: 0).salt)
    var walk = SegmentWalk(file, salt: salt, end: bytes.count)
    while let header = try walk.advance() {
      guard header.kind.isContent else { continue }
      var frame = ForgedStore.Frame(header, try walk.reader.payload(of: header, at: walk.place).array())
      let old = frame
      try body(&frame)
      if frame == old { continue }
      frame.header.payloadChecksum = Checksum.of(frame.payload.rawSpan)
      var buffer = Buffer()
      buffer.appendZeros(Layout.frameHeaderByteCount)
      var target = buffer.mutableBytes
      frame.header.write(into: &target, at: 0, salt: salt, place: walk.place)
      try file.writeAll(buffer.bytes, at: walk.place)
      try file.writeAll(frame.payload.rawSpan, at: walk.place + Layout.frameHeaderByteCount)
    }
  }
}
