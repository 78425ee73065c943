// Completions for bash, zsh and fish, from the option table.

enum Shell: String, CaseIterable, Sendable {
  case bash, zsh, fish
}

extension CommandTable {
  /// `notelog generate completions SHELL`.
  func completions(for shell: Shell) -> String {
    switch shell {
    case .bash: bash
    case .zsh: zsh
    case .fish: fish
    }
  }

  /// Commands of two words by their first: `password` to `add`, `change`, `remove`.
  private var groups: [(first: String, seconds: [Command])] {
    firstWords.map { ($0, commands(beginning: [$0]).filter { $0.words.count > 1 }) }.filter { !$0.1.isEmpty }
  }

  /// Whether a first word that others follow is a command by itself too, whose options come where a second word would: `agent`.
  private func standsAlone(_ first: String) -> Bool { commands.contains { $0.words == [first] } }

  // MARK: - bash

  private var bash: String {
    let values = options.filter { $0.value != nil }.map { option in
      let names = "--\(option.long)" + (option.short.map { "|-\($0)" } ?? "")
      return "    \(names)) \(bashReply(option.completion)); return ;;"
    }
    let seconds = groups.map { first, seconds in
      let reply = bashReply(.words(seconds.map { $0.words[1] }))
      return standsAlone(first)
        ? "    '2 \(first)') [[ $word == -* ]] || { \(reply); return; } ;;"
        : "    '2 \(first)') \(reply); return ;;"
    }
    let longs = commands.map { command in
      "    '\(command.name) '*) options='\(command.allOptions.map { "--" + $0.long }.joined(separator: " "))' ;;"
    }
    return """
      # bash completion for notelog, made by 'notelog generate completions bash'
      _notelog() {
        local word=${COMP_WORDS[COMP_CWORD]} options='\(Option.common.map { "--" + $0.long }.joined(separator: " "))'
        case ${COMP_WORDS[COMP_CWORD-1]} in
      \(values.joined(separator: "\n"))
        esac
        case "$COMP_CWORD ${COMP_WORDS[1]}" in
          1\\ [!-]*|'1 ') \(bashReply(.words(firstWords + ["help"]))); return ;;
          '2 help') \(bashReply(.words(firstWords))); return ;;
      \(seconds.joined(separator: "\n"))
        esac
        case "${COMP_WORDS[1]} ${COMP_WORDS[2]} " in
      \(longs.joined(separator: "\n"))
        esac
        if [[ $word == -* ]]; then
          COMPREPLY=($(compgen -W "$options" -- "$word"))
        else
          COMPREPLY=($(compgen -f -- "$word"))
        fi
      }
      complete -o filenames -F _notelog notelog

      """
  }

  private func bashReply(_ completion: Option.Completion) -> String {
    switch completion {
    case .nothing: "COMPREPLY=()"
    case .file: "COMPREPLY=($(compgen -f -- \"$word\"))"
    case .folder: "COMPREPLY=($(compgen -d -- \"$word\"))"
    case .words(let words): "COMPREPLY=($(compgen -W '\(words.joined(separator: " "))' -- \"$word\"))"
    }
  }

  // MARK: - zsh

