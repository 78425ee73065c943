// Each rule on small inputs, good and bad: a rule that cannot fail would prove nothing.
import Testing

@Suite struct RuleTests {
  /// The lines of `text`, in a file at `path`, in which `rule` finds something.
  func lines(_ path: String, _ text: String, _ rule: (File) -> [Finding]) -> [Int] {
    rule(File(path: path, text: text)).map(\.line)
  }

  @Test func `code is told from comments and literals`() {
    let text = """
      let a = "unsafe" // unsafe
      let b = "x \\(unsafe f("y")) unsafe"
      /* unsafe /* nested */ unsafe */ let c = #"un"safe \\#(d) \\(e)"#
      """
    let code = SwiftText.code(text).split(separator: "\n", omittingEmptySubsequences: false)
    #expect(code.count == 3)
    #expect(!code[0].contains("unsafe") && code[0].hasPrefix("let a = \"      \""))
    #expect(code[1].contains("(unsafe f(\" \"))") && code[1].split(separator: "unsafe").count == 2)
    #expect(code[2].contains("let c") && !code[2].contains("unsafe") && code[2].contains("(d)"))
    #expect(!code[2].contains("(e)"))
    let lines = SwiftText.code("let a = \"\"\"\n  public \"quoted\"\n  \"\"\"\npublic let b = 1")
    #expect(!lines.split(separator: "\n")[1].contains("public") && lines.hasSuffix("public let b = 1"))
  }

  @Test func `unsafe code is found outside its places`() {
    let rule = SafetyRules.unsafeStaysInItsPlaces
    #expect(lines("Sources/Notelog/A.swift", "let a = 1\nlet b = unsafe f()", rule) == [2])
    #expect(lines("Sources/Notelog/Log/B.swift", "final class B: @unchecked Sendable {}", rule) == [1])
    #expect(lines("Sources/Notelog/Log/B.swift", "nonisolated(unsafe) var a = 1", rule) == [1])
    #expect(lines("Sources/NotelogCrypto/C.swift", "let b = unsafe f()", rule).isEmpty)
    #expect(lines("Sources/Notelog/A.swift", "let b = 1 // unsafe\nlet unsafer = \"unsafe\"", rule).isEmpty)
  }

  @Test func `unsafe code without a reason is found`() {
    let rule = SafetyRules.unsafeSaysWhy
    #expect(lines("a", "func f() {\n  let b = unsafe f()\n}", rule) == [2])
    #expect(lines("a", "  // SAFETY: because.\n  let b = unsafe f()\n  let c = unsafe g()", rule).isEmpty)
    #expect(lines("a", "  let b = unsafe f {\n    // SAFETY: because.\n    unsafe g()\n  }", rule).isEmpty)
    #expect(lines("a", "  // SAFETY: because.\n  let b = 1\n\n  let c = unsafe g()", rule) == [4])
    #expect(lines("a", "  let b = unsafe f()\n  let c = unsafe g()\n\n  unsafe h()", rule) == [1, 4])
    #expect(lines("a", "// safety: because.\nunsafe f()", rule) == [2])
  }

