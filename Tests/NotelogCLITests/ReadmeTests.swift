// What the README shows is true: its Swift is a program, its shell lines run, its make targets exist.
import Foundation
import Testing

@Suite struct ReadmeTests {
  let bench: Workbench
  let readme: Page

  init() throws {
    bench = try Workbench()
    readme = try Page("README.md")
  }

  @Test func `the README's shell lines run one after another on a terminal`() throws {
    let lines = try #require(readme.blocks(in: "sh").first { $0.hasPrefix("notelog init") })
    let terminal = try PseudoTerminal("set -e\n" + lines + "echo all done\n", in: bench)
    try terminal.awaitText("password: ")
    try terminal.type("correct horse\n")
    try terminal.awaitText("again: ")
    try terminal.type("correct horse\n")
    for _ in ["add", "list"] {
      try terminal.awaitText("password: ")
      try terminal.type("correct horse\n")
    }
    try terminal.awaitText("Hello")
    try terminal.awaitText("all done")
    #expect(terminal.finish() == 0)
    #expect(!terminal.shown.contains("correct horse"))
  }

  @Test func `beside an app that leases the store, the README's lines write, and are heard of`() throws {
    let lines = try #require(readme.blocks(in: "sh").first { $0.hasPrefix("notelog watch") })
      .split(separator: "\n")
    try #require(lines.count == 2)
    let script = """
      set -e
      umask 077; echo 'correct horse' >password; mkfifo input
      notelog init my.notelog --password-file password --scrypt-log-n 14 2>messages
      exec 3<>input
      LeasingApp my.notelog password <input >app 3>&- &
      app=$!
      until grep -qs 'From the app' app; do :; done
      \(lines[0])
      watcher=$!; read enter
      \(lines[1])
      until grep -qs 'Hello, app' app; do :; done
      read enter; kill $watcher; exec 3>&-; wait $app
      sed 's/^/heard: /' app

      """
    let terminal = try PseudoTerminal(script, in: bench)
    try terminal.awaitText("following 'my.notelog'")
    try terminal.type("\n")
    try terminal.awaitText("password: ")
    try terminal.type("correct horse\n")
    try terminal.awaitText(#""complete":true}"#)
    try terminal.type("\n")
    try terminal.awaitText("heard: app: there is a note 'Hello, app'")
    #expect(terminal.finish() == 0)
  }

  @Test func `the make targets that the README names exist`() throws {
    let help = try bench.run("make -s -C '\(Page.root.path)' help").out
    let targets = Set(help.split(separator: "\n").compactMap { $0.split(separator: " ").first })
    let named = readme.blocks(in: "sh").flatMap { $0.split(separator: "\n") }
      .filter { $0.hasPrefix("make ") }.map { $0.dropFirst(5).prefix { $0.isLetter } }
    #expect(named.contains("demo") && named.contains("test"))
    #expect(targets.isSuperset(of: named))
    let promised: Set<Substring> = [
      "help", "demo", "test", "lint", "format", "bench", "soak", "docs", "install", "clean",
    ]
    #expect(targets.isSuperset(of: promised))
  }
}
