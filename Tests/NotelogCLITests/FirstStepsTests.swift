// The first minutes with the tool: what it says of itself leads on, and every exit code is met.
import Foundation
import Testing

@testable import NotelogCLI

@Suite struct FirstStepsTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  @Test func `from notelog alone, its help leads to a stored, listed and verified note in four commands`()
    throws
  {
    // Nothing is known but the name; each step follows from what the one before printed.
    let alone = try bench.run("notelog")
    let next = try #require(alone.err.firstMatch(of: /hint: '(notelog help)' lists the commands/)?.output.1)
    let help = try bench.run(String(next)).out
    let begin = try #require(help.range(of: "To begin:\n"))
    let steps = help[begin.upperBound...].split(separator: "\n").map { $0.drop { $0 == " " } }
    #expect(steps.count == 4)
    let terminal = try PseudoTerminal(
      "set -e\n" + steps.joined(separator: "\n") + "\necho all done\n", in: bench)
    // init asks twice, add and list once; verify asks for nothing.
    for question in ["new password: ", "again: ", "password: ", "password: "] {
      try terminal.awaitText(question)
      try terminal.type("correct horse\n")
    }
    try terminal.awaitText("all done")
    #expect(terminal.finish() == 0)
    #expect(terminal.shown.contains("Hello") && terminal.shown.contains("sound"))
  }

  @Test func `every exit code is met, and no other`() throws {
    let script = """
      code() { "$@" >/dev/null 2>&1 </dev/null; echo $?; }
      id=$(notelog add my.notelog title=x $quick)
      echo '{"collections":[{"name":"a","fields":[{"name":"n","type":"text"},{"name":"photo","type":"bytes","sealed":true,"optional":true}]}]}' >schema
      notelog init long --schema schema $quick --scrypt-log-n 14 2>/dev/null
      long=$(notelog add long n=x $quick)
      head -c 17000000 /dev/zero | notelog set long $long photo=- $quick
      {
        code notelog get my.notelog $id $quick
        code notelog get my.notelog 00000000-0000-0000-0000-000000000000 $quick
        code notelog add my.notelog titel=x $quick
        code notelog get long $long $quick
        code notelog info nowhere
        code notelog list my.notelog
        code notelog lst my.notelog
        mkfifo pipe
        notelog import my.notelog pipe --batch 1 --ack $quick >acks 2>/dev/null &
        tool=$!
        exec 3>pipe; echo '{"fields":{"title":"y"}}' >&3
        until [ -s acks ]; do kill -0 $tool || exit 9; done
        code notelog add my.notelog title=z $quick
        kill -INT $tool; wait $tool; echo $?
        exec 3>&-
        place=$(notelog dump --frames my.notelog | sed -nE 's/^ *([0-9]+) .*record .*collection 1$/\\1/p' | head -1)
        printf X | dd of=my.notelog/000000000001.journal bs=1 seek=$((place + 90)) conv=notrunc status=none
        code notelog dump my.notelog $quick
        code notelog verify my.notelog $quick
      } >codes
      tr '\\n' ' ' <codes
      """
    let answer = try bench.run(passwordPrelude + script)
    #expect(answer == .init(out: "0 1 2 4 10 12 64 11 130 3 1 "))
    #expect(
      Set(answer.out.split(separator: " ").compactMap { Int32($0) }) == Set(ExitCode.allCases.map(\.rawValue))
    )
  }

  @Test func `near misses are suggested wherever a word is known`() throws {
    let lines = [
      ("notelog lsit s", "did you mean 'list'?"),
      ("notelog password chnage s", "did you mean 'password change'?"),
      ("notelog list s --sotr x", "did you mean --sort?"),
      ("notelog list my.notelog nte $quick", "did you mean 'note'?"),
      ("notelog add my.notelog titel=x $quick", "did you mean 'title'?"),
      ("notelog search my.notelog x --field bdoy $quick", "did you mean 'body'?"),
      ("notelog help verfy", "did you mean 'verify'?"),
    ]
    _ = try bench.run(passwordPrelude)
    for (line, hint) in lines {
      let answer = try bench.run("quick='--password-file password'\n" + line)
      #expect(answer.err.hasSuffix("notelog: hint: \(hint)\n"), "\(line): \(answer)")
      #expect(answer.code != 0)
    }
  }
}
