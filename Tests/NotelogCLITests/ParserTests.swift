// The command line's grammar, on a table made for the purpose.
import Testing

@testable import NotelogCLI

@Suite struct ParserTests {
  static let limit = Option(long: "limit", short: "n", value: "COUNT", help: "at most COUNT")
  static let quiet = Option(long: "quiet", short: "q", help: "say less")
  static let field = Option(long: "field", value: "NAME", repeats: true, help: "this field")

  static let table = CommandTable(
    commands: [
      command(
        "list", [Positional(name: "STORE", help: ""), Positional(name: "NAME", isOptional: true, help: "")]),
      command("add", [Positional(name: "STORE", help: ""), Positional(name: "ID", repeats: true, help: "")]),
      command("key add", []), command("key list", []),
    ])

  static func command(_ name: String, _ positionals: [Positional]) -> Command {
    Command(
      words: name.split(separator: " ").map(String.init), summary: "", positionals: positionals,
      options: [limit, quiet, field], run: { _ in .done })
  }

  @Test(arguments: [
    ["list", "s", "--limit=5"], ["list", "s", "--limit", "5"], ["list", "s", "-n", "5"],
    ["list", "s", "-n5"],
    ["list", "-qn5", "s"], ["--limit", "5", "list", "s"], ["list", "--limit=5", "--", "s"],
  ])
  func `an option's value may be written in every usual way, anywhere`(arguments: [String]) throws {
    let invocation = try Self.table.parse(arguments)
    #expect(invocation.command.name == "list")
    #expect(invocation.positionals == ["s"])
    #expect(invocation.value(of: Self.limit) == "5")
  }

  @Test func `after two dashes nothing is an option, and one dash never is`() throws {
    #expect(
      try Self.table.parse(["add", "s", "-", "--", "--quiet", "--"]).positionals == [
        "s", "-", "--quiet", "--",
      ])
  }

  @Test func `a value may be empty, hold an equals sign or begin with a dash`() throws {
    #expect(try Self.table.parse(["list", "s", "--limit="]).value(of: Self.limit)?.isEmpty == true)
    #expect(try Self.table.parse(["list", "s", "--limit=a=b"]).value(of: Self.limit) == "a=b")
    #expect(try Self.table.parse(["list", "s", "--limit", "-1"]).value(of: Self.limit) == "-1")
  }

  @Test func `an option that repeats keeps all its values in order`() throws {
    let invocation = try Self.table.parse(["list", "--field", "a", "s", "--field=b"])
    #expect(invocation.values(of: Self.field) == ["a", "b"])
  }

  @Test func `a command of two words is found, and its group when the second is missing`() throws {
    #expect(try Self.table.parse(["key", "list"]).command.name == "key list")
    #expect(throws: ToolError.usage("'key' needs one of: add, list")) { try Self.table.parse(["key"]) }
    #expect(throws: ToolError.usage("'key' needs one of: add, list", hint: "did you mean 'key list'?")) {
      try Self.table.parse(["key", "lits"])
    }
  }

  @Test(arguments: [
    ([], "a command is missing"),
    (["lsit"], "there is no command 'lsit'"),
    (["list"], "STORE is missing"),
    (["list", "a", "b", "c"], "'c' is one argument too many"),
    (["list", "s", "--quiet=1"], "--quiet takes no value"),
    (["list", "s", "--limit"], "--limit needs a value"),
    (["list", "s", "-n"], "-n needs a value"),
    (["list", "s", "-n", "1", "--limit", "2"], "--limit is given twice"),
    (["list", "s", "--limt", "1"], "there is no option --limt"),
    (["list", "s", "-z"], "there is no option -z"),
  ])
  func `what is wrong is named, with the exit code for usage`(arguments: [String], message: String) throws {
    let error = try #require(throws: ToolError.self) { _ = try Self.table.parse(arguments) }
    #expect(error.message == message)
    #expect(error.code == .usage)
  }

  @Test func `an option of another command is refused by name`() {
    let table = CommandTable(
      commands: Self.table.commands + [
        Command(
          words: ["pack"], summary: "", options: [Option(long: "dry-run", help: "")],
          run: { _ in .done })
      ])
    #expect(throws: ToolError.usage("'list' has no option --dry-run", hint: "see notelog help list")) {
      try table.parse(["list", "s", "--dry-run"])
    }
  }

  @Test func `a number outside its range is refused`() throws {
    let invocation = try Self.table.parse(["list", "s", "-n", "19"])
    #expect(try invocation.number(of: Self.limit, in: 1...20) == 19)
    #expect(throws: ToolError.usage("--limit takes a number from 1 to 18, not '19'")) {
      try invocation.number(of: Self.limit, in: 1...18)
    }
  }

  @Test(arguments: [
    ("lsit", "list"), ("lst", "list"), ("lists", "list"), ("verifi", "verify"), ("comp", "compact"),
    ("xyz", nil), ("", nil), ("generate-man", nil),
  ])
  func `a near miss is suggested, a far one is not`(typed: String, meant: String?) {
    #expect(["list", "verify", "compact", "add"].nearest(to: typed) == meant)
  }

  /// The bug: each letter more that nothing fits took memory by its square, and names come from files too.
  @Test func `a word of a million letters is no near miss, and costs nothing`() {
    #expect(["list", "verify"].nearest(to: String(repeating: "x", count: 1_000_000)) == nil)
  }

  @Test func `an option's name means the same to all commands, with a value or without one`() {
    let options = Dictionary(grouping: CommandTable.standard.options, by: \.long)
    for (name, options) in options {
      #expect(Set(options.map { $0.value != nil }).count == 1, "--\(name) has two meanings")
    }
  }
}
