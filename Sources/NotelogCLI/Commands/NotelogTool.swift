// The tool's entry: reads the arguments, runs the command they name, and answers with an exit code.

import CSystem
import Foundation

@main
enum NotelogTool {
  /// The version printed by `--version`.
  static let version = "0.1.0"

  static func main() {
    // The library keeps its own secrets out of them; OpenSSL's key schedules and opened values lie in ordinary
    // memory.
    refuse_core_dumps()
    Interrupt.install()
    exit(run().rawValue)
  }

  /// Runs one command line to its end: the command's own answer, or the error it ended with, said on stderr.
  private static func run() -> ExitCode {
    let call: Invocation
    do { call = try CommandTable.standard.parse(try readArguments()) } catch { return report(error) }
    var code: ExitCode
    do {
      code = try call.command.run(call)
      try Console.out.flush()
    } catch { code = report(error) }
    return call.damage.say(after: code, call.positionals.first ?? "STORE")
  }

  /// Says an error, and what its exit code is.
  static func report(_ thrown: any Error) -> ExitCode {
    let error = ToolError(any: thrown)
    if error == .closedPipe { return .done }
    if error.code == .interrupted { return .interrupted }
    // What was printed before the error is still data; a second failure to print it adds nothing.
    try? Console.out.flush()
    error.say()
    return error.code
  }
}

// MARK: - The commands of the tool, in the order in which help lists them.

extension CommandTable {
  static let standard: CommandTable = CommandTable(
    commands: [
      .initialize, .add, .get, .set, .edit, .remove, .list, .search, .history, .undo, .dump, .watch,
      .importRecords, .export, .verify, .compact, .info, .salvage, .backup, .ship, .restore, .expired,
      .accept, .head, .unlock, .lock,
      .agentStatus, .agentLock,
      .agentStop, .agent,
      .passwordAdd, .passwordChange, .passwordRemove, .keyList, .keyAdd, .keyRotate,
      .keyShred, .keyRecovery, .keyGrant, .keyEvidence, .schemaShow, .schemaAdd, .schemaSeal, .schemaRename,
      .schemaRetire, .generateMan, .generateCompletions,
    ], hidden: [.complete])
}

// MARK: - `notelog help [COMMAND]` and `--help`; `--version`.

extension Command {
  /// Help on everything, on a command, or on the commands that share a first word.
  static let help: Command = Command(
    words: ["help"], summary: "show help",
    positionals: [Positional(name: "COMMAND", isOptional: true, repeats: true, help: "the command")],
    run: done(showHelp))

  static let version: Command = Command(
    words: ["--version"], summary: "show the version",
    run: done { _ in try Console.out.write("notelog \(NotelogTool.version)\n") })
}

private func showHelp(_ call: Invocation) throws {
  let table = CommandTable.standard
  var words = call.positionals
  guard let first = words.first, first != Command.help.words[0] else {
    return try Console.out.write(table.overview)
  }
  guard table.firstWords.contains(first) else {
    let near = table.firstWords.hint(for: first)
    throw ToolError.usage("there is no command '\(first)'", hint: near ?? "see notelog help")
  }
  // `notelog list STORE --help` is help on `list`: what comes after the command's words does not matter.
  while table.commands(beginning: words).isEmpty { words.removeLast() }
  try Console.out.write(table.commands(beginning: words).map(\.helpPage).joined(separator: "\n"))
}

// MARK: - `notelog generate man` and `notelog generate completions SHELL`.

extension Command {
  static let generateMan: Command = Command(
    words: ["generate", "man"], summary: "print the man page, in roff",
    run: done { _ in try Console.out.write(CommandTable.standard.manPage(version: NotelogTool.version)) })

  static let generateCompletions: Command = Command(
    words: ["generate", "completions"], summary: "print the completions for a shell",
    positionals: [
      Positional(
        name: "SHELL", completion: Shell.allCases.map(\.rawValue),
        help: Shell.allCases.map(\.rawValue).joined(separator: ", "))
    ],
    run: done { call in
      let name = call.positionals[0]
      guard let shell = Shell(rawValue: name) else {
        throw ToolError.usage(
          "there are no completions for '\(name)'", hint: "there are some for bash, zsh and fish")
      }
      try Console.out.write(shell.script)
    })

  /// What the shells' scripts ask; help does not name it.
  static let complete: Command = Command(
    words: ["complete"], summary: "print what may stand in the last word's place",
    positionals: [Positional(name: "WORD", isOptional: true, repeats: true, help: "a word")],
    run: done { call in
      for candidate in CommandTable.standard.candidates(for: call.positionals) {
        try Console.out.write(candidate + "\n")
      }
    })
}
