// A descriptor that is closed when its owner goes.
import Foundation

/// Owns a descriptor.
struct Descriptor: ~Copyable, Sendable {
  let number: Int32

  /// Takes over a descriptor that was just opened; nil where there is none.
  init?(owning number: Int32) {
    guard number >= 0 else { return nil }
    self.number = number
  }

  deinit { close(number) }
}

/// Both ends of a pipe, which no other program inherits.
struct Ends: ~Copyable {
  let reader: Descriptor
  let writer: Descriptor

  init() throws(ToolError) {
    var ends: [Int32] = [-1, -1]
    // SAFETY: the array has room for the two descriptors.
    guard unsafe pipe(&ends) == 0, let reader = Descriptor(owning: ends[0]),
      let writer = Descriptor(owning: ends[1])
    else { throw ToolError(.failed, "cannot make a pipe: \(SystemError.text(errno))") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    self.reader = reader
    self.writer = writer
  }
}
