// zlib streams of whole values, bounded on the way back.

import CZlib

/// Compression of one value on its own.
extension RawSpan {
  /// The bytes compressed, as a zlib stream; nil where that would not be shorter.
  package func deflated() -> [UInt8]? {
    guard byteCount > 0 else { return nil }
    var count = uLongf(byteCount)
    var stream = [UInt8](repeating: 0, count: byteCount)
    // SAFETY: both pointers cover exactly the lengths given beside them and do not outlive the call.
    let status = unsafe withUnsafeBytes { source in
      unsafe stream.withUnsafeMutableBufferPointer { stream in
        unsafe compress2(
          stream.baseAddress, &count, source.bindMemory(to: UInt8.self).baseAddress, uLong(source.count),
          Z_DEFAULT_COMPRESSION)
      }
    }
    // Z_BUF_ERROR: it did not fit into as many bytes as there were.
    guard status == Z_OK, Int(count) < byteCount else { return nil }
    stream.removeLast(stream.count - Int(count))
    return stream
  }

  /// What was compressed, of a zlib stream and nothing behind it.
  ///
  /// - Parameter resultByteCount: The length of the result, which the caller has compared with its limit: no
  ///   more is ever made.
  /// - Returns: nil where the stream is broken, or isn't exactly as long as it should be.
  package func inflated(to resultByteCount: Int) -> [UInt8]? {
    guard resultByteCount > 0 else { return nil }
    var count = uLongf(resultByteCount)
    var used = uLong(byteCount)
    var bytes = [UInt8](repeating: 0, count: resultByteCount)
    // SAFETY: both pointers cover exactly the lengths given beside them and do not outlive the call.
    let status = unsafe withUnsafeBytes { stream in
      unsafe bytes.withUnsafeMutableBufferPointer { bytes in
        unsafe uncompress2(bytes.baseAddress, &count, stream.bindMemory(to: UInt8.self).baseAddress, &used)
      }
    }
    return status == Z_OK && Int(count) == resultByteCount && Int(used) == byteCount ? bytes : nil
  }
}
