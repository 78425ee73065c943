// A buffered stream onto a descriptor, whose every failure is heard of.
import Foundation
import Synchronization

/// Standard output: written in pieces of 64 KiB, and when flushed.
final class Output: Sendable {
  private let descriptor: Int32
  private let buffer = Mutex<[UInt8]>([])
  private static let capacity = 64 << 10

  init(descriptor: Int32) { self.descriptor = descriptor }

  func write(_ text: String) throws(ToolError) {
    try write(bytes: Array(text.utf8))
  }

  func write(bytes: [UInt8]) throws(ToolError) {
    let isFull = buffer.withLock { buffer in
      buffer += bytes
      return buffer.count >= Self.capacity
    }
    if isFull { try flush() }
  }

  /// Writes what has been collected.
  func flush() throws(ToolError) {
    let rest = buffer.withLock { buffer in
      defer { buffer.removeAll(keepingCapacity: true) }
      return buffer
    }
    try send(rest)
  }

  /// Writes a text at once, where nothing has been collected before it.
  func writeNow(_ text: String) throws(ToolError) {
    try send(Array(text.utf8))
  }

  private func send(_ bytes: [UInt8]) throws(ToolError) {
    var sent = 0
    while sent < bytes.count {
      // SAFETY: the pointer and count describe the part of `bytes` not yet sent, which outlives the call.
      let count = unsafe bytes.withUnsafeBytes {
        unsafe Foundation.write(descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent)
      }
      if count >= 0 {
        sent += count
      } else if errno == EPIPE {
        throw .closedPipe
      } else if errno != EINTR {
        throw ToolError(.failed, "cannot write to standard output: \(SystemError.text(errno))")
      }
    }
  }
}
