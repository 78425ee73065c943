// A page of the documents, and its fenced blocks.
import Foundation
import Testing

struct Page: CustomTestStringConvertible {
  /// A fenced block: what stands between two lines of backticks.
  struct Block: Equatable {
    /// What is said behind the opening backticks; empty where nothing is.
    var language: String
    /// The line of the opening backticks.
    var line: Int
    var text: String
  }

  /// The repository's folder.
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Relative to the repository's folder.
  let path: String
  let blocks: [Block]

  var testDescription: String { path }

  init(_ path: String) throws {
    self.path = path
    blocks = Self.blocks(of: try String(contentsOf: Self.root.appending(path: path), encoding: .utf8))
  }

  /// The texts of the blocks in one language.
  func blocks(in language: String) -> [String] { blocks.filter { $0.language == language }.map(\.text) }

  /// All pages of the repository, in order of their paths.
  static func all() throws -> [Page] {
    // What is found here is run: it has to be this repository.
    _ = try Data(contentsOf: root.appending(path: "Sources/Notelog/Notelog.docc/Notelog.md"))
    let built: Set<String> = [".build", ".git", "site"]
    guard let walk = FileManager.default.enumerator(atPath: root.path) else { return [] }
    var paths: [String] = []
    while let path = walk.nextObject() as? String {
      if built.contains(URL(filePath: path).lastPathComponent) { walk.skipDescendants() }
      if path.hasSuffix(".md") { paths.append(path) }
    }
    return try paths.sorted().map { try Page($0) }
  }

  static func blocks(of text: String) -> [Block] {
    var blocks: [Block] = []
    var open: Block?
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let words = line.drop { $0 == " " }
      if words.hasPrefix("```") {
        if let block = open { blocks.append(block) }
        let language = String(words.dropFirst(3))
        open = open == nil ? Block(language: language, line: index + 1, text: "") : nil
      } else {
        open?.text += line + "\n"
      }
    }
    return blocks
  }
}