  private var zsh: String {
    let arms = commands.map { command in
      let options = command.allOptions.map { "'\(zshOption($0))'" }
      let places = command.positionals.enumerated().map { index, positional in
        let place = positional.repeats ? "*" : "\(index + 1)"
        return "'\(place):\(positional.name.lowercased()):\(zshAction(positional.completion))'"
      }
      return "    '\(command.name) '*) _arguments -s \((options + places).joined(separator: " ")) ;;"
    }
    let described = firstWords.map { first in
      let matching = commands(beginning: [first])
      let summary =
        matching.count == 1
        ? matching[0].summary : matching.map { $0.words.last ?? "" }.joined(separator: ", ")
      return "    '\(first):\(zshQuoted(summary))'"
    }
    let seconds = groups.map { first, seconds in
      let rows = seconds.map { "'\($0.words[1]):\(zshQuoted($0.summary))'" }.joined(separator: " ")
      let words = seconds.map { $0.words[1] }.joined(separator: " ")
      let (isWord, isSecond) =
        standsAlone(first)
        ? (" && [[ $words[3] != -* ]]", "[[ ' \(words) ' == *\" $words[3] \"* ]] && ") : ("", "")
      return "    \(first)) if (( CURRENT == 3 ))\(isWord); then seconds=(\(rows)); "
        + "_describe '\(first)' seconds; return; fi; \(isSecond)taken=3 ;;"
    }
    return """
      #compdef notelog
      # zsh completion for notelog, made by 'notelog generate completions zsh'
      _notelog() {
        local -a commands seconds
        local taken=2 name
        commands=(
      \(described.joined(separator: "\n"))
          'help:show help'
        )
        if (( CURRENT == 2 )); then
          _describe 'command' commands
          return
        fi
        case $words[2] in
      \(seconds.joined(separator: "\n"))
        esac
        name="$words[2] ${words[3]:-} "
        (( CURRENT -= taken - 1 ))
        shift $(( taken - 1 )) words
        case $name in
      \(arms.joined(separator: "\n"))
        esac
      }
      _notelog "$@"

      """
  }

  private func zshOption(_ option: Option) -> String {
    let repeats = option.repeats ? "*" : ""
    let value = option.value.map { "=:\($0.lowercased()):\(zshAction(option.completion))" } ?? ""
    let (equals, action) = (value.isEmpty ? "" : "=", value.dropFirst())
    return "\(repeats)--\(option.long)\(equals)[\(zshQuoted(option.help))]\(action)"
  }

  private func zshAction(_ completion: Option.Completion) -> String {
    switch completion {
    case .nothing: " "
    case .file: "_files"
    case .folder: "_files -/"
    case .words(let words): "(\(words.joined(separator: " ")))"
    }
  }

  /// Inside single quotes, with the characters that zsh's descriptions give a meaning escaped.
  private func zshQuoted(_ text: String) -> String {
    let escaped: [Character: String] = ["'": "'\\''", "[": "\\[", "]": "\\]", ":": "\\:", "\\": "\\\\"]
    return text.map { escaped[$0] ?? String($0) }.joined()
  }

  // MARK: - fish

  private var fish: String {
    var lines = ["# fish completion for notelog, made by 'notelog generate completions fish'"]
    let first = "complete -c notelog -n __fish_use_subcommand -f"
    for word in firstWords {
      let matching = commands(beginning: [word])
      lines.append("\(first) -a \(word) -d \(fishQuoted(matching.count == 1 ? matching[0].summary : word))")
    }
    lines.append("\(first) -a help -d 'show help'")
    for (word, seconds) in groups {
      let words = seconds.map { $0.words[1] }.joined(separator: " ")
      let condition = "__fish_seen_subcommand_from \(word); and not __fish_seen_subcommand_from \(words)"
      for command in seconds {
        lines.append(
          "complete -c notelog -n '\(condition)' -f -a \(command.words[1]) -d \(fishQuoted(command.summary))")
      }
    }
    lines += Option.common.map { "complete -c notelog" + fishOption($0) }
    for command in commands {
      let seen = command.words.map { "__fish_seen_subcommand_from \($0)" }.joined(separator: "; and ")
      lines += command.options.map { "complete -c notelog -n '\(seen)'" + fishOption($0) }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func fishOption(_ option: Option) -> String {
    let short = option.short.map { " -s \($0)" } ?? ""
    let value =
      switch (option.value, option.completion) {
      case (nil, _): ""
      case (_, .file): " -r -F"
      case (_, .folder): " -x -a '(__fish_complete_directories)'"
      case (_, .words(let words)): " -x -a '\(words.joined(separator: " "))'"
      case (_, .nothing): " -x"
      }
    return "\(short) -l \(option.long)\(value) -d \(fishQuoted(option.help))"
  }

  private func fishQuoted(_ text: String) -> String {
    "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
  }
}
