// Completions: what may stand next on a command line, and the shells' scripts, which ask for it.

import Notelog

extension CommandTable {
  /// What may take the place of the last word, each with a description behind a tab; `:files` or `:folders`
  /// where the shell knows more.
  func candidates(for words: [String]) -> [String] {
    var arguments: [String] = []
    var option: Option?
    var takesOptions = true
    // bash has the sign between an option and its value as a word.
    for word in words.dropLast() where word != "=" {
      if option != nil {
        option = nil
      } else if !takesOptions || !word.hasPrefix("-") || word == "-" {
        arguments.append(word)
      } else {
        takesOptions = word != "--"
        option = valuedOption(word, arguments)
      }
    }
    arguments = Self.resolving(arguments)
    let word = words.last.map { $0 == "=" ? "" : $0 } ?? ""
    // And the one before a file's name: NAME=@FILE.
    if option == nil, words.suffix(2).contains("@") { return [":files"] }
    if option == nil, words.suffix(2).contains("=") { return [] }
    let found =
      option.map { known($0.completion, arguments) }
      ?? (takesOptions && word.hasPrefix("-")
        ? optionCandidates(arguments, word) : wordCandidates(arguments))
    return found.filter { $0.hasPrefix(word) || $0.hasPrefix(":") }
  }

  /// What may stand for a value, with the names that the store has of a kind.
  private func known(_ completion: [String], _ arguments: [String]) -> [String] {
    completion.flatMap { names($0, of: arguments) ?? [$0] }
  }

  /// The names that the store on the command line has of a kind; nil where it is no kind of names. Nobody is
  /// asked for anything: names of keys are known where the store is kept unlocked.
  ///
  /// Nothing says yet that they are what the store's owner gave: none goes to a shell that could be more to it.
  private func names(_ kind: String, of arguments: [String]) -> [String]? {
    let kinds: [[String]] = [.fields, .assignments, .collections, .keys]
    guard kinds.contains([kind]) else { return nil }
    guard let command = command(of: arguments),
      let store = arguments.dropFirst(command.words.count).first
    else { return [] }
    let call = Invocation(command: command, positionals: [store])
    let names = try? call.withStore(.never, readOnly: true) { store in
      if [kind] == .keys {
        _ = try call.unlockWithKeptRoot(store)
        return store.info().keys.compactMap(\.name)
      }
      if [kind] == .collections { return store.collections.map(\.name) }
      let names = Set(store.collections.flatMap { $0.fields.filter { !$0.isRetired }.map(\.name) })
      return names.sorted().map { [kind] == .assignments ? $0 + "=" : $0 }
    }
    return names?.filter { name in
      name.first != "-" && name.allSatisfy { $0.isLetter || $0.isNumber || "_-.=".contains($0) }
    } ?? []
  }

  /// The command that arguments begin with.
  private func command(of arguments: [String]) -> Command? {
    let words = Self.resolving(arguments)
    return commands.first { words.starts(with: $0.words) }
  }

  /// The command's option of a name with its dashes, if the next word is its value.
  private func valuedOption(_ name: String, _ arguments: [String]) -> Option? {
    (command(of: arguments)?.allOptions ?? options).first { option in
      option.value != nil && ("--" + option.long == name || option.short.map { "-\($0)" } == name)
    }
  }

  private func optionCandidates(_ arguments: [String], _ word: String) -> [String] {
    if let sign = word.firstIndex(of: "="), let option = valuedOption(String(word[..<sign]), arguments) {
      return known(option.completion, arguments).map { $0.hasPrefix(":") ? $0 : word[...sign] + $0 }
    }
    return (command(of: arguments)?.allOptions ?? Option.common).map { "--\($0.long)\t\($0.help)" }
  }

  /// The next words of commands, and what the command's next argument may be.
  private func wordCandidates(_ arguments: [String]) -> [String] {
    let isHelp = arguments.first == "help"
    let words = isHelp ? Array(arguments.dropFirst()) : arguments
    let beginning = commands.filter { $0.words.starts(with: words) && $0.words.count > words.count }
    var found = Dictionary(grouping: beginning) { $0.words[words.count] }.map { word, commands in
      let others = commands.map { $0.words.last ?? "" }.joined(separator: ", ")
      return "\(word)\t\(commands.count == 1 ? commands[0].summary : others)"
    }.sorted()
    if isHelp { return found }
    if words.isEmpty { found += Self.aliases.map { "\($0)\t\($1)" } + ["help\tshow help"] }
    guard let command = command(of: words) else { return found }
    let place = words.count - command.words.count
    let last = command.positionals.last { $0.repeats }
    return found + known((command.positionals.dropFirst(place).first ?? last)?.completion ?? [], arguments)
  }
}

enum Shell: String, CaseIterable, Sendable {
  case bash, zsh, fish

  /// What `notelog generate completions` prints.
  var script: String {
    switch self {
    case .bash:
      #"""
      # bash completion for notelog, which is asked for each
      _notelog() {
        local IFS=$'\n' line word=${COMP_WORDS[COMP_CWORD]}
        [[ $word != [=@] ]] || word=
        # As the shell will read them: without quotes, and with the home folder.
        local -a words=("${COMP_WORDS[@]:1:COMP_CWORD}")
        words=("${words[@]//[\\\"\']/}")
        words=("${words[@]/#\~\//$HOME/}")
        compopt +o filenames 2>/dev/null
        COMPREPLY=()
        while read -r line; do
          case $line in
            :files) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$word")) ;;
            :folders) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -d -- "$word")) ;;
            *) COMPREPLY+=("${line%%$'\t'*}") ;;
          esac
        done < <(notelog complete -- "${words[@]}" 2>/dev/null)
        [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null
      }
      complete -F _notelog notelog

      """#
    case .zsh:
      #"""
      #compdef notelog
      # zsh completion for notelog, which is asked for each
      _notelog() {
        local line tab=$'\t'
        local -a found
        for line in "${(@f)$(notelog complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
          case $line in
            :files) compset -P '--*='; _files ;;
            :folders) compset -P '--*='; _files -/ ;;
            ?*) found+=("${line/$tab/:}") ;;
          esac
        done
        (( ! $#found )) || _describe notelog found
      }
      _notelog "$@"

      """#
    case .fish:
      #"""
      # fish completion for notelog, which is asked for each
      function __notelog_complete
        set -l word (commandline -ct)
        set -l words (commandline -opc) "$word"
        set -l option (string match -r -- '^--[^=]*=' "$word")
        set -l value (string replace -r -- '^--[^=]*=' '' "$word")
        for line in (notelog complete -- $words[2..-1] 2>/dev/null)
          switch $line
            case :files
              __fish_complete_path "$value" | string replace -r '^' "$option"
            case :folders
              __fish_complete_directories "$value" | string replace -r '^' "$option"
            case '*'
              printf '%s\n' $line
          end
        end
      end
      complete -c notelog -f -a '(__notelog_complete)'

      """#
    }
  }
}
