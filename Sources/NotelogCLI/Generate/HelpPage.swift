// Help as text: the overview, and a page for each command.

extension CommandTable {
  /// `notelog help`: what it is, the commands, the common options and the exit codes.
  var overview: String {
    let help = ("help", "show this, or help on a command")
    var lines = [
      "notelog: an append-only, encrypted, log-structured file store", "",
      "usage: notelog COMMAND [OPTION]... [ARGUMENT]...",
    ]
    lines += titled(
      "commands", commands.map { ($0.name + ($0.alias.map { ", \($0)" } ?? ""), $0.summary) } + [help])
    lines += titled("options of every command", Option.common.map { ($0.synopsis, $0.help) })
    lines += titled("exit codes", ExitCode.allCases.map { ("\($0.rawValue)", $0.meaning) })
    lines += ["", "'notelog help COMMAND' says more. To begin:"] + Self.firstSteps.map { "  " + $0 }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The four lines that lead from nothing to a stored, listed and verified note.
  static let firstSteps = [
    "notelog init my.notelog",
    "printf 'Hello' | notelog add my.notelog title=-",
    "notelog list my.notelog",
    "notelog verify my.notelog",
  ]
}

extension Command {
  /// The summary as a sentence, and what else it is called.
  var sentence: String {
    summary.prefix(1).uppercased() + summary.dropFirst() + "." + (alias.map { " Also called '\($0)'." } ?? "")
  }

  /// `notelog help COMMAND`.
  var helpPage: String {
    var lines = ["usage: \(synopsis)", "", wrapped(sentence, width: 80)]
    for paragraph in paragraphs { lines += ["", wrapped(paragraph, width: 80)] }
    lines += titled("arguments", positionals.map { ($0.name, $0.help) })
    lines += titled("options", options.map { ($0.synopsis, $0.help) })
    lines += titled("options of every command", Option.common.map { ($0.synopsis, $0.help) })
    if !examples.isEmpty {
      lines += ["", "examples:"]
      for (line, does) in examples { lines += ["  \(line)", "      \(does)"] }
    }
    return lines.joined(separator: "\n") + "\n"
  }
}

/// A title, and rows of two columns below it, the second one wrapped; nothing where there are none.
private func titled(_ title: String, _ rows: [(String, String)]) -> [String] {
  guard !rows.isEmpty else { return [] }
  let width = min(24, rows.map(\.0.count).max() ?? 0)
  let lines = rows.flatMap { name, text in
    let lines = wrapped(text, width: 80 - width - 4).split(separator: "\n").map(String.init)
    let indent = "".padded(to: width + 4)
    if name.count > width { return ["  " + name] + lines.map { indent + $0 } }
    return ["  " + name.padded(to: width + 2) + (lines.first ?? "")] + lines.dropFirst().map { indent + $0 }
  }
  return ["", title + ":"] + lines
}

/// Text broken into lines of at most `width` characters, at spaces.
func wrapped(_ text: String, width: Int) -> String {
  var lines: [String] = []
  var line = ""
  for word in text.split(separator: " ") {
    if !line.isEmpty, line.count + 1 + word.count > width {
      lines.append(line)
      line = ""
    }
    line += (line.isEmpty ? "" : " ") + word
  }
  return (lines + [line]).joined(separator: "\n")
}

// MARK: - The man page, in roff, from the same table as the help.

extension CommandTable {
  /// `notelog generate man`.
  func manPage(version: String) -> String {
    var lines = [
      ".TH NOTELOG 1 \"\" \"notelog \(version)\" \"User Commands\"",
      ".SH NAME", "notelog \\- an append\\-only, encrypted, log\\-structured file store",
      ".SH SYNOPSIS", ".B notelog", ".I COMMAND", "[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...",
      ".SH COMMANDS",
    ]
    lines += commands.flatMap(section)
    lines += [".SH OPTIONS OF EVERY COMMAND"] + Option.common.flatMap { entry($0.synopsis, $0.help) }
    lines += [".SH EXIT STATUS"] + ExitCode.allCases.flatMap { entry("\($0.rawValue)", $0.meaning) }
    lines += [".SH FIRST STEPS", ".nf"] + Self.firstSteps.map(roff) + [".fi"]
    return lines.joined(separator: "\n") + "\n"
  }

  private func section(of command: Command) -> [String] {
    var lines = [".SS \(roff(command.synopsis))", roff(command.sentence)]
    for paragraph in command.paragraphs { lines += [".PP", roff(paragraph)] }
    lines += command.positionals.flatMap { entry($0.name, $0.help, font: "I") }
    lines += command.options.flatMap { entry($0.synopsis, $0.help) }
    for (line, does) in command.examples {
      lines += [".PP", ".nf", ".B \(roff(line))", ".fi", ".RS 4", roff(does), ".RE"]
    }
    return lines
  }

  private func entry(_ name: String, _ help: String, font: String = "B") -> [String] {
    [".TP", ".\(font) \(roff(String(name.drop { $0 == " " })))", roff(help)]
  }
}

/// Text as roff takes it: hyphens that can be copied, backslashes, and no line that looks like a request.
func roff(_ text: String) -> String {
  let escaped: [Character: String] = ["\\": "\\e", "-": "\\-", "'": "\\(aq"]
  let line = text.map { escaped[$0] ?? String($0) }.joined()
  return line.hasPrefix(".") ? "\\&" + line : line
}