  @Test func `imports against the arrows are found`() {
    let rule = LayoutRules.importsGoUp
    #expect(lines("Sources/Notelog/Log/A.swift", "import Synchronization\nimport Foundation", rule) == [2])
    #expect(lines("Sources/Notelog/Log/A.swift", "package import NotelogCrypto", rule) == [1])
    #expect(lines("Sources/NotelogCLI/A.swift", "import struct NotelogFormat.FrameHeader", rule) == [1])
    for room in ["Keyring", "Keys", "Sealing"] {
      #expect(lines("Sources/NotelogCrypto/\(room)/A.swift", "import COpenSSL", rule) == [1])
    }
    #expect(lines("Sources/NotelogCrypto/Primitives/A.swift", "import COpenSSL", rule).isEmpty)
    #expect(lines("Sources/Notelog/A.swift", "public import Foundation\nimport NotelogFormat", rule).isEmpty)
    #expect(
      lines("Sources/NotelogCrypto/A.swift", "import NotelogCryptography // import Foundation", rule).isEmpty)
  }

  @Test func `typed throws of what is public are found`() {
    let rule = LayoutRules.publicThrowsUntyped
    let typed = "public func a(\n  _ b: Int\n) throws(NotelogError) -> Int { 1 }"
    #expect(lines("Sources/Notelog/A.swift", typed, rule) == [1])
    #expect(lines("Sources/Notelog/A.swift", "public var a: Int {\n  get throws(E) { 1 }\n}", rule) == [1])
    #expect(lines("Sources/Notelog/A.swift", "func a() throws(E) {}\npublic init() throws {}", rule).isEmpty)
    let closure = "public func a(_ b: () throws(E) -> Void) throws {\n  func c() throws(E) {}\n}"
    #expect(lines("Sources/Notelog/A.swift", closure, rule).isEmpty)
    #expect(lines("Sources/NotelogCLI/A.swift", typed, rule).isEmpty)
  }

  @Test func `public declarations outside the library are found`() {
    let rule = LayoutRules.publicOnlyInNotelog
    #expect(lines("Sources/NotelogCrypto/A.swift", "package struct A {}\npublic struct B {}", rule) == [2])
    #expect(lines("Sources/Notelog/A.swift", "public struct B {}", rule).isEmpty)
  }

  @Test func `platform conditions outside Platform are found`() {
    let rule = LayoutRules.platformsInOnePlace
    #expect(lines("Sources/Notelog/A.swift", "#if DEBUG\n#endif\n  #if canImport(Darwin)", rule) == [3])
    #expect(lines("Sources/Notelog/A.swift", "#if DEBUG\n#elseif os(Linux)", rule) == [2])
    #expect(lines("Sources/NotelogStorage/System/Platform.swift", "#if os(Linux)", rule).isEmpty)
  }

  @Test func `long files are found`() {
    let rule = LayoutRules.filesAreShort
    #expect(
      lines("a", String(repeating: "\n", count: LayoutRules.linesMax), rule) == [LayoutRules.linesMax + 1])
    #expect(lines("a", String(repeating: "\n", count: LayoutRules.linesMax - 1), rule).isEmpty)
  }

  @Test func `files that do not say what they hold are found`() {
    let rule = LayoutRules.filesSayWhatTheyHold
    #expect(lines("a", "import Foundation", rule) == [1])
    #expect(lines("a", "// A sentence that never ends\nimport Foundation", rule) == [1])
    #expect(lines("a", "// A sentence over\n// two lines.\nimport Foundation", rule).isEmpty)
  }

  @Test func `empty names are found`() {
    let rule = LayoutRules.namesSaySomething
    #expect(lines("Sources/Notelog/Utils/A.swift", "", rule) == [1])
    #expect(lines("Sources/Notelog/A.swift", "let a = 1\nfinal class KeyManager {}", rule) == [2])
    #expect(lines("Sources/Notelog/A.swift", "struct StringHelpers {} // Utils", rule) == [1])
    #expect(lines("Sources/Notelog/Keyring.swift", "struct Managers {}", rule).isEmpty)
  }

  @Test func `tests that sleep or are switched off are found`() {
    let rule = LayoutRules.testsDoNotSleep
    #expect(
      lines("a", "try await Task.sleep(for: .seconds(1))\nusleep(5)\n@Test(.disabled())", rule) == [1, 2, 3])
    #expect(lines("a", "let sleepless = \"sleep 1\"", rule).isEmpty)
  }
}

@Suite struct FormatRuleTests {
  static let format = File(
    path: "FORMAT.md",
    text: """
      # Part three
      | name | value |
      | other | 1 |
      # Limits
      | name | value |
      |---|---|
      | `sizeMax` | 16 MiB |
      | count | 4,096 |
      # Versions
      - **INV-A1** Something holds (see INV-Z9 too).
      - **INV-A2** Something else.
      """)

  func findings(_ source: String) -> [String] {
    FormatRules.limitsAgree(format: Self.format, sources: [File(path: "L.swift", text: source)]).map(
      \.message)
  }

