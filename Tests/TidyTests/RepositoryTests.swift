// The rules, held against the whole repository.
import Foundation
import Testing

@Suite struct RepositoryTests {
  /// Passes if there are no findings; prints all there are.
  func expectNone(_ findings: [Finding]) {
    #expect(findings.isEmpty, "\(findings.map(\.description).joined(separator: "\n"))")
  }

  @Test func `unsafe code stays in its places, and each use says why it is safe`() throws {
    expectNone(try Repository.swift(in: "Sources").flatMap(SafetyRules.unsafeStaysInItsPlaces))
    expectNone(try Repository.swift(in: "Sources").flatMap(SafetyRules.unsafeSaysWhy))
  }

  @Test func `the arrows between modules only go up, and only the library is public`() throws {
    let files = try Repository.swift(in: "Sources")
    expectNone(files.flatMap(LayoutRules.importsGoUp))
    expectNone(files.flatMap(LayoutRules.publicOnlyInNotelog))
    expectNone(files.flatMap(LayoutRules.publicThrowsUntyped))
    expectNone(files.flatMap(LayoutRules.platformsInOnePlace))
  }

  @Test func `rooms are those of the map, and use only rooms below them`() throws {
    let map = try Repository.file("ARCHITECTURE.md")
    let files = try Repository.swift(in: "Sources")
    #expect(RoomRules.modules(of: map).count >= 6)
    expectNone(RoomRules.roomsAreListed(map: map, sources: files))
    expectNone(RoomRules.roomsUseWhatIsBelow(map: map, sources: files))
  }

  @Test func `every file is short and says what it holds, every name says something`() throws {
    let files = try Repository.swift(in: "Sources", "Tests")
    #expect(files.count > 40, "the files were not found")
    expectNone(files.flatMap(LayoutRules.filesAreShort))
    expectNone(files.flatMap(LayoutRules.filesSayWhatTheyHold))
    expectNone(files.flatMap(LayoutRules.namesSaySomething))
  }

  @Test func `no test sleeps or is switched off`() throws {
    expectNone(try Repository.swift(in: "Tests").flatMap(LayoutRules.testsDoNotSleep))
  }

  @Test(arguments: ["crash", "model"])
  func `there are suites that soak`(part: String) throws {
    let suites = try Repository.swift(in: "Tests").filter { file in
      file.lines.contains { $0.hasPrefix("@Suite") && $0.lowercased().contains(part) }
    }
    #expect(!suites.isEmpty, "make soak runs suites named for \(part), but there are none")
  }

  @Test func `the constants of the format equal the code's`() throws {
    let sources = try Repository.swift(in: "Sources")
    expectNone(FormatRules.limitsAgree(format: try Repository.file("FORMAT.md"), sources: sources))
  }

  @Test func `each invariant of the format is cited by a test`() throws {
    let tests = try Repository.swift(in: "Tests").filter { !$0.path.hasPrefix("Tests/TidyTests/") }
    let pages = try ["FORMAT.md", "docs/format-derived.md", "docs/format-keyring.md"].map(Repository.file)
    let format = File(path: pages[0].path, text: pages.map(\.text).joined())
    expectNone(FormatRules.invariantsAreCited(format: format, tests: tests))
  }

  @Test func `every chapter of the format that is named stands in the page that is named`() throws {
    let pages = try ["FORMAT.md", "docs/format-derived.md", "docs/format-keyring.md"].map(Repository.file)
    let chapters = ChapterRules.chapters(of: pages)
    #expect(["12.3", "10.4", "31"].map { chapters[$0] } == [pages[0].path, pages[2].path, pages[1].path])
    let folders = ["Sources", "Tests", "Benchmarks/Sources", "Fuzzing/Sources", "Examples/Sources"]
    var files = try [".swift", ".h", ".c", ".pml", ".inc"].flatMap {
      try Repository.files(in: folders, suffix: $0)
    }
    files += try Repository.files(in: ["."], suffix: ".md")
    // The format's own pages refer to themselves by numbers alone; the rules' tests have examples of what is
    // wrong.
    let own = Set(
      pages.map(\.path) + ["Tests/TidyTests/RuleTests.swift", "Tests/TidyTests/Rules/ChapterRules.swift"])
    for file in files where !own.contains(file.path) {
      expectNone(ChapterRules.referencesLead(file, chapters))
    }
  }

  @Test func `every promise of SECURITY names a test that exists`() throws {
    let page = try Repository.file("SECURITY.md")
    #expect(page.lines.count(where: { $0.hasPrefix("### A") }) >= 8 && page.lines.contains("## The table"))
    expectNone(SecurityRules.promisesAreShown(page, tests: try Repository.swift(in: "Tests")))
  }

  @Test func `every link of every page leads somewhere`() throws {
    let pages = try Repository.files(in: ["."], suffix: ".md")
    #expect(pages.count > 5)
    for page in pages {
      expectNone(
        PageRules.linksLead(page) {
          FileManager.default.fileExists(atPath: Repository.root.appending(path: $0).path)
        })
    }
  }

  @Test func `every example of every page is compiled and run, or is said not to be`() throws {
    let pages = try Repository.files(in: ["."], suffix: ".md")
    let tests = try Repository.swift(in: "Tests/NotelogTests/Articles", "Tests/NotelogCLITests/Pages")
    #expect(pages.count >= 40 && tests.count >= 12)
    let uncompiled = PageRules.uncompiled
    for page in pages { expectNone(PageRules.examplesAreTested(page, tests: tests, but: uncompiled)) }
    #expect(uncompiled.allSatisfy { one in pages.contains { $0.path == one.page } })
  }

  @Test func `every decision has a number of its own and is in the index`() throws {
    let index = try Repository.file("docs/decisions/README.md")
    let pages = try Repository.files(in: ["docs/decisions"], suffix: ".md").filter { $0.path != index.path }
    #expect(pages.count > 5)
    expectNone(PageRules.decisionsAreListed(index: index, pages: pages))
  }
}
