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
    #expect(try bench.run("notelog help help") == help)
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
      for text in [command.sentence] + command.paragraphs + command.examples.map(\.key) {
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

  @Test func `bash accepts its completions and completes commands, options, values, files and folders`()
    throws
  {
    let script = """
      notelog generate completions bash >complete.bash
      mkdir 'my folder'; touch 'my file'
      bash -c '. ./complete.bash
      complete_line() {
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _notelog
        for reply in "${COMPREPLY[@]}"; do printf "%s;" "$reply"; done; echo
      }
      complete_line notelog gen
      complete_line notelog generate ""
      complete_line notelog generate completions --vers
      complete_line notelog unlock --keep ""
      complete_line notelog unlock --keep = k
      complete_line notelog unlock --keep =
      complete_line notelog list my
      complete_line notelog add store body = my
      complete_line notelog add store body = @ "my fi"
      complete_line notelog list --password-file my'
      """
    let lines = """
      generate;
      completions;man;
      --version;
      agent;kernel;
      kernel;
      agent;kernel;
      my folder;

      my file;

      """
    let answer = try bench.run(script)
    #expect(answer.code == 0 && answer.err.isEmpty && answer.out.hasPrefix(lines), "\(answer)")
    let files = answer.out.dropFirst(lines.count).split { $0 == ";" || $0 == "\n" }
    #expect(files.sorted() == ["my file", "my folder"])
  }

  /// What is completed by names that a store has, and not where there is none.
  private static let ofStore: [[String]] = [.fields, .assignments, .collections, .keys]

  @Test func `every command, option and value is a candidate where it may stand`() {
    let table = CommandTable.standard
    let names = { (words: [String]) in
      table.candidates(for: words).compactMap { $0.split(separator: "\t").first.map(String.init) }
    }
    for command in table.commands {
      for index in command.words.indices {
        let before = command.words[..<index]
        #expect(names(before + [""]).contains(command.words[index]))
        #expect(names(["help"] + before + [""]).contains(command.words[index]))
        #expect(
          names(["--wait", "5"] + before + [String(command.words[index].prefix(1))]).contains(
            command.words[index]))
      }
      let found = table.candidates(for: command.words + ["-"])
      for option in command.allOptions {
        #expect(found.contains("--\(option.long)\t\(option.help)"))
        let name = "--\(option.long)"
        switch option.completion {
        case []: break
        case .files: #expect(names(command.words + [name, "x"]) == [":files"])
        case .folders: #expect(names(command.words + [name, "x"]) == [":folders"])
        case let words where Self.ofStore.contains(words): #expect(names(command.words + [name, ""]) == [])
        case let words:
          #expect(names(command.words + [name, ""]) == words)
          #expect(names(command.words + [name + "="]) == words.map { "\(name)=\($0)" })
          #expect(names(command.words + [name, "=", String(words[0].dropLast())]).contains(words[0]))
        }
      }
      let arguments = command.positionals.map { _ in "x" }
      for (index, positional) in command.positionals.enumerated() {
        let found = names(command.words + arguments[..<index] + [""])
        let fixed = positional.completion.filter { !Self.ofStore.contains([$0]) }
        #expect(positional.completion.isEmpty || found == fixed)
        #expect(found.contains(":files") == (positional.completion == .files))
        #expect(found.contains(":folders") == (positional.completion == .folders))
      }
      // Behind two dashes nothing is an option.
      #expect(names(command.words + ["--", "--"]).allSatisfy { $0.hasPrefix(":") })
    }
  }

  @Test func `candidates are printed for a line that is not finished, and no store is looked for`() throws {
    let script = """
      notelog complete -- list nowhere --js
      notelog complete -- list --field time --where ""
      notelog complete -- nothing of the kind
      notelog help | grep -c '^  complete'
      """
    try bench.expect(script, .init(1, out: "--json\tprint JSON\n0\n"))
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