  @Test func `limits that agree are accepted, whatever they are written in`() {
    #expect(
      findings("enum Limits {\n  static let sizeMax = 16 << 20\n  package static let count: Int = 0x1000\n}")
        .isEmpty)
    #expect(
      findings("enum JournalLimits {\n static let sizeMax = 16_777_216\n static let count = 8 * 500 + 96\n}")
        .isEmpty)
  }

  @Test func `limits that differ, lack or are too many are found`() {
    #expect(
      findings("enum Limits {\n  static let sizeMax = 1 << 20\n  static let count = 4096\n}").count == 1)
    #expect(findings("enum Limits {\n  static let sizeMax = 16 << 20\n}") == ["count is not in the code"])
    let more = "enum Limits {\n static let sizeMax = 16 << 20\n static let count = 4096\n static let x = 1\n}"
    #expect(findings(more) == ["x is not in FORMAT.md's limits"])
    #expect(findings("enum Limits {\n static let sizeMax = 16 << 20\n static let count = a\n}").count == 1)
  }

  @Test func `one limit may have several names`() {
    let format = File(path: "F", text: "# Limits\n| name | value |\n| a, `b` | 4,096 |")
    let rule = { (source: String) in
      FormatRules.limitsAgree(format: format, sources: [File(path: "L.swift", text: source)]).map(\.message)
    }
    #expect(rule("enum Limits {\n static let a = 4096\n static let b = 4_096\n}").isEmpty)
    #expect(rule("enum Limits {\n static let a = 4096\n}") == ["b is not in the code"])
    #expect(rule("enum Limits {\n static let a = 4096\n static let b = 1\n}").count == 1)
  }

  @Test func `a constant may stand outside an enum of limits, where no such enum has the name`() {
    let others =
      "enum Others {\n static let sizeMax = 16 << 20\n static let count = 4096\n static let x = 1\n}"
    #expect(findings(others).isEmpty)
    #expect(findings("enum Others {\n static let sizeMax = 16 << 20\n static let count = 1\n}").count == 1)
    let both =
      "enum Limits {\n static let sizeMax = 16 << 20\n static let count = 4096\n}\nenum O {\n static let count = 1\n}"
    #expect(findings(both).isEmpty)
  }

  @Test(arguments: [
    ("4096", 4096), ("4_096", 4096), ("4,096", 4096), ("0x10", 16), ("16 << 20", 16 << 20), ("64 KiB", 65536),
    ("2^40", 1 << 40), ("8 + 2 * 3", 14), ("10 - 2 - 3", 5), ("512 bytes", 512), ("1 << 63", nil), ("a", nil),
    ("3^2", nil), ("9223372036854775807 + 1", nil), ("", nil),
  ])
  func `constants are computed`(text: String, value: Int?) {
    #expect(Arithmetic.value(of: text) == value)
  }

  @Test func `invariants without a test, and tests of none, are found`() {
    let cited = { (text: String) in
      FormatRules.invariantsAreCited(format: Self.format, tests: [File(path: "T.swift", text: text)]).map(
        \.message)
    }
    #expect(cited("// INV-A1, INV-A2").isEmpty)
    #expect(cited("// INV-A1 and INV-A21") == ["INV-A21 is not in FORMAT.md", "INV-A2 is cited by no test"])
    let double = File(path: "FORMAT.md", text: Self.format.text + "\n- **INV-A1** Again.")
    let findings = FormatRules.invariantsAreCited(
      format: double, tests: [File(path: "T", text: "INV-A1 INV-A2")])
    #expect(findings.map(\.message) == ["INV-A1 is defined twice"])
  }
}

@Suite struct ChapterRuleTests {
  static let chapters = ChapterRules.chapters(of: [
    File(path: "FORMAT.md", text: "## 1 One\n## 10 Keys\n### 10.3 The keyring\n# Limits"),
    File(path: "docs/keyring.md", text: "# Chapters 10.3 to 10.4\n## 10.3 Slots\n## 10.4 Classes"),
  ])

  @Test(arguments: [
    "FORMAT.md §1, §10.", "(FORMAT.md 1 to 10, docs/keyring.md 10.3)", "FORMAT.md, chapters 1 and 10",
    "keyring.md 10.3–10.4",
    "FORMAT.md §1, line 7, and §10", "FORMAT.md 1. The other 9", "10.5 of nothing",
    "FORMAT.md, \"Limits\", 7",
  ])
  func `references that lead to their chapters are accepted`(text: String) {
    #expect(ChapterRules.referencesLead(File(path: "a.swift", text: text), Self.chapters).isEmpty)
  }

  @Test(arguments: [
    ("FORMAT.md 10.3", "FORMAT.md has no chapter 10.3: it is in docs/keyring.md"),
    ("// FORMAT.md 1,\n// 10.4", "FORMAT.md has no chapter 10.4: it is in docs/keyring.md"),
    ("docs/keyring.md §1", "docs/keyring.md has no chapter 1: it is in FORMAT.md"),
    ("FORMAT.md §1, line 7, and §12.1", "FORMAT.md has no chapter 12.1: there is none"),
  ])
  func `references that lead elsewhere are found`(text: String, message: String) {
    let findings = ChapterRules.referencesLead(File(path: "a.swift", text: text), Self.chapters)
    #expect(findings.map(\.message) == [message])
  }
}

