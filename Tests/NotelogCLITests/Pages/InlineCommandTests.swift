// What running text says in passing, `notelog watch --json` for instance, is a command that there is.
import Foundation
import Testing

@testable import NotelogCLI

@Suite struct InlineCommandTests {
  /// The commands in a line of text, each with its words: up to whatever the shell does next.
  static func commands(in text: String, of program: String) -> [[String]] {
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
      .filter { $0.offset % 2 == 1 && $0.element.hasPrefix(program + " ") }
      .map { span in
        span.element.prefix { !"|&;<>".contains($0) }.split(separator: " ").dropFirst().map(String.init)
      }
  }

  /// What is wrong with a command of the tool; nil if nothing is.
  static func mistake(in words: [String]) -> String? {
    let table = CommandTable.standard
    guard let first = words.first else { return nil }
    guard first == "help" || first.hasPrefix("-") || table.firstWords.contains(first) else {
      return "there is no command '\(first)'"
    }
    let known = Set(table.commands(beginning: [first]).flatMap { $0.allOptions.map(\.long) })
    let used = words.filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2).prefix { $0 != "=" }) }
    return used.first { !known.contains($0) }.map { "'\(first)' has no option --\($0)" }
  }

  @Test func `commands and options that there are not are found`() {
    let found = Self.commands(
      in: "a `notelog list s --json | jq` b `make x`, `notelog lsit`, `notelog dump --jason`", of: "notelog")
    #expect(found == [["list", "s", "--json"], ["lsit"], ["dump", "--jason"]])
    #expect(
      found.map(Self.mistake) == [nil, "there is no command 'lsit'", "'dump' has no option --jason"])
  }

  @Test func `every command that running text names exists, with its options`() throws {
    let makefile = try String(contentsOf: Page.root.appending(path: "Makefile"), encoding: .utf8)
    var count = 0
    for page in try Page.all() {
      let text = try String(contentsOf: Page.root.appending(path: page.path), encoding: .utf8)
      for line in text.split(separator: "\n") where !line.contains("```") {
        for words in Self.commands(in: String(line), of: "notelog") {
          let mistake = Self.mistake(in: words)
          #expect(mistake == nil, "\(page.path): \(words): \(mistake ?? "")")
          count += 1
        }
        for words in Self.commands(in: String(line), of: "make") {
          let target = words.first ?? ""
          #expect(makefile.contains("\n\(target):"), "\(page.path): there is no target '\(target)'")
          count += 1
        }
      }
    }
    #expect(count > 50)
  }
}
