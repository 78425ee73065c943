// Reads a command line by the option table: `--opt=v`, `--opt v`, `-o v`, `-ov`, `--`, and `-` as an argument.

/// The parser of the tool's command line.
struct Parser: Sendable {
  var table: CommandTable
  /// What `--help` and `--version` run, whatever else is on the line.
  var help: Command
  var version: Command

  /// Understands `arguments` (without the program's own name).
  ///
  /// Options may stand anywhere, before the command's name too, so the words and the options are told apart
  /// first and checked against the command afterwards.
  func parse(_ arguments: [String]) throws -> Invocation {
    var options: [(option: Option, spelling: String, value: String)] = []
    var words: [String] = []
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        words += rest
        break
      } else if argument.hasPrefix("--") {
        let (option, value) = try long(argument, &rest)
        options.append((option, "--\(option.long)", value))
      } else if argument.hasPrefix("-"), argument != "-" {
        for (option, value) in try short(argument, &rest) {
          options.append((option, "-\(option.short ?? "?")", value))
        }
      } else {
        words.append(argument)
      }
    }
    let given = Set(options.map(\.option.long))
    if given.contains(Option.version.long) { return Invocation(command: version) }
    if given.contains(Option.help.long) || words.first == "help" {
      return Invocation(command: help, positionals: words.first == "help" ? Array(words.dropFirst()) : words)
    }
    var invocation = try command(words)
    for (option, spelling, value) in options {
      guard invocation.command.allOptions.contains(where: { $0.long == option.long }) else {
        throw ToolError.usage(
          "'\(invocation.command.name)' has no option \(spelling)",
          hint: "see notelog help \(invocation.command.name)")
      }
      guard option.repeats || option.value == nil || invocation.values[option.long] == nil else {
        throw ToolError.usage("\(spelling) is given twice")
      }
      invocation.values[option.long, default: []].append(value)
    }
    return invocation
  }

  // MARK: - Options

  /// `--opt`, `--opt=value`, or `--opt` with the next argument as its value.
  private func long(
    _ argument: String, _ rest: inout ArraySlice<String>
  ) throws -> (Option, value: String) {
    let body = argument.dropFirst(2)
    let name = body.prefix { $0 != "=" }
    let attached = name.endIndex == body.endIndex ? nil : String(body[body.index(after: name.endIndex)...])
    guard let option = table.options.first(where: { $0.long == name }) else {
      let near = Suggestion.nearest(to: String(name), among: table.options.map(\.long))
      throw ToolError.usage("there is no option --\(name)", hint: near.map { "did you mean --\($0)?" })
    }
    guard option.value != nil else {
      if attached != nil { throw ToolError.usage("--\(name) takes no value") }
      return (option, "")
    }
    guard let value = attached ?? rest.popFirst() else { throw ToolError.usage("--\(name) needs a value") }
    return (option, value)
  }

  /// `-f`, several flags together, or an option whose value is the rest of the word or the next argument.
  private func short(
    _ argument: String, _ rest: inout ArraySlice<String>
  ) throws -> [(Option, value: String)] {
    var found: [(Option, value: String)] = []
    var letters = argument.dropFirst()
    while let letter = letters.popFirst() {
      guard let option = table.options.first(where: { $0.short == letter }) else {
        throw ToolError.usage("there is no option -\(letter)", hint: "'notelog help' lists what there is")
      }
      if option.value == nil {
        found.append((option, ""))
      } else if !letters.isEmpty {
        found.append((option, String(letters)))
        break
      } else if let value = rest.popFirst() {
        found.append((option, value))
      } else {
        throw ToolError.usage("-\(letter) needs a value")
      }
    }
    return found
  }

  // MARK: - Words

  /// Finds the command that `words` begin with, and checks the number of arguments left.
  private func command(_ words: [String]) throws -> Invocation {
    guard let first = words.first else {
      throw ToolError.usage("a command is missing", hint: "'notelog help' lists the commands")
    }
    let candidates = table.commands(beginning: [first])
    guard !candidates.isEmpty else {
      let near = Suggestion.nearest(to: first, among: table.firstWords + ["help"])
      let hint = near.map { "did you mean '\($0)'?" } ?? "'notelog help' lists the commands"
      throw ToolError.usage("there is no command '\(first)'", hint: hint)
    }
    guard let command = candidates.first(where: { words.starts(with: $0.words) }) else {
      let seconds = candidates.map { $0.words[1] }
      let near = words.dropFirst().first.flatMap { Suggestion.nearest(to: $0, among: seconds) }
      throw ToolError.usage(
        "'\(first)' needs one of: \(seconds.joined(separator: ", "))",
        hint: near.map { "did you mean '\(first) \($0)'?" })
    }
    let arguments = Array(words.dropFirst(command.words.count))
    try check(arguments, of: command)
    return Invocation(command: command, positionals: arguments)
  }

  private func check(_ arguments: [String], of command: Command) throws {
    let hint = "usage: \(command.synopsis)"
    let required = command.positionals.filter { !$0.isOptional }
    if arguments.count < required.count {
      throw ToolError.usage("\(required[arguments.count].name) is missing", hint: hint)
    }
    if arguments.count > command.positionals.count, command.positionals.last?.repeats != true {
      throw ToolError.usage("'\(arguments[command.positionals.count])' is one argument too many", hint: hint)
    }
  }
}
