// Writes a whole segment under a temporary name: recovery's and compaction's output. FORMAT.md §22 line 9,
// §24.

import NotelogBase
package import NotelogStorage

/// A segment in the making: frames are appended, then it is finished and published.
package struct SegmentBuilder: ~Copyable {
  /// How much is handed to the system at a time.
  package static let pieceByteCount = 1 << 20

  package let number: UInt32
  package let salt: SegmentSalt
  private let storage: any Storage
  private let file: any StorageFile
  private var buffer = Buffer(capacity: pieceByteCount)
  /// Where the buffer's first byte goes in the file.
  private var written = 0
  private var footer = FooterBuilder()

  private var temporaryName: String { FileName.segment(number) + FileName.partialSuffix }

  /// Creates the file.
  package init(in storage: any Storage, number: UInt32, salt: UInt64) throws(StorageError) {
    self.number = number
    self.salt = SegmentSalt(salt)
    self.storage = storage
    file = try storage.openFile(FileName.segment(number) + FileName.partialSuffix, .createNew)
    buffer.appendZeros(Layout.firstFrameOffset)
  }

  /// Appends the live set, the first frame of a segment of the log.
  package mutating func append(_ live: LiveSet, firstSequence: UInt64) throws(StorageError) {
    var payload = Buffer()
    live.append(to: &payload)
    try append(FrameHeader(.liveSet, sequence: firstSequence, of: payload.bytes), payload.bytes)
  }

  /// Appends a transaction's commit mark.
  package mutating func append(_ mark: CommitMark, sequence: UInt64) throws(StorageError) {
    var payload = Buffer()
    payload.appendZeros(CommitMark.byteCount)
    var bytes = payload.mutableBytes
    mark.write(into: &bytes, at: 0)
    try append(FrameHeader(.commit, sequence: sequence, of: payload.bytes), payload.bytes)
  }

  /// Where the next frame goes.
  package var end: Int { written + buffer.count }

  /// Appends a frame with its payload, whose checksum the header has.
  @discardableResult
  package mutating func append(_ header: FrameHeader, _ payload: RawSpan) throws(StorageError) -> Int {
    precondition(
      payload.byteCount == header.payloadByteCount, "a frame's payload is as long as its header says")
    let place = end
    let start = buffer.appendZeros(Layout.frameHeaderByteCount)
    buffer.append(payload)
    buffer.appendZeros(header.frameByteCount - Layout.frameHeaderByteCount - payload.byteCount)
    let salt = self.salt
    var bytes = buffer.mutableBytes
    header.write(into: &bytes, at: start, salt: salt, place: place)
    footer.note(header, at: place, payload: payload)
    if buffer.count >= Self.pieceByteCount { try flush() }
    return place
  }

  private mutating func flush() throws(StorageError) {
    try file.writeAll(buffer.bytes, at: written)
    written += buffer.count
    buffer.removeAll()
    // The one sync at the end finds little left to do, and nobody waits for the device meanwhile.
    file.startWriteback()
  }

  /// Writes footer and header, makes the file durable and gives it its name. `header` makes the header, given
  /// the place where the segment's frames end.
  package consuming func publish(_ header: (Int) -> SegmentHeader) throws(StorageError) -> LiveEntry {
    let header = header(end)
    let entry: LiveEntry
    do throws(StorageError) {
      try flush()
      entry = try footer.write(to: file, at: written, header: header)
      try header.write(to: file)
      try file.makeDurable()
    } catch {
      abandon()
      throw error
    }
    try storage.publish(temporaryName, as: FileName.segment(number))
    return entry
  }

  /// Gives the output up.
  package consuming func abandon() {
    // What stays behind is deleted at the next opening.
    try? storage.unlink(temporaryName)
  }
}

// MARK: - Collects a segment's footer while its frames are written: FORMAT.md §21.1.

