// Reading a file, a pipe or a terminal as its bytes come, without being deaf to Ctrl-C meanwhile.
import Foundation
import Notelog

/// An open file to read from.
final class Input {
  /// What it is called in messages.
  let name: String
  private let descriptor: Int32
  private let isOwned: Bool

  /// Standard input.
  convenience init() { self.init(borrowing: STDIN_FILENO, name: "standard input") }

  /// Opens a file; `what` says in an error what it should have held.
  init(path: String, what: String = "") throws(ToolError) {
    name = what + (what.isEmpty ? "" : " ") + "'\(path)'"
    // SAFETY: the path outlives the call, and the flags ask for no mode argument.
    descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    isOwned = true
    if descriptor < 0 {
      throw ToolError(.failed, "cannot read \(what.isEmpty ? "" : "the ")\(name): \(SystemError.text(errno))")
    }
  }

  /// A descriptor that is somebody else's to close.
  init(borrowing descriptor: Int32, name: String) {
    self.name = name
    self.descriptor = descriptor
    isOwned = false
  }

  deinit { if isOwned, descriptor >= 0 { close(descriptor) } }

  /// How long it is, where that is known: a file's length, and nothing for a pipe.
  var byteCount: Int? { fileStatus.map { Int($0.st_size) } }

  /// Whether it is a file that the group or others may read.
  var isReadableByOthers: Bool { fileStatus.map { $0.st_mode & (S_IRGRP | S_IROTH) != 0 } ?? false }

  /// What the system says of a file; nil for a pipe.
  private var fileStatus: stat? {
    var status = stat()
    // SAFETY: the pointer is to one local.
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return status
  }

  /// What comes next, up to `count` bytes; empty at the end.
  func read(upTo count: Int) throws(ToolError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    while true {
      try waitForBytes()
      // SAFETY: the pointer and count are the array's own.
      let read = unsafe bytes.withUnsafeMutableBytes {
        unsafe Foundation.read(descriptor, $0.baseAddress, $0.count)
      }
      if read >= 0 {
        bytes.removeLast(count - read)
        return bytes
      }
      guard errno == EINTR else {
        throw ToolError(.failed, "cannot read \(name): \(SystemError.text(errno))")
      }
    }
  }

  /// What comes next, as much as there is room for; 0 at the end.
  func read(into memory: inout MutableRawSpan) throws(ToolError) -> Int {
    try readOn(into: &memory, at: 0, upTo: memory.byteCount)
  }

  /// All bytes up to the end; one more than `count` where there are more than that.
  func readAll(upTo count: Int) throws(ToolError) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count <= count {
      let piece = try read(upTo: min(1 << 20, count + 1 - bytes.count))
      if piece.isEmpty { break }
      bytes += piece
    }
    return bytes
  }

  /// All bytes up to the end, in memory for secrets; one more than `count` where there are more than that.
  func readSecret(upTo count: Int) throws(ToolError) -> SecretBytes {
    try asking {
      try SecretBytes(capacity: count + 1) { memory in
        var filled = 0
        while filled <= count {
          let read = try readOn(into: &memory, at: filled, upTo: count + 1 - filled)
          if read == 0 { break }
          filled += read
        }
        return filled
      }
    }
  }

  /// The bytes up to the next line end, and none behind it, in memory for secrets; one more than `count` where there are more than that,
  /// nil at the end.
  func readSecretLine(upTo count: Int) throws(ToolError) -> SecretBytes? {
    var isAtEnd = false
    let line = try asking {
      try SecretBytes(capacity: count + 1) { memory in
        for filled in 0...count {
          guard try readOn(into: &memory, at: filled, upTo: 1) == 1 else {
            isAtEnd = filled == 0
            return filled
          }
          // SAFETY: a byte is a byte, and this one was just read.
          if unsafe memory.bytes.unsafeLoad(fromByteOffset: filled, as: UInt8.self) == UInt8(ascii: "\n") {
            return filled
          }
        }
        return count + 1
      }
    }
    return isAtEnd ? nil : line
  }

  private func readOn(
    into memory: inout MutableRawSpan, at offset: Int, upTo count: Int
  ) throws(ToolError) -> Int {
    while true {
      try waitForBytes()
      // SAFETY: the memory has `count` bytes behind the offset.
      let read = unsafe memory.withUnsafeMutableBytes {
        unsafe Foundation.read(descriptor, $0.baseAddress?.advanced(by: offset), count)
      }
      if read >= 0 { return read }
      guard errno == EINTR else {
        throw ToolError(.failed, "cannot read \(name): \(SystemError.text(errno))")
      }
    }
  }

  /// Waits until there is something to read; a wait that a Ctrl-C just missed would last until the next byte, so
  /// it looks up from time to time.
  private func waitForBytes() throws(ToolError) {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while true {
      if Interrupt.isRequested { throw .interrupted }
      // SAFETY: the pointer is to one local.
      let count = unsafe poll(&waiting, 1, 200)
      // A signal ends the wait, and is looked for once more: `read` would wait without looking.
      if count == 0 || count < 0 && errno == EINTR { continue }
      return
    }
  }
}
