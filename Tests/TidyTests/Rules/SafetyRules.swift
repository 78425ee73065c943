// Where unsafe code may be, and that each use says why it is safe.

enum SafetyRules {
  /// The only places of Sources that may hold unsafe code.
  static let unsafePlaces = [
    "Sources/NotelogBase/", "Sources/NotelogStorage/Platform.swift", "Sources/NotelogCrypto/",
    "Sources/Notelog/Cache/CacheSets.swift", "Sources/Notelog/Index/EntryStore.swift",
    "Sources/NotelogCLI/System/", "Sources/NotelogCLI/Terminal/", "Sources/Notelog/Reading/Scanner.swift",
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

  /// Every paragraph of code, the lines between two empty ones, that holds unsafe code holds a `// SAFETY:`
  /// comment.
  static func unsafeSaysWhy(_ file: File) -> [Finding] {
    let lines = file.lines
    let paragraphs = lines.indices.split { lines[$0].allSatisfy(\.isWhitespace) }
    let silent = paragraphs.filter { paragraph in !paragraph.contains { lines[$0].contains("// SAFETY:") } }
    let unsafe = Set(unsafeLines(of: file))
    return silent.compactMap { paragraph in
      paragraph.first(where: unsafe.contains).map {
        Finding(path: file.path, line: $0 + 1, message: "unsafe code without a // SAFETY: comment")
      }
    }
  }

  private static func unsafeLines(of file: File) -> [Int] {
    file.code.enumerated().filter { _, line in
      line.holds(word: "unsafe") || line.contains("@unchecked Sendable") || line.holds(word: "@unsafe")
    }.map(\.offset)
  }
}
