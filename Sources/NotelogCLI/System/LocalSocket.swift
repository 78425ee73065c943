// Sockets between processes of one machine, and messages on them: a length in two bytes, then as many bytes.
import CSystem
import Foundation
import Notelog

extension Descriptor {
  /// Listens at a path at which there is nothing; only the user may connect.
  static func listen(at path: String) throws -> Descriptor {
    guard let listener = Descriptor(owning: local_socket()) else { throw failure("make a socket") }
    let mask = umask(0o177)
    defer { umask(mask) }
    // SAFETY: the path outlives the call.
    guard unsafe local_open(listener.number, path, true) == 0 else { throw failure("listen at '\(path)'") }
    _ = fcntl(listener.number, F_SETFL, O_NONBLOCK)
    return listener
  }

  /// Connects to a socket of the user's own; nil where nobody listens, and where somebody else does.
  static func connect(to path: String, milliseconds: Int) -> Descriptor? {
    guard let socket = Descriptor(owning: local_socket()) else { return nil }
    socket.limitWaiting(milliseconds)
    // SAFETY: the path outlives the call.
    guard unsafe local_open(socket.number, path, false) == 0, peer_is_user(socket.number) else { return nil }
    return socket
  }

  /// Takes the next connection; nil where there is none, or it is another user's.
  func accept(milliseconds: Int) -> Descriptor? {
    guard let socket = Descriptor(owning: Foundation.accept(number, nil, nil)) else { return nil }
    _ = fcntl(socket.number, F_SETFD, FD_CLOEXEC)
    socket.limitWaiting(milliseconds)
    guard peer_is_user(socket.number) else { return nil }
    return socket
  }

  /// One message, without its length; nil where none comes in time, or it is empty or longer than may be.
  func receive(byteCountMax: Int, milliseconds: Int) -> SecretBytes? {
    let input = Input(borrowing: number, name: "a message", until: .now + .milliseconds(milliseconds))
    guard let length = input.exactly(2) else { return nil }
    let count = length.withBytes { Int(Span<UInt8>(_bytes: $0)[0]) | Int(Span<UInt8>(_bytes: $0)[1]) << 8 }
    guard (1...byteCountMax).contains(count) else { return nil }
    return input.exactly(count)
  }

  /// Sends a message, which begins with its length.
  ///
  /// - Returns: Whether all of it was sent.
  func send(_ message: SecretBytes) -> Bool {
    let number = number
    return message.withBytes { Self.write($0, to: number) == 0 }
  }

  /// Has no call wait longer for the other end: to connect, to send and to receive. What a wait takes for
  /// something to read may be none: a byte out of band.
  private func limitWaiting(_ milliseconds: Int) {
    var time = timeval(tv_sec: milliseconds / 1000, tv_usec: .init(milliseconds % 1000 * 1000))
    for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
      // SAFETY: the pointer and length are one local's.
      _ = unsafe setsockopt(number, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
    }
  }

  private static func failure(_ what: String) -> ToolError {
    ToolError(.failed, "cannot \(what): \(systemError(errno))")
  }
}

extension Input {
  /// Exactly so many bytes; nil where they don't come in time.
  fileprivate func exactly(_ count: Int) -> SecretBytes? {
    let bytes = try? readSecret(upTo: count - 1, isLine: false)
    return bytes?.byteCount == count ? bytes : nil
  }
}
