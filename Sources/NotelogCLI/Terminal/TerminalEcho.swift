// The echo of the controlling terminal, switched off for a password and always switched on again.
import Foundation
import Synchronization

/// Remembers how the terminal was, where a signal handler can find it.
enum TerminalEcho {
  // SAFETY: allocated once before any handler runs and never freed; written only while `descriptor` is -1,
  // read only while it is not.
  private nonisolated(unsafe) static let before = UnsafeMutablePointer<termios>.allocate(capacity: 1)
  private static let descriptor = Atomic<Int32>(-1)

  /// Makes the globals, so that a signal handler finds them made.
  static func prepare() {
    // SAFETY: the memory was just allocated for one termios, and nothing reads it yet.
    unsafe before.initialize(to: termios())
    descriptor.store(-1, ordering: .releasing)
  }

  /// Runs `body` with the echo of `terminal` off, and Ctrl-Z asleep, since a stopped tool could not restore it.
  static func off<Result>(
    on terminal: Int32, _ body: () throws(ToolError) -> Result
  ) throws(ToolError) -> Result {
    // SAFETY: `before` points to one initialised termios that no handler reads yet.
    guard unsafe tcgetattr(terminal, before) == 0 else {
      throw ToolError(.failed, "cannot read the terminal's settings: \(SystemError.text(errno))")
    }
    // SAFETY: as above.
    var silent = unsafe before.pointee
    silent.c_lflag &= ~tcflag_t(ECHO)
    silent.c_lflag |= tcflag_t(ICANON | ISIG | ECHONL)
    descriptor.store(terminal, ordering: .releasing)
    let stop = signal(SIGTSTP, SIG_IGN)
    defer {
      restore()
      signal(SIGTSTP, stop)
    }
    // SAFETY: the pointer is to a local copy that outlives the call.
    guard unsafe tcsetattr(terminal, TCSAFLUSH, &silent) == 0 else {
      throw ToolError(.failed, "cannot switch off the terminal's echo: \(SystemError.text(errno))")
    }
    return try body()
  }

  /// Puts the terminal back; safe in a signal handler.
  static func restore() {
    let terminal = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
    // SAFETY: `before` was filled before `descriptor` was set, and tcsetattr may be called in a handler.
    if terminal >= 0 { _ = unsafe tcsetattr(terminal, TCSAFLUSH, before) }
  }
}
