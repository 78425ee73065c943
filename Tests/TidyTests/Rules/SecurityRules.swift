// SECURITY.md against the tests: what it promises names the test that shows it.

enum SecurityRules {
  /// Each chapter about an attacker says what it is shown by; each row of a table that says so names a test,
  /// or is shown by the same as the row before; and each test that is named exists.
  static func promisesAreShown(_ page: File, tests: [File]) -> [Finding] {
    let known = Set(tests.flatMap { names(of: $0) })
    var findings: [Finding] = []
    func find(_ message: String, at line: Int) {
      findings.append(Finding(path: page.path, line: line, message: message))
    }
    var isTableShown = false
    var isRowNamed = false
    var chapter: (name: String, line: Int, isShown: Bool)?
    for (line, text) in paragraphs(of: page) {
      if text.hasPrefix("#") {
        if let chapter, !chapter.isShown { find("\(chapter.name) names no test", at: chapter.line) }
        chapter = text.hasPrefix("### ") ? (text, line, false) : nil
      }
      if text.hasPrefix("|") {
        let last = text.split(separator: "|").last.map { $0.trimmed(" ") } ?? ""
        if last == "shown by" { (isTableShown, isRowNamed) = (true, false) }
        if !isTableShown || last == "shown by" || last.allSatisfy({ $0 == "-" }) { continue }
        isRowNamed = isRowNamed && last == "the same" || !quoted(last).isEmpty
        if !isRowNamed { find("the row names no test", at: line) }
      } else {
        isTableShown = false
      }
      let shown = text.ranges(of: "Shown by:").first?.upperBound
      if shown != nil { chapter?.isShown = true }
      for name in quoted(text) where !known.contains(name) {
        // A sentence, or whatever stands behind "Shown by:".
        guard name.count(where: { $0 == " " }) > 3 || shown.map({ text[$0...].contains("`\(name)`") }) == true
        else { continue }
        find("there is no test `\(name)`", at: line)
      }
    }
    if let chapter, !chapter.isShown { find("\(chapter.name) names no test", at: chapter.line) }
    return findings
  }

  /// The names of a file's tests and suites.
  static func names(of file: File) -> [String] {
    let suites = file.text.matches(of: #/\b(?:struct|class|enum) (\w+Tests)\b/#).map { String($0.1) }
    let tests = file.text.matches(of: #/@Test[^`]*?\bfunc\s+`([^`]+)`/#).map { String($0.1) }
    return suites + tests
  }

  /// The page's paragraphs, each as one line; headings and the rows of tables are paragraphs of their own.
  private static func paragraphs(of page: File) -> [(line: Int, text: String)] {
    var found: [(line: Int, text: String)] = []
    var goesOn = false
    for (index, line) in page.lines.enumerated() {
      let isAlone = line.hasPrefix("|") || line.hasPrefix("#")
      if goesOn, !isAlone, !line.isEmpty {
        found[found.count - 1].text += " " + line.trimmed(" ")
      } else if !line.isEmpty {
        found.append((index + 1, line))
      }
      goesOn = !line.isEmpty && !isAlone
    }
    return found
  }

  /// What stands between backquotes.
  private static func quoted(_ text: some StringProtocol) -> [String] {
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated().compactMap { index, part in
      index % 2 == 1 ? String(part) : nil
    }
  }
}
