// How modules, files and names are laid out.

enum LayoutRules {
  /// What a module must not import. The package holds the arrows between most modules; these it can't.
  static let forbiddenImports: [(folder: String, modules: Set<String>)] = [
    ("Sources/NotelogBase/", ["Foundation", "COpenSSL"]),
    ("Sources/NotelogStorage/", ["Foundation", "COpenSSL", "CZlib"]),
    ("Sources/NotelogFormat/", ["Foundation", "COpenSSL", "CZlib", "CSystem"]),
    // The library is called in the rooms Primitives and Secrets alone.
    ("Sources/NotelogCrypto/Ke", ["Foundation", "NotelogStorage", "NotelogFormat", "CZlib", "COpenSSL"]),
    (
      "Sources/NotelogCrypto/Sealing/",
      ["Foundation", "NotelogStorage", "NotelogFormat", "CZlib", "COpenSSL"]
    ),
    ("Sources/NotelogCrypto/", ["Foundation", "NotelogStorage", "NotelogFormat", "CZlib"]),
    ("Sources/Notelog/", ["COpenSSL", "CZlib", "CSystem"]),
    (
      "Sources/NotelogCLI/",
      [
        "NotelogBase", "NotelogStorage", "NotelogFormat", "NotelogCrypto", "COpenSSL", "CZlib",
      ]
    ),
  ]

  /// The engine: the rooms of the library that know no keys, no fields and no Foundation. Nothing else may be
  /// called for each record.
  static let engineRooms = [
    "Segments", "Cache", "Index", "Catalog", "Compaction", "Log", "Open", "Journal", "Salvage",
    "Verify", "Backup",
  ]

  private static func forbiddenImports(of file: File) -> Set<String> {
    if engineRooms.contains(where: { file.path.hasPrefix("Sources/Notelog/\($0)/") }) {
      return ["Foundation", "NotelogCrypto", "COpenSSL", "CZlib"]
    }
    return forbiddenImports.first { file.path.hasPrefix($0.folder) }?.modules ?? []
  }

  static func importsGoUp(_ file: File) -> [Finding] {
    let forbidden = forbiddenImports(of: file)
    return file.code.enumerated().compactMap { index, line -> Finding? in
      let words = line.split(separator: " ")
      guard let place = words.firstIndex(of: "import"), place + 1 < words.count else { return nil }
      let module =
        words.dropFirst(place + 1).first { !["struct", "class", "enum", "func", "protocol"].contains($0) }
        ?? ""
      guard forbidden.contains(String(module.prefix { $0 != "." })) else { return nil }
      return Finding(path: file.path, line: index + 1, message: "this module must not import \(module)")
    }
  }

  /// `public` only in Notelog, and in files that say so for what the optimiser needs: decision 0076.
  static func publicOnlyInNotelog(_ file: File) -> [Finding] {
    guard file.path.hasPrefix("Sources/"), !file.path.hasPrefix("Sources/Notelog/") else { return [] }
    let isNeeded = file.lines.contains("// Public for the optimiser alone (docs/decisions/0076).")
    if isNeeded, file.path.hasPrefix("Sources/NotelogCLI/") == false { return [] }
    return file.code.enumerated().filter { _, line in
      line.holds(word: "public") || line.holds(word: "open class")
    }.map { Finding(path: file.path, line: $0.offset + 1, message: "public belongs in Notelog only") }
  }

  /// What apps call says `throws` and no type: a `catch` with `as` would warn, and worse (decision 0079).
  static func publicThrowsUntyped(_ file: File) -> [Finding] {
    guard file.path.hasPrefix("Sources/Notelog/") else { return [] }
    let code = file.code
    return code.indices.filter { index in
      let line = code[index]
      guard line.holds(word: "public"), ["func", "init", "subscript", "var"].contains(where: line.holds)
      else {
        return false
      }
      let rest = code[index...].prefix(12).joined(separator: " ")
      return declaresThrownType(rest)
    }.map { Finding(path: file.path, line: $0 + 1, message: "what is public throws no typed error") }
  }

  /// Whether the declaration that a text begins with throws typed, itself or its getter; a closure that it
  /// takes may.
  private static func declaresThrownType(_ text: String) -> Bool {
    var depth = 0
    var seen = ""
    for character in text {
      if character == "(", depth == 0, seen.hasSuffix("throws") { return true }
      if character == "(" { depth += 1 }
      if character == ")" { depth -= 1 }
      seen.append(character)
      // The body says nothing of what is declared, but where it begins with the getter's own effects.
      if character == "{", depth == 0 {
        let getter = text.dropFirst(seen.count).drop { $0 == " " }
        return getter.hasPrefix("get throws(") || getter.hasPrefix("get async throws(")
      }
    }
    return false
  }

  /// Conditions about platforms only in files named `Platform.swift`.
  static func platformsInOnePlace(_ file: File) -> [Finding] {
    guard file.path.hasPrefix("Sources/"), !file.path.hasSuffix("/Platform.swift") else { return [] }
    return file.code.enumerated().filter { _, line in
      let words = line.drop { $0 == " " }
      return (words.hasPrefix("#if") || words.hasPrefix("#elseif"))
        && ["os(", "canImport(", "targetEnvironment(", "arch("].contains { words.contains($0) }
    }.map {
      Finding(path: file.path, line: $0.offset + 1, message: "platform conditions belong in Platform.swift")
    }
  }

  static let linesMax = 600
  static let linesMaxOfTests = 600

  static func filesAreShort(_ file: File) -> [Finding] {
    let count = file.lines.count
    let linesMax = file.path.hasPrefix("Tests/") ? linesMaxOfTests : linesMax
    guard count > linesMax else { return [] }
    return [Finding(path: file.path, line: count, message: "\(count) lines, more than \(linesMax)")]
  }

  /// A file opens with a comment of one or more whole sentences.
  static func filesSayWhatTheyHold(_ file: File) -> [Finding] {
    let opening = file.lines.prefix { $0.hasPrefix("// ") }.joined(separator: " ")
    guard opening.hasSuffix(".") || opening.hasSuffix(":") else {
      return [
        Finding(path: file.path, line: 1, message: "the file must open with a sentence saying what it holds")
      ]
    }
    return []
  }

  /// Names that say nothing.
  static func namesSaySomething(_ file: File) -> [Finding] {
    let empty = ["Util", "Utils", "Utility", "Utilities", "Helper", "Helpers", "Manager"]
    var findings: [Finding] = []
    for part in file.path.replacing(".swift", with: "").split(separator: "/")
    where empty.contains(where: part.hasSuffix) {
      findings.append(Finding(path: file.path, line: 1, message: "'\(part)' says nothing"))
    }
    let kinds: Set<String> = ["struct", "class", "enum", "actor", "protocol", "typealias"]
    for (index, line) in file.code.enumerated() {
      let words = line.words
      for (kind, name) in zip(words, words.dropFirst())
      where kinds.contains(kind) && empty.contains(where: name.hasSuffix) {
        findings.append(Finding(path: file.path, line: index + 1, message: "'\(name)' says nothing"))
      }
    }
    return findings
  }

  /// Tests wait for events, never for time, and none is switched off.
  static func testsDoNotSleep(_ file: File) -> [Finding] {
    file.code.enumerated().filter { _, line in
      ["sleep", "usleep", "nanosleep"].contains { line.holds(word: $0) } || line.contains(".disabled(")
    }.map {
      Finding(path: file.path, line: $0.offset + 1, message: "tests neither sleep nor are switched off")
    }
  }
}
