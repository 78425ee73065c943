// `notelog help [COMMAND]` and `--help`; `--version`.

extension Command {
  /// Help on everything, on a command, or on the commands that share a first word.
  static let help: Command = Command(
    words: ["help"], summary: "show help",
    positionals: [Positional(name: "COMMAND", isOptional: true, repeats: true, help: "the command")],
    run: showHelp)

  static let version: Command = Command(words: ["--version"], summary: "show the version") {
    (_, console) throws(ToolError) in
    try console.out.write("notelog \(NotelogTool.version)\n")
    return .done
  }
}

@Sendable
private func showHelp(_ invocation: Invocation, _ console: Console) throws(ToolError) -> ExitCode {
  let table = CommandTable.standard
  var words = invocation.positionals
  guard let first = words.first else {
    try console.out.write(table.overview)
    return .done
  }
  guard table.firstWords.contains(first) else {
    let near = Suggestion.nearest(to: first, among: table.firstWords)
    throw .usage(
      "there is no command '\(first)'", hint: near.map { "did you mean '\($0)'?" } ?? "see notelog help")
  }
  // `notelog list STORE --help` is help on `list`: what comes after the command's words does not matter.
  while table.commands(beginning: words).isEmpty { words.removeLast() }
  try console.out.write(table.commands(beginning: words).map(\.helpPage).joined(separator: "\n"))
  return .done
}