/// The entries of a footer in the making.
///
/// A segment of small records lists many: their entries are kept in pieces, so that they take no more memory
/// than they have bytes, and leave pieces behind that the next footer fits into.
package struct FooterBuilder: ~Copyable {
  private static let pieceByteCount = 256 << 10

  private var fullPieces: [[UInt8]] = []
  private var lastPiece = Buffer()
  /// The bytes of all entries.
  private var entriesByteCount = 0
  package private(set) var entryCount = 0
  private var lastSequence: UInt64 = 0
  /// Whether frames were lost that it should list.
  private var isIncomplete = false

  package init() {}

  /// The footer that the frames of a file make, up to a limit; where they say nothing, something was lost.
  /// What the file lacks is lost too.
  ///
  /// - Parameters:
  ///   - file: The segment's file.
  ///   - salt: The segment's salt.
  ///   - limit: Where the frames end.
  ///   - isWhole: Whether it is known that nothing was lost which it lists.
  /// - Throws: What reading throws.
  package init(
    framesOf file: any StorageFile, salt: SegmentSalt, to limit: Int, isWhole: Bool = false
  ) throws(StorageError) {
    let end = min(limit, try file.byteCount())
    if end < limit { isIncomplete = true }
    var walk = SegmentWalk(file, salt: salt, end: end)
    while true {
      let header = try walk.advance()
      if walk.lost != nil, !isWhole { isIncomplete = true }
      guard let header, header.kind != .footer else { return }
      guard header.kind.isContent else { continue }
      let entry = try walk.entry(of: header).entry
      add(entry, envelope: try walk.envelope(of: entry))
    }
  }

  /// The bytes that the footer frame and the trailer take now.
  package var byteCount: Int {
    aligned(Layout.frameHeaderByteCount + Layout.footerPrefixByteCount + entriesByteCount)
      + Layout.trailerByteCount
  }

  /// Takes in a frame that was written.
  package mutating func note(_ header: FrameHeader, at place: Int, payload: RawSpan) {
    guard header.kind.isContent else { return }
    let entry = FooterEntry(header, offset: place, payload: payload)
    add(entry, envelope: payload.extracting(0..<entry.envelopeByteCount))
  }

  /// Takes in an entry as it is.
  package mutating func add(_ entry: FooterEntry, envelope: RawSpan) {
    lastSequence = max(lastSequence, entry.sequence)
    if lastPiece.count + entry.entryByteCount > Self.pieceByteCount {
      fullPieces.append(lastPiece.bytes.array())
      lastPiece.removeAll()
    }
    entry.append(to: &lastPiece, envelope: envelope)
    entriesByteCount += entry.entryByteCount
    entryCount += 1
  }

  /// Calls `body` with the bytes of footer frame and trailer, for a footer that starts at `place` of the
  /// segment: a piece at a time, as entries can be many.
  ///
  /// - Returns: How the live set identifies the segment.
  @discardableResult
  package func finish<Failure: Error>(
    at place: Int, header: SegmentHeader, _ body: (RawSpan) throws(Failure) -> Void
  ) throws(Failure) -> LiveEntry {
    var start = Buffer(capacity: Layout.frameHeaderByteCount + Layout.footerPrefixByteCount)
    start.appendZeros(Layout.frameHeaderByteCount + Layout.footerPrefixByteCount)
    var bytes = start.mutableBytes
    header.write(into: &bytes, at: Layout.frameHeaderByteCount)
    bytes.store(UInt32(entryCount), at: Layout.frameHeaderByteCount + Layout.headerByteCount)
    bytes.store(UInt32(isIncomplete ? 1 : 0), at: Layout.frameHeaderByteCount + Layout.headerByteCount + 4)
    var checksum = Checksum()
    checksum.update(bytes.bytes.extracting(droppingFirst: Layout.frameHeaderByteCount))
    for piece in fullPieces { checksum.update(piece.rawSpan) }
    checksum.update(lastPiece.bytes)
    FrameHeader(
      .footer, payloadByteCount: Layout.footerPrefixByteCount + entriesByteCount, sequence: lastSequence,
      payloadChecksum: checksum.value
    ).write(into: &bytes, at: 0, salt: SegmentSalt(header.salt), place: place)
    let frameByteCount = byteCount - Layout.trailerByteCount
    var end = Buffer(capacity: 8 + Layout.trailerByteCount)
    end.appendZeros(frameByteCount - start.count - entriesByteCount)
    Trailer(footerOffset: place, footerByteCount: frameByteCount, footerChecksum: checksum.value).append(
      to: &end)
    try body(start.bytes)
    for piece in fullPieces { try body(piece.rawSpan) }
    try body(lastPiece.bytes)
    try body(end.bytes)
    return LiveEntry(
      number: header.number, byteCount: place + byteCount, salt: header.salt, footerChecksum: checksum.value)
  }

  /// Writes footer frame and trailer at a place of the segment's file.
  ///
  /// - Returns: How the live set identifies the segment.
  @discardableResult
  package func write(
    to file: any StorageFile, at place: Int, header: SegmentHeader
  ) throws(StorageError) -> LiveEntry {
    var end = place
    return try finish(at: place, header: header) { piece throws(StorageError) in
      try file.writeAll(piece, at: end)
      end += piece.byteCount
    }
  }
}
