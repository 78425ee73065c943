// Writes a whole segment under a temporary name: recovery's and compaction's output. FORMAT.md §22 line 9, §24.

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

  private init(_ storage: any Storage, file: any StorageFile, number: UInt32, salt: UInt64) {
    self.number = number
    self.salt = SegmentSalt(salt)
    self.storage = storage
    self.file = file
    buffer.appendZeros(Layout.firstFrameOffset)
  }

  /// Creates the file.
  package static func create(
    in storage: any Storage, number: UInt32, salt: UInt64
  ) throws(StorageError) -> SegmentBuilder {
    let name = FileName.segment(number) + FileName.partialSuffix
    let file = try storage.openFile(name, .createNew)
    return SegmentBuilder(storage, file: file, number: number, salt: salt)
  }

  /// Appends the live set, the first frame of a segment of the log.
  package mutating func append(_ live: LiveSet, firstSequence: UInt64) throws(StorageError) {
    var payload = Buffer()
    live.append(to: &payload)
    try append(live.frameHeader(firstSequence: firstSequence), payload.bytes)
  }

  /// Where the next frame goes.
  package var end: Int { written + buffer.count }

  /// Appends a frame with its payload, whose checksum the header has.
  @discardableResult
  package mutating func append(_ header: FrameHeader, _ payload: RawSpan) throws(StorageError) -> Int {
    precondition(
      payload.byteCount == header.payloadByteCount, "a frame's payload is as long as its header says")
    let place = end
    let start = buffer.count
    buffer.appendZeros(Layout.frameHeaderByteCount)
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

  /// Writes footer and header, makes the file durable and gives it its name. `header` makes the header, given the place
  /// where the segment's frames end.
  package consuming func publish(_ header: (Int) -> SegmentHeader) throws(StorageError) -> LiveEntry {
    let footerStart = end
    let header = header(footerStart)
    let checksum = footer.append(to: &buffer, at: footerStart, header: header, salt: salt)
    let byteCount = end
    do throws(StorageError) {
      try file.writeAll(buffer.bytes, at: written)
      try header.write(to: file)
      try file.makeDurable()
    } catch {
      abandon()
      throw error
    }
    file.close()
    try storage.publish(temporaryName, as: FileName.segment(number))
    return LiveEntry(number: number, byteCount: byteCount, salt: header.salt, footerChecksum: checksum)
  }

  /// Gives the output up.
  package consuming func abandon() {
    file.close()
    // What stays behind is deleted at the next opening.
    try? storage.unlink(temporaryName)
  }
}
