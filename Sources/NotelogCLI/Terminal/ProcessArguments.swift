// The arguments as the system gave them: bytes, that need not be UTF-8.
import Foundation

enum ProcessArguments {
  typealias Word = [UInt8]

  /// The process's arguments, without its own name.
  static func read() -> [Word] {
    // SAFETY: the system passes argc pointers to strings that end in a zero and live as long as the process.
    (1..<max(1, Int(CommandLine.argc))).compactMap { index in
      unsafe CommandLine.unsafeArgv[index].map { word in
        unsafe Array(UnsafeBufferPointer(start: word, count: strlen(word))).map(UInt8.init(bitPattern:))
      }
    }
  }

  /// The arguments as text.
  static func texts(_ words: [Word]) throws(ToolError) -> [String] {
    try words.map { word throws(ToolError) in
      guard let text = String(validating: word, as: UTF8.self) else {
        throw ToolError.usage("'\(Escaping.line(String(decoding: word, as: UTF8.self)))' is not UTF-8")
      }
      return text
    }
  }
}
