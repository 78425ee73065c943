// The blocks of the checkpoint file: docs/format-derived.md §31.

import NotelogBase

/// 4 KiB with a checksum that holds at one place of one file only.
enum CheckpointBlock {
  static let byteCount = 4096
  static let contentByteCount = 4080
  static let entryCount = contentByteCount / IndexEntry.byteCount

  /// Completes the blocks that a buffer is made of; the first has this number.
  static func seal(_ buffer: inout Buffer, salt: UInt64, first: Int) {
    precondition(buffer.count % byteCount == 0, "blocks are sealed whole")
    let count = buffer.count / byteCount
    var bytes = buffer.mutableBytes
    for index in 0..<count {
      let start = index * byteCount
      bytes.store(salt, at: start + contentByteCount)
      let checksum = checksum(bytes.bytes, at: start, number: first + index)
      bytes.store(checksum, at: start + contentByteCount + 8)
    }
  }

  /// Whether the block at an offset of the bytes is what was written as the one of this number.
  static func isSound(_ bytes: RawSpan, at start: Int, number: Int, salt: UInt64) -> Bool {
    bytes.byteCount - start >= byteCount && bytes.load(UInt64.self, at: start + contentByteCount) == salt
      && bytes.load(UInt32.self, at: start + contentByteCount + 8)
        == checksum(bytes, at: start, number: number)
      && bytes.load(UInt32.self, at: start + contentByteCount + 12) == 0
  }

  private static func checksum(_ bytes: RawSpan, at start: Int, number: Int) -> UInt32 {
    var checksum = Checksum()
    checksum.update(UInt32(truncatingIfNeeded: number))
    checksum.update(bytes.extracting(start..<start + contentByteCount + 8))
    return checksum.value
  }
}
