// Reading a file, a pipe or a terminal as its bytes come, without being deaf to Ctrl-C meanwhile.

import Foundation
import Notelog
import Synchronization

/// An open file to read from.
final class Input {
  /// What it is called in messages.
  let name: String
  private let descriptor: Int32
  /// Closed when this goes, where it was opened here.
  private let file: Descriptor?
  /// Until when it is waited for; nil for ever.
  private let end: ContinuousClock.Instant?

  /// Standard input.
  convenience init() { self.init(borrowing: STDIN_FILENO, name: "standard input") }

  /// Opens a file; `what` says in an error what it should have held.
  init(path: String, what: String = "") throws {
    name = what + (what.isEmpty ? "" : " ") + "'\(path)'"
    // SAFETY: the path outlives the call, and the flags ask for no mode argument.
    descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    file = Descriptor(owning: descriptor)
    end = nil
    if descriptor < 0 {
      throw ToolError(.failed, "cannot read \(what.isEmpty ? "" : "the ")\(name): \(systemError(errno))")
    }
  }

  /// A descriptor that is somebody else's to close.
  init(borrowing descriptor: Int32, name: String, until end: ContinuousClock.Instant? = nil) {
    self.name = name
    self.descriptor = descriptor
    self.end = end
    file = nil
  }

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
  func read(upTo count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var span = bytes.mutableSpan
    // SAFETY: any bytes are bytes.
    var memory = unsafe span.mutableBytes
    let read = try readOn(into: &memory, at: 0, upTo: count)
    bytes.removeLast(count - read)
    return bytes
  }

  /// What comes next, as much as there is room for; 0 at the end.
  func read(into memory: inout MutableRawSpan) throws -> Int {
    try readOn(into: &memory, at: 0, upTo: memory.byteCount)
  }

  /// All bytes up to the end; throws an error where there are more than `count`.
  func readAll(upTo count: Int, orThrow error: @autoclosure () -> ToolError) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count <= count {
      let piece = try read(upTo: min(1 << 20, count + 1 - bytes.count))
      if piece.isEmpty { return bytes }
      bytes += piece
    }
    throw error()
  }

  /// The bytes up to the end, or of a line up to its end and none behind it, in memory for secrets; one more
  /// than `count` where there are more than that, nil at the end.
  func readSecret(upTo count: Int, isLine: Bool) throws -> SecretBytes? {
    var isAtEnd = false
    let secret = try SecretBytes(capacity: count + 1) { memory in
      var filled = 0
      while filled <= count {
        let read = try readOn(into: &memory, at: filled, upTo: isLine ? 1 : count + 1 - filled)
        isAtEnd = read == 0 && filled == 0
        if read == 0 { break }
        // SAFETY: a byte is a byte, and this one was just read.
        let byte = unsafe memory.bytes.unsafeLoad(fromByteOffset: filled, as: UInt8.self)
        if isLine, byte == UInt8(ascii: "\n") { break }
        filled += read
      }
      return filled
    }
    return isAtEnd ? nil : secret
  }

  private func readOn(into memory: inout MutableRawSpan, at offset: Int, upTo count: Int) throws -> Int {
    while true {
      try waitForBytes()
      // SAFETY: the memory is the caller's, and has `count` bytes behind the offset.
      let read = unsafe memory.withUnsafeMutableBytes {
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: $0[offset..<(offset + count)])
        return unsafe Foundation.read(descriptor, rest.baseAddress, rest.count)
      }
      if read >= 0 { return read }
      // Whoever must be done in time, looks at that again.
      guard errno == EINTR || errno == EAGAIN && end != nil else {
        throw ToolError(.failed, "cannot read \(name): \(systemError(errno))")
      }
    }
  }

  /// Waits until there is something to read; a wait that a Ctrl-C just missed would last until the next byte,
  /// so it looks up from time to time.
  private func waitForBytes() throws {
    while true {
      if Interrupt.isRequested { throw ToolError.interrupted }
      let left = (end.map { ContinuousClock.now.duration(to: $0) / .milliseconds(1) } ?? 200).rounded(.up)
      guard left > 0 else { throw ToolError(.failed, "\(name) does not come in time") }
      // A signal ends the wait, and is looked for once more: `read` would wait without looking.
      if Descriptor.wait(for: [descriptor], milliseconds: Int32(min(left, 200)))[0] { return }
    }
  }
}

