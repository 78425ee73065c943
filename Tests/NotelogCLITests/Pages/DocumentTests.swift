// Every command and every line of Swift in every page is run, compiled, or named here with the reason why
// not.
import Foundation
import Testing

/// A block of commands that no test runs as it stands.
private struct Exception {
  var page: String
  /// How the block begins.
  var beginning: String
  var reason: Reason

  enum Reason {
    /// Another test runs it, of this name.
    case test(String)
    /// A script that `make` runs.
    case script(String)
    /// Nothing does, because …
    case none(String)
  }
}

private let exceptions: [Exception] = [
  Exception(
    page: "README.md", beginning: "notelog init my.notelog",
    reason: .test("the README's shell lines run one after another on a terminal")),
  Exception(
    page: "README.md", beginning: "notelog watch my.notelog",
    reason: .test("beside an app that leases the store, the README's lines write, and are heard of")),
  Exception(
    page: "README.md", beginning: "make demo",
    reason: .none("it would run this test again; that the targets exist is another test")),
  Exception(page: "docs/origins.md", beginning: "make examples", reason: .script("scripts/origins")),
  Exception(
    page: "Tests/Models/README.md", beginning: "apt-get install",
    reason: .none("it needs spin, and a quarter of an hour")),
]

@Suite struct DocumentTests {
  /// Pages with commands, of which not all are excepted.
  static let pagesToRun: [Page] = {
    // Where the pages can't be read, the test of the languages says so.
    let pages = (try? Page.all()) ?? []
    return pages.filter { !commands(of: $0).isEmpty && PageRun.of($0.path).canRun }
  }()

  private static func exception(of block: Page.Block, on page: Page) -> Exception? {
    exceptions.first { $0.page == page.path && block.text.hasPrefix($0.beginning) }
  }

  /// What is run of a page: its blocks of commands, but the exceptions.
  private static func commands(of page: Page) -> [Page.Block] {
    page.blocks.filter { $0.language == "sh" && exception(of: $0, on: page) == nil }
  }

  @Test func `fenced blocks are found by their language, indented ones too`() {
    let text = "```swift\na\n\nb\n```\nx\n- y\n  ```sh\n  c\n  ```\n```\nd\n```"
    let blocks = [
      Page.Block(language: "swift", line: 1, text: "a\n\nb\n"),
      Page.Block(language: "sh", line: 8, text: "  c\n"), Page.Block(language: "", line: 11, text: "d\n"),
    ]
    #expect(Page.blocks(of: text) == blocks)
  }

  @Test func `every block of every page says what it is: Swift, commands, or text`() throws {
    let pages = try Page.all()
    #expect(pages.count > 40 && Self.pagesToRun.count > 3)
    for page in pages {
      for block in page.blocks where !["swift", "sh", "text"].contains(block.language) {
        Issue.record("\(page.path):\(block.line): the block is said to be '\(block.language)'")
      }
    }
  }

  @Test(arguments: DocumentTests.pagesToRun)
  func `the commands of a page run, one after another on a terminal`(page: Page) throws {
    let (bench, run) = (try Workbench(), PageRun.of(page.path))
    let commands = Self.commands(of: page).map(\.text).joined()
    // Whatever the page asks for is asked of somebody with one password. Agents, this device's secret and
    // programs are the page's own.
    let script = """
      set -eu -o pipefail
      mkdir -m 700 run programs
      export XDG_RUNTIME_DIR=$PWD/run XDG_STATE_HOME=$PWD/state PATH=$PWD/programs:$PATH
      # What a page that fails half-way leaves outside of its folder.
      trap 'notelog agent stop >stopped 2>&1 || true; [ -z "${plain-}" ] || rm -rf "$plain"' EXIT
      (umask 077; echo 'open sesame' >password)
      \(run.setup)
      \(commands)
      \(run.after)
      echo all done

      """
    try bench.write("page.sh", script)
    let terminal = try PseudoTerminal("exec timeout --foreground 300 bash page.sh", in: bench)
    let code = try terminal.finish(answering: [("password: ", "open sesame\n"), ("again: ", "open sesame\n")])
    #expect(code == 0 && terminal.shown.hasSuffix("all done\r\n"), "\(terminal.shown)")
    try run.check(bench, terminal.shown)
  }

  @Test func `every exception is a block that there is, and what is said to run it exists`() throws {
    let pages = try Page.all()
    let tests = try FileManager.default.contentsOfDirectory(
      atPath: Page.root.appending(path: "Tests/NotelogCLITests").path
    ).filter { $0.hasSuffix(".swift") }.map {
      try String(contentsOf: Page.root.appending(path: "Tests/NotelogCLITests/\($0)"), encoding: .utf8)
    }
    let makefile = try String(contentsOf: Page.root.appending(path: "Makefile"), encoding: .utf8)
    for exception in exceptions {
      let page = pages.first { $0.path == exception.page }
      let block = page?.blocks.first { $0.language == "sh" && $0.text.hasPrefix(exception.beginning) }
      #expect(block != nil, "\(exception.page) has no block '\(exception.beginning)'")
      switch exception.reason {
      case .test(let name): #expect(tests.contains { $0.contains("func `\(name)`") }, "\(name)")
      case .script(let name): #expect(makefile.contains("\t\(name) "), "\(name)")
      case .none: break
      }
    }
  }
}
