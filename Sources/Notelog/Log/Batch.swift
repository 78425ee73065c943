// A transaction in the making: its frames laid out, but for what is known only when its place is. FORMAT.md
// §6.

import NotelogBase
import NotelogFormat

/// The frames of one transaction, built in memory of its own.
///
/// Bodies are written straight into their place, so a sealed value is sealed where it will be written from.
/// Nothing of a batch depends on where in the log it will go but its frame headers, which are completed once
/// that is known. An emptied batch keeps its memory.
struct Batch: ~Copyable {
  private(set) var buffer: Buffer
  private(set) var frames: [PendingFrame] = []
  /// What the frames replace, in their order: as `Log.lookUp` found it last.
  var previousVersions: [Catalog.PreviousVersion] = []
  /// Whether frames are looked for by their ids: then the many frames of a large batch are kept in a table.
  var isSearched = false
  /// Where the last frame of each record is; nil where all are gone through.
  private var lastFrames: [ID16: Int]?

  init(capacity: Int = 4096) { buffer = Buffer(capacity: capacity) }

  /// Whether nothing is in it.
  var isEmpty: Bool { frames.isEmpty }
  /// How many frames it holds.
  var count: Int { frames.count }
  /// The bytes it takes in the log, its commit mark included.
  var byteCount: Int { buffer.count + aligned(Layout.frameHeaderByteCount + CommitMark.byteCount) }

  /// The bytes that the frames' entries will take in the footer.
  var footerByteCount: Int {
    frames.reduce(0) { sum, frame in
      frame.header.kind.isContent ? sum + Layout.footerEntryByteCount + frame.envelopeByteCount : sum
    }
  }

  /// Whether it has records or deletions.
  var hasVersions: Bool { frames.contains { $0.header.kind.isVersion } }

  /// Whether it is to say what all records add up to, though it changes none.
  var isTouch = false

  /// What the seals of its records are made with; 0 where they have none.
  var sealReference: UInt32 = 0

  /// The collection of all of them; nothing where there are several.
  var collection: UInt16? {
    var collection: UInt16?
    for frame in frames where frame.header.kind.isVersion && !frame.header.isState {
      guard collection == nil || collection == frame.header.collection else { return nil }
      collection = frame.header.collection
    }
    return collection
  }

  /// Empties the batch and keeps its memory.
  mutating func removeAll() {
    buffer.removeAll()
    frames.removeAll(keepingCapacity: true)
    previousVersions.removeAll(keepingCapacity: true)
    lastFrames = nil
    sealReference = 0
  }

  /// Takes back what was added since it held so many frames.
  mutating func removeAll(since count: Int) {
    guard count < frames.count else { return }
    buffer.truncate(to: frames[count].start)
    frames.removeSubrange(count...)
    previousVersions.removeLast(max(0, previousVersions.count - count))
    lastFrames = nil
  }

  /// Adds a record whose envelope and body `write` fills in, one behind the other.
  ///
  /// Of several frames of one id in a transaction the last one counts.
  ///
  /// - Parameters:
  ///   - id: The record's id.
  ///   - collection: Its collection.
  ///   - envelopeByteCount: The envelope's length; 0 for none.
  ///   - bodyByteCount: The body's length.
  ///   - hasSeal: Whether a seal follows.
  ///   - carries: Whether some of the record's last version is in it.
  ///   - write: Fills in exactly the bytes of both, all zero before. A malformed envelope is a programmer's
  ///     mistake.
  /// - Throws: What `write` throws; then nothing was added.
  mutating func put<Failure: Error>(
    _ id: ID16, collection: UInt16, envelopeByteCount: Int = 0, bodyByteCount: Int, hasSeal: Bool = false,
    carries: Bool = false, _ write: (inout MutableRawSpan) throws(Failure) -> Void
  ) throws(Failure) {
    precondition(envelopeByteCount <= FormatLimits.maximumEnvelopeByteCount, "an envelope fits its limit")
    try append(
      FrameHeader(
        .record, hasEnvelope: envelopeByteCount > 0, hasSeal: hasSeal, collection: collection,
        payloadByteCount: envelopeByteCount + bodyByteCount + (hasSeal ? Layout.sealByteCount : 0), id: id),
      envelopeByteCount: envelopeByteCount, write)
    frames[frames.count - 1].carries = carries
  }

  /// Takes back what says what all records add up to: a batch for which there was no room has it.
  mutating func removeState() {
    if frames.last?.header.isState == true { removeAll(since: frames.count - 1) }
  }

  /// Fills the payload of the last frame once more.
  mutating func fillLast<Failure: Error>(
    _ write: (inout MutableRawSpan) throws(Failure) -> Void
  ) throws(Failure) {
    let payload = frames[frames.count - 1].payload
    var bytes = buffer.mutableBytes
    var target = bytes.part(payload)
    try write(&target)
    frames[frames.count - 1].header.payloadChecksum = Checksum.of(buffer.bytes.extracting(payload))
  }

  /// Adds a deletion.
  mutating func delete(_ id: ID16, collection: UInt16) {
    append(FrameHeader(.tombstone, collection: collection, id: id), envelopeByteCount: 0) { _ in }
  }

