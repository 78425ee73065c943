// What every command has in common, seen from outside: help, errors, exit codes and manners.
import Foundation
import Testing

@testable import NotelogCLI

@Suite struct FrameTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  @Test func `without a command it says where help is`() throws {
    let hint = "notelog: error: a command is missing\nnotelog: hint: 'notelog help' lists the commands\n"
    #expect(try bench.run("notelog") == .init(64, err: hint))
  }

  @Test func `help goes to stdout, however it is asked for`() throws {
    let help = try bench.run("notelog help")
    #expect(help.code == 0 && help.err.isEmpty)
    #expect(help.out.contains("usage: notelog COMMAND"))
    #expect(try bench.run("notelog --help") == help)
    #expect(try bench.run("notelog -h") == help)
  }

  @Test(arguments: CommandTable.standard.commands.map(\.name))
  func `each command has help, the same as its page of the overview promises`(name: String) throws {
    let help = try bench.run("notelog help \(name)")
    #expect(help.code == 0)
    #expect(help.out.hasPrefix("usage: notelog \(name)"))
    #expect(try bench.run("notelog \(name) --help") == help)
    #expect(try bench.run("notelog \(name) some.notelog -h") == help)
  }

  @Test func `the version is printed`() throws {
    #expect(try bench.run("notelog --version") == .init(out: "notelog \(NotelogTool.version)\n"))
  }

  @Test func `a near miss is suggested and nothing is done`() throws {
    #expect(
      try bench.run("notelog hlep")
        == .init(64, err: "notelog: error: there is no command 'hlep'\nnotelog: hint: did you mean 'help'?\n")
    )
    #expect(
      try bench.run("notelog help generat").err.hasSuffix("notelog: hint: did you mean 'generate'?\n"))
  }

  @Test func `an argument that is not UTF-8 is refused, not altered`() throws {
    let answer = try bench.run(#"notelog help "$(printf 'a\377b')""#)
    #expect(answer == .init(64, err: "notelog: error: 'a\u{FFFD}b' is not UTF-8\n"))
  }

  @Test func `a reader that goes away ends the tool without a word`() throws {
    let script = "{ sleep 0; notelog generate man; echo $? >code; } | true; sync; cat code"
    try bench.expect(script, .init(out: "0\n"))
  }

  @Test func `a full disk behind stdout is an error`() throws {
    let answer = try bench.run("notelog help >/dev/full")
    let message = "notelog: error: cannot write to standard output: no space left on device\n"
    #expect(answer == .init(2, err: message))
  }

  @Test func `control characters in an argument do not reach a terminal`() throws {
    let terminal = try PseudoTerminal(#"notelog "$(printf 'a\033[31mb')""#, in: bench)
    #expect(terminal.finish() == 64)
    #expect(terminal.shown.contains(#"there is no command 'a\u{1B}[31mb'"#))
    #expect(!terminal.shown.contains("\u{1B}"))
  }
}

@Suite struct GeneratedTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  @Test func `the man page says all that help says`() throws {
    let table = CommandTable.standard
    let page = try bench.run("notelog generate man").out
    for command in table.commands {
      #expect(page.contains(roff(command.synopsis)))
      for text in [sentence(command.summary)] + command.paragraphs + command.examples.map(\.line) {
        #expect(page.contains(roff(text)), "\(command.name)")
      }
      for option in command.allOptions {
        #expect(page.contains("\\-\\-" + roff(option.long)) && page.contains(roff(option.help)))
      }
      for positional in command.positionals { #expect(page.contains(roff(positional.help))) }
      // And help says all that the table holds.
      let words = { (text: String) in text.split { $0 == " " || $0 == "\n" }.joined(separator: " ") }
      let help = words(command.helpPage)
      let texts = command.allOptions.map(\.help) + command.positionals.map(\.help) + command.paragraphs
      for text in texts { #expect(help.contains(words(text))) }
    }
    for code in ExitCode.allCases { #expect(page.contains(".B \(code.rawValue)\n\(roff(code.meaning))")) }
  }

  @Test func `the man page has no line that roff would take for a request of ours`() throws {
    let requests: Set<Substring> = ["TH", "SH", "SS", "PP", "TP", "B", "I", "nf", "fi", "RS", "RE"]
    for line in CommandTable.standard.manPage(version: "1").split(separator: "\n") where line.hasPrefix(".") {
      #expect(requests.contains(line.dropFirst().prefix { $0 != " " }), "\(line)")
    }
    #expect(roff(".a 'b' -c\\d") == "\\&.a \\(aqb\\(aq \\-c\\ed")
  }

  @Test func `bash accepts its completions and completes commands, options and shells`() throws {
    let script = """
      notelog generate completions bash >complete.bash
      bash -c '. ./complete.bash
      complete_line() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _notelog; echo "${COMPREPLY[*]}"; }
      complete_line notelog gen
      complete_line notelog generate ""
      complete_line notelog generate completions --vers'
      """
    try bench.expect(script, .init(out: "generate\nman completions\n--version\n"))
  }

  @Test func `every option and command is in every shell's completions`() {
    let table = CommandTable.standard
    for shell in Shell.allCases {
      let text = table.completions(for: shell)
      for option in table.options { #expect(text.contains(option.long), "\(shell)") }
      for word in table.commands.flatMap(\.words) { #expect(text.contains(word), "\(shell)") }
    }
  }

  @Test(arguments: [Shell.zsh, .fish])
  func `zsh and fish, where they are installed, accept their completions`(shell: Shell) throws {
    let script = """
      command -v \(shell) >/dev/null || exit 0
      notelog generate completions \(shell) >file && \(shell) -n file
      """
    try bench.expect(script, .init())
  }
}
