// Where unsafe code may be, and that each use says why it is safe.

enum SafetyRules {
  /// The only places of Sources that may hold unsafe code.
  static let unsafePlaces = [
    "Sources/NotelogConcurrency/", "Sources/NotelogCrypto/", "Sources/NotelogJournal/System/",
    "Sources/NotelogCLI/Terminal/",
  ]

  static func unsafeStaysInItsPlaces(_ file: File) -> [Finding] {
    guard file.path.hasPrefix("Sources/"), !unsafePlaces.contains(where: file.path.hasPrefix) else {
      return []
    }
    return unsafeLines(of: file).map {
      Finding(
        path: file.path, line: $0 + 1,
        message: "unsafe code belongs in \(unsafePlaces.joined(separator: ", "))")
    }
  }

  /// A `// SAFETY:` comment speaks for the paragraph after it: to the next empty line, or the end of its block.
  static func unsafeSaysWhy(_ file: File) -> [Finding] {
    let lines = file.lines
    var covered: Set<Int> = []
    for (start, line) in lines.enumerated() where line.contains("// SAFETY:") {
      let indent = indentation(line)
      for index in start..<lines.count {
        let isEmpty = lines[index].allSatisfy(\.isWhitespace)
        if isEmpty || indentation(lines[index]) < indent { break }
        covered.insert(index)
      }
    }
    return unsafeLines(of: file).filter { !covered.contains($0) }.map {
      Finding(path: file.path, line: $0 + 1, message: "unsafe code without a // SAFETY: comment")
    }
  }

  private static func unsafeLines(of file: File) -> [Int] {
    file.code.enumerated().filter { _, line in
      line.holds(word: "unsafe") || line.contains("@unchecked Sendable") || line.holds(word: "@unsafe")
    }.map(\.offset)
  }

  private static func indentation(_ line: String) -> Int { line.prefix { $0 == " " }.count }
}
