// Passwords for scripts: from a descriptor, from a program, from a file that others should not read.
import Foundation
import Testing

@testable import NotelogCLI

@Suite struct PasswordSourceTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  private func expect(
    _ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try bench.expect(Self.prelude + script, expected, input: "", location)
  }

  private static let prelude =
    passwordPrelude + """
      notelog add my.notelog title=Hello $quick >/dev/null
      list() { notelog list my.notelog --field title "$@" | sed 's/.*\t//'; }

      """

  // MARK: --password-fd

  @Test func `a descriptor gives its first line, and what is behind it stays there`() throws {
    let script = """
      list --password-fd 3 3<password
      printf 'open sesame' | list --password-fd 0
      { echo open sesame; echo '{"fields":{"title":"imported"}}'; } | notelog import my.notelog - --password-fd 0
      list --password-fd 5 5<<'END' | sort
      open sesame
      not this
      END
      """
    let answer = try bench.run(Self.prelude + script)
    #expect(answer.code == 0, "\(answer)")
    #expect(answer.out.hasPrefix("Hello\nHello\n") && answer.out.hasSuffix("Hello\nimported\n"), "\(answer)")
  }

  @Test func `a descriptor that is closed, empty or too long is refused, and the password is in no message`()
    throws
  {
    let script = """
      list --password-fd 7 7<&-; list --password-fd 3 3</dev/null; echo | list --password-fd 0; list --password-fd x; list --password-fd -1
      head -c 1025 /dev/zero | tr '\\0' a | list --password-fd 0; printf '\\377\\n' | list --password-fd 0
      """
    try expect(
      script,
      .init(
        err: """
          notelog: error: cannot read descriptor 7: bad file descriptor
          notelog: error: descriptor 3 gives no password
          notelog: error: descriptor 0 gives no password
          notelog: error: --password-fd takes a number from 0 to 2147483647, not 'x'
          notelog: error: --password-fd takes a number from 0 to 2147483647, not '-1'
          notelog: error: a password has at most 1024 bytes
          notelog: error: the password is not UTF-8

          """))
  }

  // MARK: --password-command

  @Test func `a program's first line is the password, and no shell runs it`() throws {
    let script = """
      list --password-command 'cat password'
      list --password-command "printf 'open sesame\\nmore\\n'"
      list --password-command 'sh -c "echo open sesame; seq 10000"'
      list --password-command "./say\\ it 'open sesame'"
      # What a shell would do with it is not done.
      list --password-command 'echo open sesame; touch harm'; list --password-command 'echo $(cat password)'; [ -e harm ] || echo none
      """
    _ = try bench.run("printf '#!/bin/sh\\necho \"$1\"\\n' >'say it'; chmod +x 'say it'")
    try expect(
      script,
      .init(
        out: "Hello\nHello\nHello\nHello\nnone\n",
        err: String(repeating: "notelog: error: the password or key does not open this store\n", count: 2)))
  }

  @Test(arguments: [
    ("nowhere to be found", "cannot start 'nowhere': no such file or directory"),
    ("false", "the password command 'false' failed with exit code 1"),
    ("sh -c 'echo open sesame; exit 3'", "the password command 'sh' failed with exit code 3"),
    ("sh -c 'echo open sesame; kill -9 $$'", "the password command 'sh' failed with exit code 137"),
    ("true", "the password command 'true' printed no password"),
    ("echo", "the password command 'echo' printed no password"),
    ("yes", "the password command 'yes' does not stop printing"),
    ("head -c 5000 /dev/zero", "a password has at most 1024 bytes"),
  ])
  func `a program that fails says how, and what it printed is not taken`(command: String, message: String)
    throws
  {
    try bench.write("command", command)
    try expect(
      "notelog list my.notelog --field title --password-command \"$(cat command)\"",
      .init(2, err: "notelog: error: \(message)\n"))
  }

  @Test(arguments: [
    ("a  b\tc", ["a", "b", "c"]), ("'a b' \"c d\"", ["a b", "c d"]), ("a' 'b", ["a b"]),
    ("a '' \"\"", ["a", "", ""]),
    (#"a\ b "c\"d\\" 'e\'"#, ["a b", #"c"d\"#, #"e\"#]), ("$HOME `x` *;|&", ["$HOME", "`x`", "*;|&"]),
  ])
  func `a command is cut at blanks, with quotes as in a shell`(text: String, words: [String]) throws {
    #expect(try SecretSource.words(text) == words)
  }

  @Test(arguments: [
    ("", "names no program"), ("  ", "names no program"), ("''", "names no program"),
    ("a 'b", "has a quote that is not closed"),
    ("a \"b", "has a quote that is not closed"), ("a \\", "ends with a backslash"),
  ])
  func `a command that can't be cut is a usage error`(text: String, message: String) {
    #expect(throws: ToolError.usage("--password-command \(message)")) { try SecretSource.words(text) }
  }

  // MARK: files

  @Test func `a password or key file that others may read is warned of, and taken all the same`() throws {
    let script = """
      chmod 640 password; list $quick; chmod 604 password; list $quick; chmod 600 password; list $quick
      head -c 32 /dev/zero >key; chmod 644 key; list --key-file key
      # A pipe has no modes that matter.
      mkfifo -m 644 pipe; cat password >pipe & list --password-file pipe
      """
    let warning = "notelog: warning: others may read the password file 'password': chmod go= 'password'\n"
    try expect(
      script,
      .init(
        out: "Hello\nHello\nHello\nHello\n",
        err: warning + warning + "notelog: warning: others may read the key file 'key': chmod go= 'key'\n"
          + "notelog: error: the password or key does not open this store\n"))
  }

  @Test func `two sources of a password are one too many`() throws {
    let script = """
      list $quick --password-command 'cat password'; list --key-file password $quick; list --password-fd 3 --key-file password 3<password
      """
    try expect(
      script,
      .init(
        err: """
          notelog: error: --password-file and --password-command are both given, and one is enough
          notelog: error: --password-file and --key-file are both given, and one is enough
          notelog: error: --password-fd and --key-file are both given, and one is enough

          """))
  }

  @Test func `the new commands read a password once, also where a command needs it twice`() throws {
    let script = """
      printf 'a new one' >new
      notelog password change my.notelog --password-fd 3 --new-password-file new --scrypt-log-n 14 3<password 2>/dev/null
      list --password-command 'cat new'; notelog compact my.notelog --password-fd 3 3<new >/dev/null; echo $?
      notelog password add my.notelog --password-command 'cat new' --new-password-file password --scrypt-log-n 14 2>/dev/null
      notelog password remove my.notelog --password-fd 3 3<new; list $quick
      """
    try expect(script, .init(out: "Hello\n0\nHello\n"))
  }
}
