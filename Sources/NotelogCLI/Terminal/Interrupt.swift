// Ctrl-C and its kin: the terminal is put back in order, and the tool ends at once or at the next safe place.
import Foundation
import Synchronization

/// What the signal handlers and the commands share.
///
/// A store is sound at any moment, so most commands simply end. One that has something to finish runs inside
/// `deferred` and asks `isRequested` between its steps; a second Ctrl-C ends it all the same.
enum Interrupt {
  private static let requested = Atomic(false)
  private static let deferring = Atomic(false)
  /// Where the handlers write a byte instead of ending the process; -1 where they end it.
  private static let bell = Atomic<Int32>(-1)

  /// Whether the user asked a deferred command to stop.
  static var isRequested: Bool { requested.load(ordering: .relaxed) }

  /// Runs `body`, during which the first Ctrl-C only makes `isRequested` true.
  static func deferred<Result>(_ body: () throws -> Result) throws -> Result {
    let before = deferring.exchange(true, ordering: .relaxed)
    defer { deferring.store(before, ordering: .relaxed) }
    return try body()
  }

  /// From now on a signal that would end the tool makes a descriptor readable, and whoever waits for it ends
  /// in order.
  ///
  /// - Returns: The descriptor to wait for.
  static func heard() throws -> Descriptor {
    let ends = try Ends()
    // The handler must not wait where nobody reads.
    _ = fcntl(ends.writer.number, F_SETFL, O_NONBLOCK)
    // A copy that nobody closes: the handlers have it for as long as the process lives.
    bell.store(fcntl(ends.writer.number, F_DUPFD_CLOEXEC, 0), ordering: .releasing)
    return ends.reader
  }

  /// From now on a signal ends the tool at once, whoever waits for one.
  static func endAtOnce() { bell.store(-1, ordering: .releasing) }

  /// Installs the handlers; a closed pipe becomes an error of `write`, not a signal. A crash ends the process,
  /// and prints nothing of its registers and memory, as Swift's backtraces do.
  static func install() {
    for number in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] { signal(number, SIG_DFL) }
    // The globals are made now: a signal handler must not be the first to touch them.
    requested.store(false, ordering: .relaxed)
    deferring.store(false, ordering: .relaxed)
    bell.store(-1, ordering: .relaxed)
    TerminalEcho.prepare()
    signal(SIGPIPE, SIG_IGN)
    // A limit on a file's size becomes an error of `write` too.
    signal(SIGXFSZ, SIG_IGN)
    for number in [SIGINT, SIGTERM, SIGQUIT] { signal(number, handle) }
    // Under nohup it goes on when the terminal is closed.
    let before = signal(SIGHUP, handle)
    // SAFETY: both are addresses, and nothing is called.
    if unsafe unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
      signal(SIGHUP, SIG_IGN)
    }
  }

  private static let handle: @convention(c) (Int32) -> Void = { number in
    if number == SIGINT, deferring.load(ordering: .relaxed),
      !requested.exchange(true, ordering: .relaxed)
    {
      return
    }
    let writer = bell.load(ordering: .acquiring)
    if writer >= 0 {
      var byte = UInt8(truncatingIfNeeded: number)
      // SAFETY: the byte of a local; write may be called in a handler, and a full pipe has been heard already.
      _ = unsafe write(writer, &byte, 1)
      return
    }
    end(by: number)
  }

  /// Ends the process as a signal does.
  private static func end(by number: Int32) {
    TerminalEcho.restore()
    if number != SIGINT {
      // SAFETY: the bytes of a static string, all of them; write may be called in a handler.
      _ = unsafe write(STDERR_FILENO, "notelog: error: ended by a signal\n", 34)
    }
    _exit(128 + number)
  }

  /// From now on something is done before a signal ends the tool: on a thread of its own, which may do what no
  /// handler may.
  static func beforeEnding(_ body: @escaping @Sendable (_ number: Int32) -> Void) throws {
    let end = try heard()
    Thread.detachNewThread {
      let byte = try? Input(borrowing: end.number, name: "a signal").read(upTo: 1).first
      let number = Int32(byte ?? UInt8(SIGTERM))
      body(number)
      Self.end(by: number)
    }
  }
}
