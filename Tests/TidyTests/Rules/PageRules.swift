// The pages: their links and the decisions' index.

enum PageRules {
  /// A block of Swift that no test holds, and why.
  struct Uncompiled: Sendable {
    var page: String
    /// How the block begins.
    var beginning: String
    var reason: String
  }

  /// Every other block of Swift is compiled and run. That these are Swift at all, `DocumentTests` holds.
  static let uncompiled: [Uncompiled] = [
    Uncompiled(page: "README.md", beginning: "import Foundation", reason: "ReadmeTests runs it as a package"),
    Uncompiled(
      page: "README.md", beginning: "// swift-tools-version",
      reason: "the tutorial's package, which ReadmeTests builds"),
    Uncompiled(
      page: "Sources/Notelog/Notelog.docc/FromCoreData.md", beginning: "@objc(Visit)",
      reason: "Core Data is Apple's"),
    Uncompiled(
      page: "Sources/Notelog/Notelog.docc/FromGRDBAndSQLCipher.md",
      beginning: "struct Letter: Codable, FetchableRecord",
      reason: "GRDB would be a dependency"),
    Uncompiled(
      page: "Sources/Notelog/Notelog.docc/FromRealm.md", beginning: "final class Plant: Object",
      reason: "Realm would be a dependency"),
    Uncompiled(
      page: "Sources/Notelog/Notelog.docc/FromRealm.md", beginning: "let plants = realm.objects",
      reason: "Realm would be a dependency"),
    Uncompiled(
      page: "Sources/Notelog/Notelog.docc/TestingYourApp.md", beginning: "#Preview",
      reason: "SwiftUI is Apple's"),
  ]

  /// Every relative link of a Markdown page leads to a file of the repository, every `#anchor` to a heading.
  static func linksLead(_ page: File, exists: (String) -> Bool) -> [Finding] {
    let anchors = Set(page.lines.filter { $0.hasPrefix("#") }.map(anchor))
    let folder = page.path.split(separator: "/").dropLast().joined(separator: "/")
    var isCode = false
    return page.lines.enumerated().flatMap { index, line -> [Finding] in
      if line.trimmed(" ").hasPrefix("```") { isCode.toggle() }
      if isCode { return [] }
      return line.split(separator: "](", omittingEmptySubsequences: false).dropFirst().compactMap {
        rest -> Finding? in
        let target = rest.prefix { $0 != ")" }
        if target.contains("://") || target.hasPrefix("mailto:") || target.hasPrefix("doc:") { return nil }
        let path = target.prefix { $0 != "#" }
        let leads =
          path.isEmpty
          ? anchors.contains(String(target.dropFirst())) : exists(resolved(String(path), in: folder))
        return leads ? nil : Finding(path: page.path, line: index + 1, message: "'\(target)' leads nowhere")
      }
    }
  }

  /// The anchor that a heading gets: lower case, spaces as dashes, all other punctuation dropped.
  static func anchor(_ heading: String) -> String {
    let words = heading.drop { $0 == "#" }.trimmed(" ").lowercased()
    return String(
      words.filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" }.map { $0 == " " ? "-" : $0 })
  }

  private static func resolved(_ path: String, in folder: String) -> String {
    var parts = folder.split(separator: "/")
    for part in path.split(separator: "/") {
      if part == ".." { _ = parts.popLast() } else if part != "." { parts.append(part) }
    }
    return parts.joined(separator: "/")
  }

  /// Every block of Swift of a page stands in a test, line for line, and so is compiled and run; but for
  /// those that may do without.
  static func examplesAreTested(_ page: File, tests: [File], but uncompiled: [Uncompiled] = []) -> [Finding] {
    let known = tests.map { "\n" + meat($0.lines).joined(separator: "\n") + "\n" }
    let mayDoWithout = uncompiled.filter { $0.page == page.path }
    var met: Set<String> = []
    var findings: [Finding] = []
    for example in examples(of: page) {
      let text = example.lines.joined(separator: "\n")
      if let one = mayDoWithout.first(where: { text.hasPrefix($0.beginning) }) {
        met.insert(one.beginning)
        continue
      }
      let wanted = "\n" + meat(example.lines).joined(separator: "\n") + "\n"
      if !known.contains(where: { $0.contains(wanted) }) {
        findings.append(Finding(path: page.path, line: example.line, message: "no test holds this example"))
      }
    }
    for one in mayDoWithout where !met.contains(one.beginning) {
      findings.append(Finding(path: page.path, line: 1, message: "no example begins '\(one.beginning)'"))
    }
    return findings
  }

  /// The blocks of Swift, each with the line of its opening.
  private static func examples(of page: File) -> [(line: Int, lines: [String])] {
    var (examples, open) = ([(line: Int, lines: [String])](), (line: Int, lines: [String])?.none)
    for (index, line) in page.lines.enumerated() {
      let mark = line.trimmed(" ")
      if mark == "```swift" {
        open = (index + 1, [])
      } else if mark == "```", let example = open {
        examples.append(example)
        open = nil
      } else {
        open?.lines.append(line)
      }
    }
    return examples
  }

  /// Lines without their indentation, empty ones left out.
  private static func meat(_ lines: [String]) -> [String] {
    lines.map { $0.split(separator: " ").joined(separator: " ") }.filter { !$0.isEmpty }
  }

  /// Every page of decisions and each of its decisions, `## 0046 Title`, is in the index, and no number is
  /// used twice.
  static func decisionsAreListed(index: File, pages: [File]) -> [Finding] {
    var numbers: Set<Substring> = []
    var findings: [Finding] = []
    for page in pages {
      let name = page.path.split(separator: "/").last ?? ""
      if !index.text.contains("](\(name))") {
        findings.append(Finding(path: index.path, line: 1, message: "\(name) is not listed"))
      }
      for (place, line) in page.lines.enumerated() where line.hasPrefix("## ") {
        let title = line.dropFirst("## ".count)
        let number = title.prefix { $0 != " " }
        func find(_ message: String) {
          findings.append(Finding(path: page.path, line: place + 1, message: "'\(title)' \(message)"))
        }
        if number.count != 4 || !number.allSatisfy(\.isNumber) || !numbers.insert(number).inserted {
          find("has no number of its own")
        }
        if !index.lines.contains("- \(title)") { find("is not in the index") }
      }
    }
    return findings
  }
}