  /// Adds a chunk of a large value, whose sealed bytes `write` fills in.
  mutating func putChunk<Failure: Error>(
    _ mark: ChunkMark, of value: ID16, sealedByteCount: Int,
    _ write: (inout MutableRawSpan) throws(Failure) -> Void
  ) throws(Failure) {
    try append(
      FrameHeader(.chunk, payloadByteCount: ChunkMark.byteCount + sealedByteCount, id: value),
      envelopeByteCount: ChunkMark.byteCount
    ) { (payload: inout MutableRawSpan) throws(Failure) in
      mark.write(into: &payload, at: 0)
      var sealed = payload.part(from: ChunkMark.byteCount)
      try write(&sealed)
    }
  }

  /// Calls `body` with the sealed bytes of each chunk of a value that is in the batch.
  func forEachChunk(of value: ID16, _ body: (RawSpan) -> Void) {
    for frame in frames where frame.header.kind == .chunk && frame.header.id == value {
      body(buffer.bytes.extracting(frame.payload).extracting(droppingFirst: ChunkMark.byteCount))
    }
  }

  /// The ids of a collection's records that it writes or deletes.
  func versions(in collection: UInt16) -> Set<ID16> {
    Set(
      frames.lazy.filter { $0.header.kind.isVersion && $0.header.collection == collection }.map(\.header.id))
  }

  /// What each record that it writes or deletes is in the end, with its collection.
  var lastVersions: [ID16: (kind: FrameKind, collection: UInt16)] {
    Dictionary(
      frames.lazy.filter(\.header.kind.isVersion).map {
        ($0.header.id, ($0.header.kind, $0.header.collection))
      }
    ) { $1 }
  }

  /// Calls `body` with the id and the body of each record of a collection that it writes: as it is in the
  /// end.
  func forEachRecord<Failure: Error>(
    in collection: UInt16, _ body: (ID16, RawSpan) throws(Failure) -> Void
  ) throws(Failure) {
    var seen: Set<ID16> = []
    for frame in frames.reversed() where frame.header.kind.isVersion && frame.header.collection == collection
    {
      guard seen.insert(frame.header.id).inserted, frame.header.kind == .record else { continue }
      try body(frame.header.id, buffer.bytes.extracting(frame.body))
    }
  }

  /// Adds the publication of a compaction.
  mutating func publish(_ change: LiveChange) {
    var payload = Buffer()
    change.append(to: &payload)
    append(FrameHeader(.liveChange, payloadByteCount: payload.count), envelopeByteCount: 0) { target in
      target.copy(payload.bytes, at: 0)
    }
  }

  /// Whether it belongs to a change of the keys that is in force already.
  var isOfKeys = false

  /// Whether it may take the share of the deletions: then a full disk is no reason to refuse it.
  var takesReserve: Bool {
    isOfKeys
      || frames.allSatisfy { [.tombstone, .liveChange].contains($0.header.kind) || $0.header.isState }
  }

  /// The index of the frame that an id has in the batch.
  func frame(of id: ID16) -> Int? {
    if let lastFrames { return lastFrames[id] }
    return frames.lastIndex { $0.header.id == id && $0.header.kind.isVersion }
  }

  /// Enters the last frame into the table of frames; makes the table once there are many.
  private mutating func enterLastFrame() {
    if lastFrames == nil {
      if frames.count < 64 { return }
      lastFrames = [:]
      for (index, frame) in frames.enumerated() where frame.header.kind.isVersion {
        lastFrames?[frame.header.id] = index
      }
    } else if let header = frames.last?.header, header.kind.isVersion {
      lastFrames?[header.id] = frames.count - 1
    }
  }

  /// Adds a frame whose payload `write` fills in, all zero before.
  private mutating func append<Failure: Error>(
    _ header: FrameHeader, envelopeByteCount: Int, _ write: (inout MutableRawSpan) throws(Failure) -> Void
  ) throws(Failure) {
    precondition(
      header.payloadByteCount <= header.kind.maximumPayloadByteCount, "what is written can be read again")
    let start = buffer.count
    let payloadStart = start + Layout.frameHeaderByteCount
    let payload = payloadStart..<payloadStart + header.payloadByteCount
    buffer.appendZeros(aligned(payload.upperBound) - start)
    do throws(Failure) {
      var bytes = buffer.mutableBytes
      var target = bytes._mutatingExtracting(payload)
      try write(&target)
    } catch {
      buffer.truncate(to: start)
      throw error
    }
    var header = header
    header.payloadChecksum = Checksum.of(buffer.bytes.extracting(payload))
    frames.append(PendingFrame(header: header, start: start, envelopeByteCount: envelopeByteCount))
    if isSearched { enterLastFrame() }
  }

  /// Completes the frame headers and appends the commit mark: now the bytes are what the log will hold at
  /// `place`.
  mutating func complete(sequence: UInt64, salt: SegmentSalt, place: Int, floor: LogPosition, time: UInt64) {
    var mark = FrameHeader(.commit, payloadByteCount: CommitMark.byteCount, sequence: sequence)
    let markStart = buffer.appendZeros(mark.frameByteCount)
    for index in frames.indices { frames[index].header.sequence = sequence }
    let frames = self.frames
    var bytes = buffer.mutableBytes
    for frame in frames {
      frame.header.write(into: &bytes, at: frame.start, salt: salt, place: place + frame.start)
    }
    let payloadStart = markStart + Layout.frameHeaderByteCount
    CommitMark(frameCount: frames.count, firstOffset: place, floor: floor, time: time).write(
      into: &bytes, at: payloadStart)
    mark.payloadChecksum = Checksum.of(
      bytes.bytes.extracting(payloadStart..<payloadStart + CommitMark.byteCount))
    mark.write(into: &bytes, at: markStart, salt: salt, place: place + markStart)
  }
}
