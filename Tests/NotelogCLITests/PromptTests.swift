// Passwords asked for on a real terminal.
import Foundation
import Testing

@Suite struct PromptTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  @Test func `init asks twice, list once, and what is typed is never shown`() throws {
    let script =
      "notelog init my.notelog --scrypt-log-n 16 && notelog add my.notelog title=Hello && echo done"
    let terminal = try PseudoTerminal(script, in: bench)
    try terminal.awaitText("new password: ")
    #expect(!terminal.echoes)
    try terminal.type("open sesame\n")
    try terminal.awaitText("the same again: ")
    try terminal.type("open sesame\n")
    try terminal.awaitText("password: ")
    #expect(!terminal.echoes)
    try terminal.type("open sesame\n")
    try terminal.awaitText("done")
    #expect(terminal.echoes)
    #expect(terminal.finish() == 0)
    #expect(!terminal.shown.contains("sesame"))
  }

  @Test func `two passwords that differ make no store`() throws {
    let terminal = try PseudoTerminal("notelog init my.notelog", in: bench)
    try terminal.awaitText("new password: ")
    try terminal.type("one\n")
    try terminal.awaitText("the same again: ")
    try terminal.type("two\n")
    #expect(terminal.finish() == 2)
    #expect(terminal.shown.contains("the two passwords differ"))
    #expect(try bench.run("ls").out.isEmpty)
  }

  @Test func `the prompt is on the terminal even where stdin, stdout and stderr are not`() throws {
    let script = "notelog init my.notelog <password >out 2>err; echo $?; cat out err"
    try bench.write("password", "not this\n")
    let terminal = try PseudoTerminal(script, in: bench)
    try terminal.awaitText("new password: ")
    try terminal.type("\n")
    try terminal.awaitText("2")
    try terminal.awaitText("an empty password protects nothing")
    #expect(terminal.finish() == 0)
  }

  @Test(arguments: [(key: "\u{3}", code: 130), (key: "\u{1C}", code: 131)])
  func `Ctrl-C at the prompt ends it at once, with the echo on again`(key: String, code: Int32) throws {
    // The shell's own trap keeps it alive, so that what the tool left behind can be looked at.
    let script = "trap : INT QUIT; notelog init my.notelog; echo ended $?; read line"
    let terminal = try PseudoTerminal(script, in: bench)
    try terminal.awaitText("new password: ")
    #expect(!terminal.echoes)
    try terminal.type(key)
    try terminal.awaitText("ended \(code)")
    #expect(terminal.echoes)
    try terminal.type("\n")
    #expect(terminal.finish() == 0)
    #expect(try bench.run("ls").out.isEmpty)
  }

  @Test func `a terminal that hangs up ends it, with the echo on again`() throws {
    let script = "notelog init my.notelog & echo $! >pid; wait $!; echo ended $?; read line"
    let terminal = try PseudoTerminal(script, in: bench)
    try terminal.awaitText("new password: ")
    _ = try bench.run("kill -HUP $(cat pid)")
    try terminal.awaitText("ended 129")
    #expect(terminal.echoes)
    try terminal.type("\n")
    #expect(terminal.finish() == 0)
  }

  @Test func `end of input instead of a password exits 12`() throws {
    let terminal = try PseudoTerminal("notelog init my.notelog", in: bench)
    try terminal.awaitText("new password: ")
    try terminal.type("\u{4}")
    #expect(terminal.finish() == 12)
    #expect(terminal.shown.contains("no password was given"))
  }

  @Test func `stored control characters are escaped on a terminal, and left alone in a pipe`() throws {
    let script = """
      printf 'x' >p; notelog init my.notelog --password-file p --scrypt-log-n 14
      id=$(notelog add my.notelog title="$(printf 'a\\033[31mb')" --password-file p)
      notelog list my.notelog --password-file p; notelog get my.notelog $id title --password-file p
      notelog get my.notelog $id title --password-file p | od -An -c
      """
    let terminal = try PseudoTerminal(script, in: bench, environment: ["NO_COLOR": "1"])
    #expect(terminal.finish() == 0)
    #expect(terminal.shown.split(separator: #"a\u{1B}[31mb"#).count == 3)
    #expect(!terminal.shown.contains("\u{1B}"))
    #expect(terminal.shown.contains("a 033   [   3   1   m   b"))
  }

  @Test(arguments: [
    (["NO_COLOR": ""], true), (["NO_COLOR": "1"], false), (["NO_COLOR": "", "TERM": "dumb"], false),
  ])
  func `there is colour on a terminal, unless the user or the terminal will have none`(
    environment: [String: String], hasColour: Bool
  ) throws {
    let script = """
      printf 'x' >p; notelog init my.notelog --password-file p --scrypt-log-n 14
      notelog verify my.notelog
      """
    let terminal = try PseudoTerminal(script, in: bench, environment: environment)
    #expect(terminal.finish() == 0)
    #expect(terminal.shown.contains("\u{1B}[32msound") == hasColour, "\(terminal.shown)")
  }
}
