// What compiles code of the pages and of an app: `make api` runs it, as a compiler takes longer than all
// other tests of a page.
import Foundation
import Testing

@Suite struct SnippetCompilationTests {
  static let consumer = Page.root.appending(path: "Tests/Children/CatchingConsumer")

  let bench: Workbench

  init() throws { bench = try Workbench() }

  @Test func `the README's Swift and the tutorial's last step are programs of another package, and run`()
    throws
  {
    let program = try Page("README.md").blocks(in: "swift")
    try #require(program.count == 2)
    // The package is the tutorial's, which lies beside a folder of Notelog.
    let steps = Page.root.appending(path: "Sources/Notelog/Notelog.docc/Tutorials/Steps")
    func step(_ name: String) throws -> String {
      try String(contentsOf: steps.appending(path: name), encoding: .utf8)
    }
    _ = try bench.run("ln -s '\(Page.root.path)' notelog")
    #expect(try step("birds-1-Package.swift") == program[1])
    try bench.write("birds/Package.swift", program[1])
    let last = (record: try step("birds-4-Sighting.swift"), main: try step("birds-8-main.swift"))
    for (record, main, expected) in [("", program[0], "Hello\n"), (last.record, last.main, Self.birds)] {
      try bench.write("birds/Sources/birds/Sighting.swift", record)
      try bench.write("birds/Sources/birds/main.swift", main)
      let build = try bench.run("cd birds && swift build --disable-index-store 2>&1")
      try #require(build.code == 0, "\(build.out)")
      let answer = try bench.run("birds/.build/debug/birds")
      #expect(answer.code == 0, "\(answer.err)")
      #expect(answer.out == expected)
    }
  }

  /// What the last step of the tutorial prints.
  static let birds = """
    Hoopoe: the old mill, third willow
    Hoopoe
    It is locked.
    the old mill, third willow

    """

  /// Compiles Swift files as an app's.
  private func compile(_ files: [String], _ optimisation: String) throws -> Workbench.Answer {
    try bench.compile(files, "-c \(optimisation) -wmo -o consumer.o")
  }

  private func sources() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: Self.consumer.path).filter { $0.hasSuffix(".swift") }
      .map { Self.consumer.appending(path: $0).path }
  }

  @Test(arguments: ["-Onone", "-O"])
  func `every way of catching compiles without a warning`(_ optimisation: String) throws {
    let answer = try compile(try sources(), optimisation)
    #expect(answer.code == 0, "\(answer.out)")
  }

  @Test func `what would warn is noticed`() throws {
    try bench.write(
      "typed.swift",
      """
      import Notelog
      func text() throws(NotelogError) -> String { throw NotelogError(.locked, "") }
      func read() -> String {
        do { return try text() } catch let error as NotelogError where error.code == .locked { return "" } catch { return "" }
      }
      """)
    let answer = try compile(["typed.swift"], "-Onone")
    #expect(answer.code != 0)
    #expect(answer.out.contains("'as' test is always true"), "\(answer.out)")
  }

  /// The trap: the compiler said that the type of a path could not be inferred, or nothing of JSON.
  @Test func `a property that can't be a field is told what to do`() throws {
    for line in [
      "Plain(\"tags\", \\.tags)", "Sealed(\"tags\", \\.tags)", "Sealed(\"tags\", \\.tags, key: \"k\")",
    ] {
      try bench.write(
        "tags.swift",
        """
        import Notelog
        struct Post: Record {
          var id = RecordID()
          var title = ""
          var tags: [String] = []
          static let schema = Schema<Post>("post") {
            Plain("title", \\.title)
            \(line)
          }
        }
        """)
      let answer = try compile(["tags.swift"], "-Onone")
      #expect(answer.code != 0)
      #expect(answer.out.contains("json:") && answer.out.contains("is unavailable"), "\(answer.out)")
    }
  }

  @Test func `every step of the tutorial compiles with those before it, without a warning`() throws {
    let folder = Page.root.appending(path: "Sources/Notelog/Notelog.docc/Tutorials")
    let tutorial = try String(contentsOf: folder.appending(path: "YourFirstStore.tutorial"), encoding: .utf8)
    let shown = Set(tutorial.matches(of: /@Code\(name: "[^"]*", file: "([^"]*)"\)/).map { String($0.1) })
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "Steps").path)
    #expect(shown == Set(files) && shown.count > 7)
    var program: Set<String> = []
    for file in shown.sorted() where !file.hasSuffix("Package.swift") {
      let name = String(file.split(separator: "-")[2])
      program.insert(name)
      let text = try String(contentsOf: folder.appending(path: "Steps/\(file)"), encoding: .utf8)
      try bench.write(name, text)
      let answer = try bench.compile(program.sorted(), "-typecheck")
      #expect(answer.code == 0, "\(file): \(answer.out)")
    }
  }

  @Test func `all Swift in all pages is Swift, where nothing compiles it too`() throws {
    var count = 0
    for page in try Page.all() {
      for block in page.blocks where block.language == "swift" {
        try bench.write("\(page.path.replacing("/", with: "_"))-\(block.line).swift", block.text)
        count += 1
      }
    }
    #expect(count > 50)
    let answer = try bench.run("for file in *.swift; do swiftc -frontend -parse $file 2>&1 || exit 1; done")
    #expect(answer.code == 0, "\(answer.out)")
  }
}
