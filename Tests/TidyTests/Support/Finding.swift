// What a rule has to say, and the shape of a rule.

/// A file of the repository.
struct File: Sendable {
  /// Relative to the repository, `Sources/Notelog/Store/Store.swift` for instance.
  let path: String
  let text: String
  /// The lines, comments and all.
  let lines: [String]
  /// The lines with comments and the insides of literals blanked out; a page has none.
  let code: [String]

  init(path: String, text: String) {
    (self.path, self.text) = (path, text)
    func lines(_ text: String) -> [String] {
      text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
    self.lines = lines(text)
    code = path.hasSuffix(".md") ? [] : lines(SwiftText.code(text))
  }
}

/// A breach of a rule, printed as `path:line: message`.
struct Finding: Equatable, CustomStringConvertible, Sendable {
  var path: String
  var line: Int
  var message: String

  var description: String { "\(path):\(line): \(message)" }
}
