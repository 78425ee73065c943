// Where the values of a record wait, as plaintext, for their sizes to be summed up.

import NotelogBase
import NotelogCrypto

/// A buffer that is filled field by field and used again for the next record, so that writing allocates
/// nothing.
@usableFromInline
struct FieldScratch {
  private(set) var bytes: [UInt8] = []
  private(set) var count = 0

  /// Appends a value.
  @inlinable
  mutating func append(_ value: some StoredValue) {
    append(byteCount: value._storedByteCount) { value._store(into: &$0) }
  }

  @usableFromInline
  mutating func append(byteCount: Int, _ body: (inout MutableRawSpan) -> Void) {
    let end = count + byteCount
    if end > bytes.count {
      // By hand, so that what is left behind can be wiped.
      var larger = [UInt8](repeating: 0, count: max(end, 256) * 2)
      larger.withBytes(in: 0..<count) { $0.copy(bytes.rawSpan.extracting(first: count)) }
      bytes.wipe()
      bytes = larger
    }
    bytes.withBytes(in: count..<end) { body(&$0) }
    count = end
  }

  /// Appends bytes, and says where they are.
  mutating func append(_ value: RawSpan) -> Range<Int> {
    let start = count
    append(byteCount: value.byteCount) { $0.copy(value) }
    return start..<count
  }

  /// Puts a length of four bytes and a zlib stream in the place of the bytes from `start` on.
  ///
  /// - Returns: False, and nothing changed, where that would not be shorter.
  mutating func compress(from start: Int) -> Bool {
    let plainCount = count - start
    guard var stream = Deflate.compress(bytes.rawSpan.extracting(start..<count)),
      stream.count + 4 < plainCount
    else { return false }
    let end = start + 4 + stream.count
    for index in end..<count { bytes[index] = 0 }
    bytes.withBytes(in: start..<end) { target in
      target.store(UInt32(plainCount), at: 0)
      target.copy(stream.rawSpan, at: 4)
    }
    stream.wipe()
    count = end
    return true
  }

  /// Pads the bytes from `start` on.
  mutating func pad(from start: Int) {
    let plainCount = count - start
    let padded = Padding.paddedCount(of: plainCount, minimumBucket: Limits.paddingBucket)
    append(byteCount: padded - plainCount) { _ in }
    bytes.withBytes(in: start..<start + padded) { Padding.pad(&$0, valueCount: plainCount) }
  }

  /// Runs `body` on what was appended.
  func withBytes<Result, Thrown>(
    in range: Range<Int>, _ body: (RawSpan) throws(Thrown) -> Result
  ) throws(Thrown) -> Result {
    try body(bytes.rawSpan.extracting(range))
  }

  /// Whether the bytes before a place are the same as those behind it.
  func isEven(at place: Int) -> Bool { bytes[..<place].elementsEqual(bytes[place..<count]) }

  /// Forgets the values, and overwrites them.
  mutating func removeAll() {
    for index in 0..<count { bytes[index] = 0 }
    count = 0
  }
}

extension [UInt8] {
  /// Overwrites the bytes.
  mutating func wipe() {
    for index in indices { self[index] = 0 }
  }
}