@Suite struct PageRuleTests {
  @Test func `links that lead nowhere are found`() {
    let text =
      "# A page, of *mine*\n[a](b.md) [c](#a-page-of-mine) [d](https://x.y) [e](../z.md#q)\n[f](#none) [g](no.md)\n```\n[h](x)\n```"
    let findings = PageRules.linksLead(File(path: "docs/p.md", text: text)) {
      ["docs/b.md", "z.md"].contains($0)
    }
    #expect(findings.map(\.message) == ["'#none' leads nowhere", "'no.md' leads nowhere"])
    #expect(findings.map(\.line) == [3, 3])
  }

  @Test func `examples of an article that no test holds are found`() {
    let article = File(
      path: "a.md", text: "x\n```swift\nlet a = 1\n\n  b()\n```\n```sh\nls\n```\n```swift\nb(\n```\n")
    let test = File(path: "t.swift", text: "func f() {\n  let a = 1\n    b()\n}\n")
    let findings = PageRules.examplesAreTested(article, tests: [test])
    #expect(findings.map(\.line) == [10])
    #expect(PageRules.examplesAreTested(article, tests: []).count == 2)
    func beginning(_ words: String) -> [PageRules.Uncompiled] {
      [PageRules.Uncompiled(page: "a.md", beginning: words, reason: "")]
    }
    #expect(PageRules.examplesAreTested(article, tests: [test], but: beginning("b(")).isEmpty)
    #expect(PageRules.examplesAreTested(article, tests: [test], but: beginning("c(")).map(\.line) == [10, 1])
    let indented = File(path: "b.md", text: "- x\n  ```swift\n  c()\n  ```\n")
    #expect(PageRules.examplesAreTested(indented, tests: [test], but: beginning("c")).map(\.line) == [2])
  }

  @Test func `promises that no test shows are found`() {
    let test = File(
      path: "t.swift",
      text: """
        @Suite struct KeyTests {
          @Test(arguments: [1])
          func
            `a key opens its own values`() {}
        }
        """)
    func findings(_ text: String) -> [String] {
      SecurityRules.promisesAreShown(File(path: "S.md", text: text), tests: [test]).map {
        "\($0.line): \($0.message)"
      }
    }
    #expect(findings("### A1\nNothing.\nShown by: `a key opens its\nown values`; `KeyTests`.").isEmpty)
    #expect(findings("### A1\nNothing.\n\n### A2\nShown by: `KeyTests`.") == ["1: ### A1 names no test"])
    #expect(findings("### A1\nNothing.") == ["1: ### A1 names no test"])
    #expect(findings("Shown by: `a test`, `KeyTests`.") == ["1: there is no test `a test`"])
    #expect(findings("It is so (`a key opens others' values`).\n`lock` wins.").count == 1)
    let head = "| who | shown by |\n|---|---|\n"
    #expect(findings(head + "| a | `a key opens its own values` |\n| b | the same |").isEmpty)
    #expect(findings(head + "| a | the same |\n| b | `KeyTests` |") == ["3: the row names no test"])
    #expect(findings(head + "| a | none |\n| b | the same |").count == 2)
    #expect(findings(head + "| a | `a key opens no other values` |").count == 1)
    #expect(findings("| who | gets |\n|---|---|\n| a | nothing |").isEmpty)
  }

  @Test func `decisions without a line in the index or a number of their own are found`() {
    let index = File(
      path: "d/README.md", text: "[one](one.md)\n- 0001 Locks\n- 0002 Keys\n[two](two.md)\n- 0003 Words")
    func findings(_ name: String, _ text: String) -> [String] {
      let one = File(path: "d/one.md", text: "# One\n## 0001 Locks\n## 0002 Keys")
      let pages = [one, File(path: "d/\(name)", text: text)]
      return PageRules.decisionsAreListed(index: index, pages: pages).map(\.description)
    }
    #expect(findings("two.md", "## 0003 Words").isEmpty)
    #expect(findings("two.md", "## 0003 Wards") == ["d/two.md:1: '0003 Wards' is not in the index"])
    #expect(findings("two.md", "\n## 0002 Keys") == ["d/two.md:2: '0002 Keys' has no number of its own"])
    #expect(findings("two.md", "## Words").count == 2)
    #expect(findings("three.md", "") == ["d/README.md:1: three.md is not listed"])
  }
}
