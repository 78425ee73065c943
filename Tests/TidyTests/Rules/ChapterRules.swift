// References to chapters of the format: each names the page that the chapter stands in.

enum ChapterRules {
  /// The chapters of some pages, by number: a later page has what an earlier one only points to.
  static func chapters(of pages: [File]) -> [String: String] {
    var found: [String: String] = [:]
    for page in pages {
      for line in page.lines where line.hasPrefix("#") {
        let number = line.drop { $0 == "#" }.split(separator: " ").first.map(String.init) ?? ""
        if isNumber(number) { found[number] = page.path }
      }
    }
    return found
  }

  /// Each chapter that a file names stands in the page that it names.
  ///
  /// A reference is the page's name and the numbers that follow: `FORMAT.md 4 to 6, 12`, `FORMAT.md §12, line
  /// 7, and §21.1`.
  static func referencesLead(_ file: File, _ chapters: [String: String]) -> [Finding] {
    let pages = Set(chapters.values)
    var findings: [Finding] = []
    var named: String?
    // Whether a number without a § is a chapter's still.
    var goesOn = false
    for (index, line) in file.lines.enumerated()
    where goesOn || line.contains("§") || line.contains(".md") {
      for word in line.replacing("–", with: " ").split(separator: " ")
      where !["//", "///", "*"].contains(word) {
        if let page = pages.first(where: { word.contains($0.split(separator: "/").last ?? "") }) {
          (named, goesOn) = (page, true)
          continue
        }
        guard let page = named else { continue }
        if goesOn, ["chapter", "chapters", "to", "and"].contains(word) { continue }
        let number = String(word.trimmed("§,.;:()`"))
        guard isNumber(number), goesOn || word.contains("§") else {
          goesOn = false
          continue
        }
        if chapters[number] != page {
          let home = chapters[number].map { "it is in \($0)" } ?? "there is none"
          findings.append(
            Finding(path: file.path, line: index + 1, message: "\(page) has no chapter \(number): \(home)"))
        }
      }
    }
    return findings
  }

  /// `12`, `12.3`.
  private static func isNumber(_ text: String) -> Bool {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    return (1...2).contains(parts.count)
      && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0.isASCII && $0.isNumber } }
  }
}
