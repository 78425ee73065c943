// The man page, in roff, from the same table as the help.

extension CommandTable {
  /// `notelog generate man`.
  func manPage(version: String) -> String {
    var lines = [
      ".TH NOTELOG 1 \"\" \"notelog \(version)\" \"User Commands\"",
      ".SH NAME", "notelog \\- an append\\-only, encrypted, log\\-structured file store",
      ".SH SYNOPSIS", ".B notelog", ".I COMMAND", "[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...",
      ".SH COMMANDS",
    ]
    for command in commands { lines += section(of: command) }
    lines += [".SH OPTIONS OF EVERY COMMAND"] + Option.common.flatMap(entry)
    lines += [".SH EXIT STATUS"]
    for code in ExitCode.allCases { lines += [".TP", ".B \(code.rawValue)", roff(code.meaning)] }
    lines += [".SH FIRST STEPS", ".nf"] + Self.firstSteps.map(roff) + [".fi"]
    return lines.joined(separator: "\n") + "\n"
  }

  private func section(of command: Command) -> [String] {
    var lines = [".SS \(roff(command.synopsis))", roff(sentence(command.summary))]
    for paragraph in command.discussion { lines += [".PP", roff(paragraph)] }
    for positional in command.positionals {
      lines += [".TP", ".I \(roff(positional.name))", roff(positional.help)]
    }
    lines += command.options.flatMap(entry)
    for example in command.examples {
      lines += [".PP", ".nf", ".B \(roff(example.line))", ".fi", ".RS 4", roff(example.does), ".RE"]
    }
    return lines
  }

  private func entry(_ option: Option) -> [String] {
    let synopsis = option.synopsis.drop { $0 == " " }
    return [".TP", ".B \(roff(String(synopsis)))", roff(option.help)]
  }
}

/// Text as roff takes it: hyphens that can be copied, backslashes, and no line that looks like a request.
func roff(_ text: String) -> String {
  let escaped: [Character: String] = ["\\": "\\e", "-": "\\-", "'": "\\(aq"]
  let line = text.map { escaped[$0] ?? String($0) }.joined()
  return line.hasPrefix(".") ? "\\&" + line : line
}
