// Reads a command line by the option table: `--opt=v`, `--opt v`, `-o v`, `-ov`, `--`, and `-` as an
// argument.

extension CommandTable {
  /// Understands `arguments` (without the program's own name).
  ///
  /// Options may stand anywhere, before the command's name too, so the words and the options are told apart
  /// first and checked against the command afterwards.
  func parse(_ arguments: [String]) throws -> Invocation {
    var found: [Given] = []
    var words: [String] = []
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        words += rest
        break
      }
      if argument.hasPrefix("--") {
        found.append(try long(argument, &rest))
      } else if argument.hasPrefix("-"), argument != "-" {
        found += try short(argument, &rest)
      } else {
        words.append(argument)
      }
    }
    words = Self.resolving(words)
    let given = Set(found.map(\.option.long))
    if given.contains(Option.version.long) { return Invocation(command: .version) }
    if given.contains(Option.help.long) || words.first == "help" {
      let asked = words.first == "help" ? Self.resolving(Array(words.dropFirst())) : words
      return Invocation(command: .help, positionals: asked)
    }
    var call = try command(words)
    for (option, spelling, value) in found {
      guard call.command.allOptions.contains(where: { $0.long == option.long }) else {
        throw ToolError.usage(
          "'\(call.command.name)' has no option \(spelling)",
          hint: "see notelog help \(call.command.name)")
      }
      guard option.repeats || option.value == nil || !call.has(option) else {
        throw ToolError.usage("\(spelling) is given twice")
      }
      call.given.append((option.long, value))
    }
    return call
  }

  // MARK: - Options

  private typealias Given = (option: Option, spelling: String, value: String)

  /// `--opt`, `--opt=value`, or `--opt` with the next argument as its value.
  private func long(_ argument: String, _ rest: inout ArraySlice<String>) throws -> Given {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0].dropFirst(2))
    guard let option = options.first(where: { $0.long == name }) else {
      let near = options.map(\.long).nearest(to: name)
      throw ToolError.usage("there is no option --\(name)", hint: near.map { "did you mean --\($0)?" })
    }
    let attached = parts.count > 1 ? String(parts[1]) : nil
    if option.value == nil, attached != nil { throw ToolError.usage("--\(name) takes no value") }
    return try given(option, "--\(name)", attached, &rest)
  }

  /// `-f`, several flags together, or an option whose value is the rest of the word or the next argument.
  private func short(_ argument: String, _ rest: inout ArraySlice<String>) throws -> [Given] {
    var found: [Given] = []
    var letters = argument.dropFirst()
    while let letter = letters.popFirst() {
      guard let option = options.first(where: { $0.short == letter }) else {
        throw ToolError.usage("there is no option -\(letter)", hint: "'notelog help' lists what there is")
      }
      let attached = option.value == nil || letters.isEmpty ? nil : String(letters)
      if attached != nil { letters = "" }
      found.append(try given(option, "-\(letter)", attached, &rest))
    }
    return found
  }

  /// An option with its value: what is attached to it, or the next argument.
  private func given(
    _ option: Option, _ spelling: String, _ attached: String?, _ rest: inout ArraySlice<String>
  ) throws -> Given {
    if option.value == nil { return (option, spelling, "") }
    guard let value = attached ?? rest.popFirst() else {
      throw ToolError.usage("\(spelling) needs a value")
    }
    return (option, spelling, value)
  }

  // MARK: - Words

  /// Finds the command that `words` begin with, and checks the number of arguments left.
  private func command(_ words: [String]) throws -> Invocation {
    guard let first = words.first else {
      throw ToolError.usage("a command is missing", hint: "'notelog help' lists the commands")
    }
    let candidates = commands(beginning: [first])
    guard !candidates.isEmpty else {
      let near = (firstWords + ["help"]).hint(for: first)
      throw ToolError.usage(
        "there is no command '\(first)'", hint: near ?? "'notelog help' lists the commands")
    }
    guard let command = candidates.first(where: { words.starts(with: $0.words) }) else {
      let seconds = candidates.map { $0.words[1] }
      let near = words.dropFirst().first.flatMap { seconds.nearest(to: $0) }
      throw ToolError.usage(
        "'\(first)' needs one of: \(seconds.joined(separator: ", "))",
        hint: near.map { "did you mean '\(first) \($0)'?" })
    }
    let arguments = Array(words.dropFirst(command.words.count))
    let hint = "usage: \(command.synopsis)"
    let required = command.positionals.filter { !$0.isOptional }
    if arguments.count < required.count {
      throw ToolError.usage("\(required[arguments.count].name) is missing", hint: hint)
    }
    if arguments.count > command.positionals.count, command.positionals.last?.repeats != true {
      throw ToolError.usage("'\(arguments[command.positionals.count])' is one argument too many", hint: hint)
    }
    return Invocation(command: command, positionals: arguments)
  }
}
