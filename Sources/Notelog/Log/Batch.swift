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
  /// The bytes that the frames' entries will take in the footer.
  private(set) var footerByteCount = 0
  /// Whether it has records or deletions.
  private(set) var hasVersions = false
  /// The collection of all of them; nothing where there are several.
  private(set) var collection: UInt16?

  /// Memory for what the frames replace.
  private var previousVersions: [Catalog.PreviousVersion] = []

  init(capacity: Int = 4096) { buffer = Buffer(capacity: capacity) }

  /// Empty memory for what the frames replace.
  mutating func takePreviousVersions() -> [Catalog.PreviousVersion] {
    var taken: [Catalog.PreviousVersion] = []
    swap(&taken, &previousVersions)
    taken.removeAll(keepingCapacity: true)
    return taken
  }

  /// Keeps the memory for the next time.
  mutating func keep(_ memory: consuming [Catalog.PreviousVersion]) { previousVersions = memory }

  /// Whether nothing is in it.
  var isEmpty: Bool { frames.isEmpty }
  /// How many frames it holds.
  var count: Int { frames.count }
  /// How many bytes the frames take.
  var contentByteCount: Int { buffer.count }
  /// The bytes it takes in the log, its commit mark included.
  var byteCount: Int { buffer.count + aligned(Layout.frameHeaderByteCount + CommitMark.byteCount) }

  /// Empties the batch and keeps its memory.
  mutating func removeAll() {
    buffer.removeAll()
    frames.removeAll(keepingCapacity: true)
    footerByteCount = 0
    (hasVersions, collection) = (false, nil)
  }

  /// Where a batch ends at some time.
  struct End: Sendable {
    fileprivate let byteCount: Int
    fileprivate let frameCount: Int
    fileprivate let footerByteCount: Int
  }

  /// Where it ends now.
  var end: End {
    End(byteCount: buffer.count, frameCount: frames.count, footerByteCount: footerByteCount)
  }

  /// Takes back what was added since it ended there.
  mutating func removeAll(since end: End) {
    buffer.truncate(to: end.byteCount)
    frames.removeLast(frames.count - end.frameCount)
    footerByteCount = end.footerByteCount
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
  ///   - write: Fills in exactly the bytes of both, all zero before. A malformed envelope is a programmer's
  ///     mistake.
  /// - Throws: What `write` throws; then nothing was added.
  mutating func put<Failure: Error>(
    _ id: ID16, collection: UInt16, envelopeByteCount: Int = 0, bodyByteCount: Int,
    _ write: (inout MutableRawSpan) throws(Failure) -> Void
  ) throws(Failure) {
    precondition(envelopeByteCount <= FormatLimits.maximumEnvelopeByteCount, "an envelope fits its limit")
    let start = buffer.count
    let payloadStart = start + Layout.frameHeaderByteCount
    let payloadEnd = payloadStart + envelopeByteCount + bodyByteCount
    buffer.appendZeros(aligned(payloadEnd) - start)
    do throws(Failure) {
      var bytes = buffer.mutableBytes
      var payload = bytes._mutatingExtracting(payloadStart..<payloadEnd)
      try write(&payload)
    } catch {
      buffer.truncate(to: start)
      throw error
    }
    append(
      FrameHeader(
        .record, hasEnvelope: envelopeByteCount > 0, collection: collection,
        payloadByteCount: envelopeByteCount + bodyByteCount, id: id),
      start: start, envelopeByteCount: envelopeByteCount)
  }

  /// Adds a deletion.
  mutating func delete(_ id: ID16, collection: UInt16) {
    let start = buffer.count
    buffer.appendZeros(Layout.frameHeaderByteCount)
    append(FrameHeader(.tombstone, collection: collection, id: id), start: start, envelopeByteCount: 0)
  }

  /// Adds a chunk of a large value, whose sealed bytes `write` fills in.
  mutating func putChunk<Failure: Error>(
    _ mark: ChunkMark, of value: ID16, sealedByteCount: Int,
    _ write: (inout MutableRawSpan) throws(Failure) -> Void
  ) throws(Failure) {
    let start = buffer.count
    let markStart = start + Layout.frameHeaderByteCount
    let payload = markStart..<markStart + ChunkMark.byteCount + sealedByteCount
    precondition(payload.count <= FormatLimits.maximumChunkPayloadByteCount, "a chunk fits its limit")
    buffer.appendZeros(aligned(payload.upperBound) - start)
    do throws(Failure) {
      var bytes = buffer.mutableBytes
      mark.write(into: &bytes, at: markStart)
      var sealed = bytes._mutatingExtracting(markStart + ChunkMark.byteCount..<payload.upperBound)
      try write(&sealed)
    } catch {
      buffer.truncate(to: start)
      throw error
    }
    append(
      FrameHeader(.chunk, payloadByteCount: payload.count, id: value), start: start,
      envelopeByteCount: ChunkMark.byteCount)
  }

  /// Calls `body` with the sealed bytes of each chunk of a value that is in the batch.
  func forEachChunk(of value: ID16, _ body: (ChunkMark, RawSpan) -> Void) {
    for frame in frames where frame.header.kind == .chunk && frame.header.id == value {
      let bytes = buffer.bytes.extracting(frame.payload)
      if let mark = ChunkMark(bytes) { body(mark, bytes.extracting(droppingFirst: ChunkMark.byteCount)) }
    }
  }

  /// The ids of a collection's records that it writes or deletes.
  func versions(in collection: UInt16) -> Set<ID16> {
    Set(
      frames.lazy.filter { $0.header.kind.isVersion && $0.header.collection == collection }.map(\.header.id))
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
      let payload = frame.payload
      try body(
        frame.header.id,
        buffer.bytes.extracting(payload.lowerBound + frame.envelopeByteCount..<payload.upperBound))
    }
  }

  /// Adds the publication of a compaction.
  mutating func publish(_ change: LiveChange) {
    let start = buffer.count
    buffer.appendZeros(Layout.frameHeaderByteCount)
    change.append(to: &buffer)
    let payloadByteCount = buffer.count - start - Layout.frameHeaderByteCount
    buffer.appendZeros(aligned(buffer.count) - buffer.count)
    append(FrameHeader(.liveChange, payloadByteCount: payloadByteCount), start: start, envelopeByteCount: 0)
  }

  /// Whether it belongs to a change of the keys that is in force already.
  var isOfKeys = false

  /// Whether it may take the share of the deletions: then a full disk is no reason to refuse it.
  var takesReserve: Bool { isOfKeys || frames.allSatisfy(\.header.kind.isFreeing) }

  /// The index of the frame that an id has in the batch.
  func frame(of id: ID16) -> Int? { frames.lastIndex { $0.header.id == id && $0.header.kind.isVersion } }

  private mutating func append(_ header: FrameHeader, start: Int, envelopeByteCount: Int) {
    precondition(
      header.payloadByteCount <= header.kind.maximumPayloadByteCount, "what is written can be read again")
    var header = header
    let payloadStart = start + Layout.frameHeaderByteCount
    header.payloadChecksum = Checksum.of(
      buffer.bytes.extracting(payloadStart..<payloadStart + header.payloadByteCount))
    if header.kind.isContent { footerByteCount += Layout.footerEntryByteCount + envelopeByteCount }
    if header.kind.isVersion {
      collection = !hasVersions || collection == header.collection ? header.collection : nil
      hasVersions = true
    }
    frames.append(PendingFrame(header: header, start: start, envelopeByteCount: envelopeByteCount))
  }

  /// Completes the frame headers and appends the commit mark: now the bytes are what the log will hold at
  /// `place`.
  mutating func complete(sequence: UInt64, salt: SegmentSalt, place: Int, floor: LogPosition, time: UInt64) {
    let markStart = buffer.count
    var mark = FrameHeader(.commit, payloadByteCount: CommitMark.byteCount, sequence: sequence)
    buffer.appendZeros(mark.frameByteCount)
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
