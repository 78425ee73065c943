// zlib streams of whole values, bounded on the way back.

import CZlib

/// Compression of one value on its own.
package enum Deflate {
  /// Compresses bytes.
  ///
  /// - Returns: A zlib stream, or nil where it would not be shorter than the bytes.
  package static func compress(_ source: RawSpan) -> [UInt8]? {
    guard source.byteCount > 0 else { return nil }
    var count = uLongf(source.byteCount)
    var stream = [UInt8](repeating: 0, count: source.byteCount)
    // SAFETY: both pointers cover exactly the lengths given beside them and do not outlive the call.
    let status = unsafe source.withUnsafeBytes { source in
      unsafe stream.withUnsafeMutableBufferPointer { stream in
        unsafe compress2(
          stream.baseAddress, &count, source.bindMemory(to: UInt8.self).baseAddress, uLong(source.count),
          Z_DEFAULT_COMPRESSION)
      }
    }
    // Z_BUF_ERROR: it did not fit into as many bytes as there were.
    guard status == Z_OK, Int(count) < source.byteCount else { return nil }
    stream.removeLast(stream.count - Int(count))
    return stream
  }

  /// Restores what was compressed.
  ///
  /// - Parameters:
  ///   - stream: A zlib stream and nothing behind it.
  ///   - byteCount: The length of the result, which the caller has compared with its limit: no more is ever
  ///     made.
  /// - Returns: nil where the stream is broken, or isn't exactly as long as it should be.
  package static func inflate(_ stream: RawSpan, byteCount: Int) -> [UInt8]? {
    guard byteCount > 0 else { return nil }
    var count = uLongf(byteCount)
    var used = uLong(stream.byteCount)
    var bytes = [UInt8](repeating: 0, count: byteCount)
    // SAFETY: both pointers cover exactly the lengths given beside them and do not outlive the call.
    let status = unsafe stream.withUnsafeBytes { stream in
      unsafe bytes.withUnsafeMutableBufferPointer { bytes in
        unsafe uncompress2(bytes.baseAddress, &count, stream.bindMemory(to: UInt8.self).baseAddress, &used)
      }
    }
    return status == Z_OK && Int(count) == byteCount && Int(used) == stream.byteCount ? bytes : nil
  }
}
