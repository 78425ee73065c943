// Help as text: the overview, and a page for each command.

extension CommandTable {
  /// `notelog help`: what it is, the commands, the common options and the exit codes.
  var overview: String {
    var lines = [
      "notelog: an append-only, encrypted, log-structured file store", "",
      "usage: notelog COMMAND [OPTION]... [ARGUMENT]...", "", "commands:",
    ]
    lines += columns(commands.map { ($0.name, $0.summary) } + [("help", "show this, or help on a command")])
    lines += ["", "options of every command:"]
    lines += columns(Option.common.map { ($0.synopsis, $0.help) })
    lines += ["", "exit codes:"]
    lines += columns(ExitCode.allCases.map { ("\($0.rawValue)", $0.meaning) })
    lines += ["", "'notelog help COMMAND' says more. To begin:"]
    lines += Self.firstSteps.map { "  " + $0 }
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
  /// `notelog help COMMAND`.
  var helpPage: String {
    var lines = ["usage: \(synopsis)", "", wrapped(sentence(summary), width: 80)]
    for paragraph in discussion { lines += ["", wrapped(paragraph, width: 80)] }
    if !positionals.isEmpty {
      lines += ["", "arguments:"] + columns(positionals.map { ($0.name, $0.help) })
    }
    if !options.isEmpty {
      lines += ["", "options:"] + columns(options.map { ($0.synopsis, $0.help) })
    }
    lines += ["", "options of every command:"] + columns(Option.common.map { ($0.synopsis, $0.help) })
    if !examples.isEmpty {
      lines += ["", "examples:"]
      for example in examples { lines += ["  \(example.line)", "      \(example.does)"] }
    }
    return lines.joined(separator: "\n") + "\n"
  }
}

/// `summary` as a sentence: a capital letter and a full stop.
func sentence(_ summary: String) -> String {
  summary.prefix(1).uppercased() + summary.dropFirst() + "."
}

/// Two columns, the second one wrapped.
private func columns(_ rows: [(String, String)]) -> [String] {
  let width = min(24, rows.map(\.0.count).max() ?? 0)
  return rows.flatMap { name, text in
    let lines = wrapped(text, width: 80 - width - 4).split(separator: "\n").map(String.init)
    let indent = String(repeating: " ", count: width + 4)
    if name.count > width { return ["  " + name] + lines.map { indent + $0 } }
    let padding = String(repeating: " ", count: width - name.count + 2)
    return ["  " + name + padding + (lines.first ?? "")] + lines.dropFirst().map { indent + $0 }
  }
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