// MARK: - The echo of the controlling terminal, switched off for a password and always switched on again.

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

  /// Asks for a secret of up to so many bytes on the controlling terminal, whatever stdin and stdout are connected to;
  /// `hint` is what can be done where there is none.
  static func ask(_ question: String, upTo count: Int, hint: String) throws -> SecretBytes {
    // SAFETY: the path is a literal, and the flags ask for no mode argument.
    let terminal = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC)
    guard terminal >= 0 else {
      throw ToolError(.locked, "a \(question) is needed, and there is no terminal to ask on", hint: hint)
    }
    defer { close(terminal) }
    // SAFETY: `before` points to one initialised termios that no handler reads yet.
    guard unsafe tcgetattr(terminal, before) == 0 else {
      throw ToolError(.failed, "cannot read the terminal's settings: \(systemError(errno))")
    }
    // SAFETY: as above.
    var silent = unsafe before.pointee
    silent.c_lflag &= ~tcflag_t(ECHO)
    silent.c_lflag |= tcflag_t(ICANON | ISIG | ECHONL)
    descriptor.store(terminal, ordering: .releasing)
    // A tool that Ctrl-Z stopped could not put the terminal back.
    let stop = signal(SIGTSTP, SIG_IGN)
    defer {
      restore()
      signal(SIGTSTP, stop)
    }
    // SAFETY: the pointer is to a local copy that outlives the call.
    guard unsafe tcsetattr(terminal, TCSAFLUSH, &silent) == 0 else {
      throw ToolError(.failed, "cannot switch off the terminal's echo: \(systemError(errno))")
    }
    try Output(descriptor: terminal).writeNow(question + ": ")
    let input = Input(borrowing: terminal, name: "the terminal")
    guard let line = try input.readSecret(upTo: count, isLine: true) else {
      throw ToolError(.locked, "no password was given")
    }
    return line
  }

  /// Puts the terminal back; safe in a signal handler.
  static func restore() {
    let terminal = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
    // SAFETY: `before` was filled before `descriptor` was set, and tcsetattr may be called in a handler.
    if terminal >= 0 { _ = unsafe tcsetattr(terminal, TCSAFLUSH, before) }
  }
}

// MARK: - A descriptor that is closed when its owner goes.

/// Owns a descriptor.
struct Descriptor: ~Copyable, Sendable {
  let number: Int32

  /// Takes over a descriptor that was just opened; nil where there is none.
  init?(owning number: Int32) {
    guard number >= 0 else { return nil }
    self.number = number
  }

  deinit { close(number) }

  /// Writes all of some bytes to a descriptor. A reader that went away is an error, as the signal is ignored.
  ///
  /// - Returns: The system's error; 0 without one.
  static func write(_ bytes: RawSpan, to number: Int32) -> Int32 {
    var sent = 0
    while sent < bytes.byteCount {
      // SAFETY: the pointer and count describe what is not sent yet, which outlives the call.
      let count = unsafe bytes.withUnsafeBytes {
        unsafe Foundation.write(number, $0.baseAddress?.advanced(by: sent), $0.count - sent)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { return errno }
      sent += count
    }
    return 0
  }

  /// Waits until one of the descriptors can be read, or the time is over.
  ///
  /// - Returns: Which of them can.
  static func wait(for descriptors: [Int32], milliseconds: Int32) -> [Bool] {
    var waiting = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    // SAFETY: the pointer and count are the array's own.
    let count = unsafe poll(&waiting, nfds_t(waiting.count), milliseconds)
    return waiting.map { count > 0 && $0.revents != 0 }
  }
}

/// Both ends of a pipe, which no other program inherits.
struct Ends: ~Copyable {
  let reader: Descriptor
  let writer: Descriptor

  init() throws {
    var ends: [Int32] = [-1, -1]
    // SAFETY: the array has room for the two descriptors.
    guard unsafe pipe(&ends) == 0, let reader = Descriptor(owning: ends[0]),
      let writer = Descriptor(owning: ends[1])
    else { throw ToolError(.failed, "cannot make a pipe: \(systemError(errno))") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    self.reader = reader
    self.writer = writer
  }
}

// MARK: - The arguments as the system gave them: bytes, that need not be UTF-8.

/// The process's arguments as text, without its own name.
func readArguments() throws -> [String] {
  // SAFETY: the system passes argc pointers to strings that end in a zero and live as long as the process.
  try (1..<max(1, Int(CommandLine.argc))).compactMap { index in
    guard let word = unsafe CommandLine.unsafeArgv[index] else { return nil }
    if let text = unsafe String(validatingCString: word) { return text }
    throw ToolError.usage("'\(Escaping.line(unsafe String(cString: word)))' is not UTF-8")
  }
}
