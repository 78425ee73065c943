// Reading a file, a pipe or a terminal as its bytes come, without being deaf to Ctrl-C meanwhile.
import Foundation

/// An open file to read from.
final class Input {
  /// What it is called in messages.
  let name: String
  private let descriptor: Int32
  private let isOwned: Bool

  /// Standard input.
  init() {
    name = "standard input"
    descriptor = STDIN_FILENO
    isOwned = false
  }

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

  deinit { if isOwned, descriptor >= 0 { close(descriptor) } }

  /// How long it is, where that is known: a file's length, and nothing for a pipe.
  var byteCount: Int? {
    var status = stat()
    // SAFETY: the pointer is to one local.
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int(status.st_size)
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
