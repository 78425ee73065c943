// Where the values of a record wait, as plaintext, for their sizes to be summed up.

import NotelogJournal

/// A buffer that is filled field by field and used again for the next record, so that writing allocates nothing.
public struct FieldScratch {
  private(set) var bytes: [UInt8] = []
  private(set) var count = 0

  init() {}

  /// Appends a value.
  @inlinable
  public mutating func append(_ value: some StoredValue) {
    append(byteCount: value.storedByteCount) { value.store(into: &$0) }
  }

  @usableFromInline
  mutating func append(byteCount: Int, _ body: (inout MutableRawSpan) -> Void) {
    let end = count + byteCount
    if end > bytes.count {
      bytes.append(contentsOf: repeatElement(0, count: max(end, 256) * 2 - bytes.count))
    }
    bytes.withBytes(in: count..<end) { body(&$0) }
    count = end
  }

  /// Runs `body` on what was appended.
  func withBytes<Result>(
    in range: Range<Int>, _ body: (RawSpan) throws(NotelogError) -> Result
  ) throws(NotelogError) -> Result {
    try body(bytes.rawSpan.extracting(range))
  }

  /// Forgets the values, and overwrites them.
  mutating func removeAll() {
    for index in 0..<count { bytes[index] = 0 }
    count = 0
  }
}
