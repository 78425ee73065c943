// `notelog generate man` and `notelog generate completions SHELL`.

extension Command {
  static let generateMan: Command = Command(
    words: ["generate", "man"], summary: "print the man page, in roff"
  ) { (_, console) throws(ToolError) in
    try console.out.write(CommandTable.standard.manPage(version: NotelogTool.version))
    return .done
  }

  static let generateCompletions: Command = Command(
    words: ["generate", "completions"], summary: "print the completions for a shell",
    positionals: [
      Positional(
        name: "SHELL", completion: .words(Shell.allCases.map(\.rawValue)),
        help: Shell.allCases.map(\.rawValue).joined(separator: ", "))
    ]
  ) { (invocation, console) throws(ToolError) in
    let name = invocation.positionals[0]
    guard let shell = Shell(rawValue: name) else {
      throw .usage("there are no completions for '\(name)'", hint: "there are some for bash, zsh and fish")
    }
    try console.out.write(CommandTable.standard.completions(for: shell))
    return .done
  }
}
