// Reading the chunks of large values, and finding out where they are: FORMAT.md §8.

import NotelogFormat
import NotelogStorage
import NotelogBase

extension Journal {
  /// Reads a chunk's sealed bytes: they are the buffer's body.
  ///
  /// - Returns: Nothing where there is no such chunk: it is lost, or what referred to it is gone.
  /// - Throws: `damaged`, with the place, where its frame does not check.
  /// - Complexity: The first call goes through the footers of all segments.
  func readChunk(
    _ number: UInt32, of value: ID16, into buffer: inout ReadBuffer
  ) throws(NotelogError) -> ChunkMark? {
    try loadChunks()
    while let chunk = catalog.chunks.chunk(number, of: value) {
      guard let segment = catalog.segments[chunk.place.segment] else {
        // Moved by compaction in between, it is elsewhere by now.
        if catalog.chunks.chunk(number, of: value) == chunk { break }
        continue
      }
      return try Self.readChunk(number, at: chunk, of: value, in: segment, into: &buffer)
    }
    return try readDeadChunk(number, of: value, into: &buffer)
  }

  /// Reads a chunk of a value that is dead: only a snapshot sees it, and another process has compacted it
  /// away, or compaction has not come to it yet.
  private func readDeadChunk(
    _ number: UInt32, of value: ID16, into buffer: inout ReadBuffer
  ) throws(NotelogError) -> ChunkMark? {
    for segment in catalog.oldVersions.departed + catalog.segments.all {
      var found: LargeValue.Chunk?
      _ = try fromStorage(
        segment.forEachEntry(upTo: segment.visibleEnd) { entry, _ in
          guard entry.id == value, entry.chunk?.number == number else { return }
          found = LargeValue.Chunk(
            place: FrameAddress(segment: segment.number, offset: entry.offset),
            payloadByteCount: entry.payloadByteCount)
        })
      if let found { return try Self.readChunk(number, at: found, of: value, in: segment, into: &buffer) }
    }
    return nil
  }

  private static func readChunk(
    _ number: UInt32, at chunk: LargeValue.Chunk, of value: ID16, in segment: Segment,
    into buffer: inout ReadBuffer
  ) throws(NotelogError) -> ChunkMark {
    let payload = Layout.frameHeaderByteCount..<Layout.frameHeaderByteCount + chunk.payloadByteCount
    buffer.removeAll()
    // Large values pass the cache by: they would drive everything else out of it.
    _ = try fromStorage(
      buffer.frame.fill(payload.upperBound, from: segment.file, at: chunk.place.offset))
    guard buffer.frame.count == payload.upperBound,
      let header = FrameHeader(
        buffer.frame.bytes, at: 0, salt: segment.salt, place: chunk.place.offset),
      header.kind == .chunk, header.id == value, header.payloadByteCount == payload.count,
      header.accepts(buffer.frame.bytes.extracting(payload)),
      let mark = ChunkMark(buffer.frame.bytes.extracting(payload)), mark.number == number
    else {
      throw NotelogError(
        .damaged, "a chunk's frame does not check", segment: Int(segment.number), offset: chunk.place.offset)
    }
    buffer.divide(payload, envelopeByteCount: ChunkMark.byteCount)
    return mark
  }

  /// Finds out where the chunks of all large values are, and which of them live, unless that is known.
  func loadChunks() throws(NotelogError) {
    if catalog.chunks.isComplete { return }
    chunkLoading.enter()
    defer { chunkLoading.leave() }
    if catalog.chunks.isComplete { return }
    catalog.chunks.beginLoading()
    do throws(NotelogError) {
      let moment = snapshot()
      var scan = ChunkScan()
      var lastFrames = LastFrames()
      var newest: (id: ID16, location: Location)?
      func note(_ values: [ID16], of entry: FooterEntry, in segment: Segment) throws(StorageError) {
        let location = Location(entry, segment: segment.number)
        // One that the index wrongly calls dead keeps its chunks.
        var isCurrent = try moment.isVisible(entry, in: segment, &lastFrames)
        if !isCurrent {
          isCurrent = try catalog.supersession(of: entry.id, at: location, &newest) != .proven
        }
        if isCurrent {
          scan.owners.append((entry.id, values, location.place))
        } else if try catalog.keeps(entry.id, at: location) {
          scan.kept.formUnion(values)
        }
      }
      do throws(StorageError) {
        for segment in moment.segments {
          let number = segment.number
          try segment.forEachEntry(upTo: moment.scanEnd(of: segment)) {
            (entry, envelope) throws(StorageError) in
            let named = scan.apply(entry, envelope, in: number)
            if !named.isEmpty { try note(named, of: entry, in: segment) }
          }
        }
        // What no envelope names, a body may: INV-V1. In most stores there is no such chunk, and no record is
        // read for it.
        let unnamed = scan.unnamed
        for segment in moment.segments where !unnamed.isEmpty {
          var reader = try moment.reader(segment)
          try segment.forEachEntry(upTo: moment.scanEnd(of: segment)) { (entry, _) throws(StorageError) in
            guard entry.kind == .record else { return }
            let values = Self.values(of: entry, &reader)
            if values.contains(where: unnamed.contains) { try note(values, of: entry, in: segment) }
          }
        }
      } catch { throw NotelogError(error) }
      // It counts the moment's snapshot, which without this may end as soon as its number is known.
      withExtendedLifetime(moment) { catalog.chunks.finishLoading(scan, at: moment.sequence) }
    } catch {
      catalog.chunks.cancelLoading()
      throw error
    }
  }

  /// The large values that a record refers to; none where it can't be read: it is lost then, and what a
  /// footer says of it was asked before.
  private static func values(of entry: FooterEntry, _ reader: inout SegmentReader) -> [ID16] {
    do throws(StorageError) {
      guard let header = try reader.frame(at: entry.offset), header.kind == .record else { return [] }
      return Envelope.values(
        inPayload: try reader.payload(of: header, at: entry.offset), of: header)
    } catch { return [] }
  }
}

/// Keeps a large value alive that no record refers to yet, or any more.
final class KeptValue: Sendable {
  let value: ID16
  private let journal: Journal

  init(_ value: ID16, in journal: Journal) {
    (self.value, self.journal) = (value, journal)
    journal.catalog.chunks.beginUpload(value)
  }

  deinit { journal.catalog.chunks.endUpload(value) }
}
