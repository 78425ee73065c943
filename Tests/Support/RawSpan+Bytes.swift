// Copies between spans and arrays, and a hash of bytes: the only file of the test support that needs
// `unsafe`.

package import NotelogStorage

extension RawSpan {
  /// A copy of the bytes.
  package func copiedBytes() -> [UInt8] {
    // SAFETY: the pointer covers exactly the span's bytes and is copied from before the closure returns.
    unsafe withUnsafeBytes { unsafe [UInt8]($0) }
  }
}

extension MutableRawSpan {
  /// Copies the array's bytes from an offset on, as many as both hold, and returns how many that were.
  package mutating func copy(from bytes: [UInt8], at offset: Int, atMost limit: Int) -> Int {
    let count = min(byteCount, min(limit, max(0, bytes.count - offset)))
    guard count > 0 else { return 0 }
    // SAFETY: both ranges were cut to their buffers' sizes, and an array never overlaps a span borrowed
    // elsewhere.
    unsafe withUnsafeMutableBytes { target in
      unsafe bytes.withUnsafeBytes { source in
        unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[offset..<offset + count]))
      }
    }
    return count
  }
}

extension Hasher {
  /// Feeds a whole array at once.
  package mutating func combine(contentsOf bytes: [UInt8]) {
    combine(bytes.count)
    // SAFETY: the pointer is read before the closure returns.
    unsafe bytes.withUnsafeBytes { unsafe combine(bytes: $0) }
  }
}

/// The calls on a file, with arrays for spans.
extension StorageFile {
  /// One `write`.
  package func write(_ bytes: [UInt8], at offset: Int) throws(StorageError) -> Int {
    // SAFETY: bytes have no padding, which is all that this view could show.
    try unsafe write(bytes.span.bytes, at: offset)
  }

  /// Writes every byte.
  package func writeAll(_ bytes: [UInt8], at offset: Int) throws(StorageError) {
    // SAFETY: as above.
    try unsafe writeAll(bytes.span.bytes, at: offset)
  }

  /// One `read`.
  package func read(_ byteCount: Int, at offset: Int) throws(StorageError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: byteCount)
    var span = bytes.mutableSpan
    // SAFETY: as above, and any byte may be stored.
    var target = unsafe span.mutableBytes
    let count = try read(into: &target, at: offset)
    return Array(bytes[..<count])
  }
}
