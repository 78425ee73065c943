// Starts another program the way a shell or a terminal does, and waits for it.
import CTestSupport
import Foundation
import Testing

/// A running program.
struct Child {
  var process: pid_t

  /// Where the program's input and outputs go.
  enum Streams {
    case files(input: URL, output: URL, error: URL)
    /// A device that becomes the program's controlling terminal, and its three streams.
    case terminal(String)
  }

  /// Starts `arguments[0]`.
  static func start(
    _ arguments: [String], in folder: URL, environment: [String: String], streams: Streams
  ) throws -> Child {
    let paths: [String] =
      switch streams {
      case .files(let input, let output, let error): [input.path, output.path, error.path]
      case .terminal(let device): [device]
      }
    let files = paths.count == 3
    // SAFETY: the C strings live until the closures return, and the call copies what it needs before it does.
    let process = unsafe arguments.withCStrings { arguments in
      unsafe environment.map { "\($0)=\($1)" }.withCStrings { environment in
        unsafe paths.withCStrings { paths in
          let streams = unsafe child_streams(
            input: files ? paths[0] : nil, output: files ? paths[1] : nil, error: files ? paths[2] : nil,
            terminal: files ? nil : paths[0])
          return unsafe child_start(arguments, environment, folder.path, streams)
        }
      }
    }
    try #require(process > 0)
    return Child(process: process)
  }

  /// Waits for its end.
  ///
  /// - Returns: The exit code, or 128 and the number of the signal that ended it, as shells have it.
  func wait() -> Int32 {
    var status: Int32 = 0
    // SAFETY: the pointer is to a local.
    while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
  }

  func send(_ signal: Int32) { kill(process, signal) }
}

extension [String] {
  /// Lends the strings as C has them: pointers, the last one `nil`.
  fileprivate func withCStrings<Result>(_ body: ([UnsafeMutablePointer<CChar>?]) -> Result) -> Result {
    // SAFETY: each copy is freed once, after the body.
    let copies = unsafe map { unsafe strdup($0) } + [nil]
    defer { unsafe copies.forEach { unsafe free($0) } }
    return unsafe body(copies)
  }
}
