// What a small program is told on its command line, and asks for.

import Foundation

/// The words of a command line.
public struct Arguments {
  /// What was not taken out yet.
  public private(set) var words = Array(CommandLine.arguments.dropFirst())

  /// All that the program was told.
  public init() {}

  /// Takes an option and its value out of the words.
  public mutating func take(_ option: String) -> String? {
    guard let index = words.firstIndex(of: option), index + 1 < words.count else { return nil }
    defer { words.removeSubrange(index...index + 1) }
    return words[index + 1]
  }

  /// Takes an option that has no value out of the words.
  public mutating func has(_ option: String) -> Bool {
    guard let index = words.firstIndex(of: option) else { return false }
    words.remove(at: index)
    return true
  }
}

/// Ends the program with a sentence on standard error.
public func fail(_ words: String) -> Never {
  say(words + "\n")
  exit(1)
}

/// Asks for a line that is not shown while it is typed; what is no terminal is just read.
public func askForSecret(_ question: String) -> String {
  var (attributes, silent) = (termios(), termios())
  guard tcgetattr(0, &attributes) == 0 else { return readLine() ?? "" }
  silent = attributes
  silent.c_lflag &= ~tcflag_t(ECHO)
  // Before the question: what is typed ahead of it is dropped, and nothing that answers it.
  tcsetattr(0, TCSAFLUSH, &silent)
  say(question)
  defer {
    tcsetattr(0, TCSAFLUSH, &attributes)
    say("\n")
  }
  return readLine() ?? ""
}

private func say(_ words: String) { FileHandle.standardError.write(Data(words.utf8)) }
