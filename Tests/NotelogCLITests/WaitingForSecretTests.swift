// Whoever is asked for a secret may take long: nobody is kept from writing meanwhile.
import Foundation
import Testing

@Suite struct WaitingForSecretTests {
  let bench: Workbench

  init() throws {
    bench = try Workbench()
    let made = try bench.run(passwordPrelude + "printf 'a new one\\n' >new; chmod 600 new")
    try #require(made == .init())
  }

  /// Others write now.
  private func addMeanwhile(_ location: SourceLocation = #_sourceLocation) throws {
    let added = try bench.run("notelog add my.notelog title=meanwhile --password-file password >/dev/null")
    #expect(added == .init(), sourceLocation: location)
  }

  /// The bug: the lock was taken before the password was asked for, and a command that hung kept everybody
  /// else out.
  @Test func `a password command that hangs keeps nobody from writing`() throws {
    let script = """
      mkfifo said gate
      notelog add my.notelog title=second --password-command 'sh -c "echo here >said; cat gate"' >/dev/null & tool=$!
      read -r line <said
      notelog add my.notelog title=first --password-file password >/dev/null; echo $?
      cat password >gate; wait $tool; echo $?
      notelog list my.notelog --field title --password-file password | sed 's/.*\t//' | sort
      """
    try bench.expect(script, .init(out: "0\n0\nfirst\nsecond\n"))
  }

  @Test(arguments: [
    ("add my.notelog title=x", ["password: "]),
    ("password add my.notelog --scrypt-log-n 14", ["password: ", "new password: ", "the same again: "]),
    ("password change my.notelog --scrypt-log-n 14", ["password: ", "new password: ", "the same again: "]),
    (
      "password change my.notelog --rekey --scrypt-log-n 14",
      ["password: ", "[y/N] ", "new password: ", "the same again: "]
    ),
    ("key rotate my.notelog default", ["password: ", "[y/N] "]),
    ("key recovery my.notelog", ["password: "]),
    (
      "key grant my.notelog default --scrypt-log-n 14",
      ["password: ", "[y/N] ", "new password: ", "the same again: "]
    ),
  ])
  func `at no question of a command is anybody else kept from writing`(command: String, questions: [String])
    throws
  {
    let terminal = try PseudoTerminal("notelog \(command); echo ended $?", in: bench)
    for question in questions {
      try terminal.awaitText(question)
      try addMeanwhile()
      let answers = ["password: ": "open sesame\n", "[y/N] ": "y\n"]
      try terminal.type(answers[question] ?? "the new one\n")
    }
    try terminal.awaitText("ended 0")
    #expect(terminal.finish() == 0)
  }

  @Test func `where the ways to open a store changed while a question was asked, nothing is done`() throws {
    let terminal = try PseudoTerminal(
      "notelog key rotate my.notelog default --password-file password; echo ended $?", in: bench)
    try terminal.awaitText("[y/N] ")
    let added = try bench.run(
      "notelog password add my.notelog --password-file password --new-password-file new --scrypt-log-n 14 2>/dev/null"
    )
    #expect(added == .init())
    try terminal.type("y\n")
    try terminal.awaitText("the ways to open the store changed meanwhile: nothing is done")
    try terminal.awaitText("ended 2")
    #expect(terminal.finish() == 0)
  }
}
