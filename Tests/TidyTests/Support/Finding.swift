// What a rule has to say, and the shape of a rule.

/// A file of the repository.
struct File: Sendable {
  /// Relative to the repository, `Sources/Notelog/Store/Store.swift` for instance.
  var path: String
  var text: String

  /// The lines, comments and all.
  var lines: [String] { text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }
  /// The lines with comments and the insides of literals blanked out.
  var code: [String] {
    SwiftText.code(text).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }
}

/// A breach of a rule, printed as `path:line: message`.
struct Finding: Equatable, CustomStringConvertible, Sendable {
  var path: String
  var line: Int
  var message: String

  var description: String { "\(path):\(line): \(message)" }
}
