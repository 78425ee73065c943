// What the file `lock` holds: where the store was last closed in order. FORMAT.md §3.

package import NotelogBase
package import NotelogStorage

/// The position of the newest close mark, told outside of the log.
///
/// The log itself can't tell that its end is missing: what is left of it looks like a log that ended there.
/// This is a second witness of the floor, and of the numbers that were given out. It may be older than the
/// log, never newer.
package struct LastClose: Equatable, Sendable {
  package static let byteCount = 64
  package static let magic: UInt64 = 0x0A0D_5345_4C43_4E89

  package let storeID: ID16
  /// Where the close mark lies.
  package let mark: LogPosition
  /// The sequence number that the next transaction gets.
  package let nextSequence: UInt64

  package init(storeID: ID16, mark: LogPosition, nextSequence: UInt64) {
    self.storeID = storeID
    self.mark = mark
    self.nextSequence = nextSequence
  }

  /// Reads it; nothing where the bytes are not all as they were written.
  package init?(_ bytes: RawSpan) {
    guard bytes.byteCount >= Self.byteCount, bytes.load(UInt64.self, at: 0) == Self.magic,
      bytes.load(UInt32.self, at: Self.byteCount - 4)
        == Checksum.of(bytes.extracting(first: Self.byteCount - 4)),
      bytes.extracting(40..<Self.byteCount - 4).isZero
    else { return nil }
    storeID = ID16(bytes, at: 8)
    mark = LogPosition(bytes, at: 24)
    nextSequence = bytes.load(UInt64.self, at: 32)
    guard mark.segment > 0, mark.isValid, nextSequence <= UInt64(FormatLimits.maximumSequence) else {
      return nil
    }
  }

  package func append(to buffer: inout Buffer) {
    let start = buffer.appendZeros(Self.byteCount)
    var bytes = buffer.mutableBytes
    bytes.store(Self.magic, at: start)
    storeID.write(into: &bytes, at: start + 8)
    mark.write(into: &bytes, at: start + 24)
    bytes.store(nextSequence, at: start + 32)
    let end = start + Self.byteCount - 4
    bytes.store(Checksum.of(bytes.bytes.extracting(start..<end)), at: end)
  }

  /// Reads what a store's `lock` says; nothing where it can't be read or does not check, as it is one witness
  /// among others.
  package static func read(_ storage: any Storage) -> LastClose? {
    guard let file = try? storage.openFile(FileName.lock, .read) else { return nil }
    return read(file)
  }

  /// Reads it from an open file.
  package static func read(_ file: any StorageFile) -> LastClose? {
    var buffer = Buffer(capacity: byteCount)
    guard (try? buffer.fill(byteCount, from: file, at: 0)) == byteCount else { return nil }
    return LastClose(buffer.bytes)
  }
}
