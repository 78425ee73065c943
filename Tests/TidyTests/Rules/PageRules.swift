// The pages: their links and the decisions' index.

enum PageRules {
  /// Every relative link of a Markdown page leads to a file of the repository, every `#anchor` to a heading.
  static func linksLead(_ page: File, exists: (String) -> Bool) -> [Finding] {
    let anchors = Set(page.lines.filter { $0.hasPrefix("#") }.map(anchor))
    let folder = page.path.split(separator: "/").dropLast().joined(separator: "/")
    return page.lines.enumerated().flatMap { index, line in
      line.split(separator: "](", omittingEmptySubsequences: false).dropFirst().compactMap {
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

  /// Every Swift example of an article stands in a test, line for line, and so is compiled and run.
  static func examplesAreTested(_ article: File, tests: [File]) -> [Finding] {
    let known = tests.map { "\n" + meat($0.lines).joined(separator: "\n") + "\n" }
    var findings: [Finding] = []
    var example: (line: Int, lines: [String])?
    for (index, line) in article.lines.enumerated() {
      if line == "```swift" {
        example = (index + 1, [])
      } else if line == "```", let (start, lines) = example {
        let wanted = "\n" + meat(lines).joined(separator: "\n") + "\n"
        if !known.contains(where: { $0.contains(wanted) }) {
          findings.append(Finding(path: article.path, line: start, message: "no test holds this example"))
        }
        example = nil
      } else {
        example?.lines.append(line)
      }
    }
    return findings
  }

  /// Lines without their indentation, empty ones left out.
  private static func meat(_ lines: [String]) -> [String] {
    lines.map { $0.split(separator: " ").joined(separator: " ") }.filter { !$0.isEmpty }
  }

  /// Every decision is listed in the index, and no number is used twice.
  static func decisionsAreListed(index: File, names: [String]) -> [Finding] {
    var numbers: Set<Substring> = []
    return names.sorted().flatMap { name in
      var findings: [Finding] = []
      if !index.text.contains("](\(name))") {
        findings.append(Finding(path: index.path, line: 1, message: "\(name) is not listed"))
      }
      if name.prefix(4).count(where: \.isNumber) != 4 || !numbers.insert(name.prefix(4)).inserted {
        findings.append(Finding(path: index.path, line: 1, message: "\(name) has no number of its own"))
      }
      return findings
    }
  }
}
