// Other programs, started without a shell.
import CSystem
import Foundation
import Synchronization

/// A program that was started, and what it prints.
struct Program: ~Copyable {
  private let process: pid_t
  /// What it prints, to be read from.
  let output: Descriptor
  /// Closed when the program has ended: what comes on its stderr later is another's.
  private var end: Descriptor?
  /// Done when all that it said was handed on.
  private let said: DispatchGroup

  /// Starts a program with nothing to read. What it says on stderr is handed on to this process's stderr,
  /// escaped.
  ///
  /// - Parameters:
  ///   - words: Its name, which is looked for in PATH where it holds no slash, and its arguments.
  ///   - isDetached: Whether it goes on by itself: in a session of its own, and with nobody listening to its
  ///     stderr.
  /// - Returns: The program.
  /// - Throws: Where it can't be started.
  static func start(_ words: [String], isDetached: Bool = false) throws -> Program {
    let output = try Ends()
    let errors = try Ends()
    let end = try Ends()
    let process = try spawn(words, output.writer.number, errors.writer.number, isDetached: isDetached)
    return Program(
      process: process, output: output.reader, end: end.writer, said: relay(errors.reader, until: end.reader))
  }

  private static func spawn(
    _ words: [String], _ output: Int32, _ errors: Int32, isDetached: Bool = false
  ) throws -> pid_t {
    let copies = unsafe words.map { unsafe strdup($0) } + [nil]
    defer { unsafe copies.forEach { unsafe free($0) } }
    var process: pid_t = 0
    // SAFETY: the copies are freed after the call, which takes what it needs; the pointer is to one local.
    let error = unsafe start_program(&process, copies, output, errors, isDetached)
    guard error == 0 else {
      throw ToolError(.failed, "cannot start '\(words[0])': \(systemError(error))")
    }
    return process
  }

  /// Hands on what comes on a program's stderr, as it comes, until the other descriptor's writer is closed
  /// and no more is there.
  private static func relay(_ errors: consuming Descriptor, until end: consuming Descriptor) -> DispatchGroup
  {
    let said = DispatchGroup()
    let errors = errors
    let end = end
    DispatchQueue.global().async(group: said) {
      let output = Output(descriptor: STDERR_FILENO)
      var piece = [UInt8](repeating: 0, count: 4096)
      var bytes: [UInt8] = []
      // SAFETY: pointers and counts are those of the arrays.
      while true {
        let ready = Descriptor.wait(for: [errors.number, end.number], milliseconds: -1)
        // A signal ended the wait.
        guard ready.contains(true) else { continue }
        guard ready[0] else { break }
        let count = unsafe read(errors.number, &piece, piece.count)
        guard count > 0 else { break }
        bytes += piece.prefix(count)
        // A character may come in two pieces.
        let rest = (0...3).first { String(validating: bytes.dropLast($0), as: UTF8.self) != nil } ?? 0
        try? output.writeNow(Escaping.text(String(decoding: bytes.dropLast(rest), as: UTF8.self)))
        bytes = bytes.suffix(rest)
      }
      try? output.writeNow(Escaping.text(String(decoding: bytes, as: UTF8.self)))
    }
    return said
  }

  /// Waits for its end.
  ///
  /// - Returns: Its exit code, or 128 and the number of the signal that ended it, as shells have it.
  consuming func wait() -> Int32 {
    let code = Self.wait(for: process)
    end = nil
    said.wait()
    return code
  }

  private static func wait(for process: pid_t) -> Int32 {
    var status: Int32 = 0
    // SAFETY: the pointer is to one local.
    while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
    return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F)
  }

  /// Runs a program to its end, with nothing to read; what it prints goes to this process's stderr, as it is.
  ///
  /// - Parameter words: Its name and its arguments.
  /// - Returns: Its exit code, as `wait` gives it.
  /// - Throws: Where it can't be started.
  static func run(_ words: [String]) throws -> Int32 {
    wait(for: try spawn(words, STDERR_FILENO, STDERR_FILENO))
  }

  /// Runs a program on this process's own streams, to its end: what is typed is the program's, Ctrl-C too.
  ///
  /// - Parameters:
  ///   - words: Its name and its arguments.
  ///   - running: The process's number while there is one, for whoever has to end it.
  /// - Returns: Its exit code, as `wait` gives it.
  /// - Throws: Where it can't be started.
  static func runOnTerminal(_ words: [String], _ running: borrowing Atomic<pid_t>) throws -> Int32 {
    let before = [SIGINT, SIGQUIT].map { ($0, signal($0, SIG_IGN)) }
    defer { for (number, handler) in before { signal(number, handler) } }
    let process = try spawn(words, -1, -1)
    running.store(process, ordering: .releasing)
    defer { running.store(0, ordering: .releasing) }
    return wait(for: process)
  }
}

extension Descriptor {
  /// Closes what this process was given beyond the three streams. For a process that stays, before it opens
  /// anything: a pipe that it inherited would never end, a lock never be given back.
  static func closeInherited() {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")) ?? []
    for number in names.compactMap({ Int32($0) }) where number > STDERR_FILENO { close(number) }
  }

  /// Connects the three streams with nothing: from now on nothing is read or said.
  static func letGoOfStreams() {
    // SAFETY: the path is a literal, and the flags ask for no mode argument.
    let nothing = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
    guard nothing >= 0 else { return }
    for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where stream != nothing {
      dup2(nothing, stream)
    }
    if nothing > STDERR_FILENO { close(nothing) }
  }
}
