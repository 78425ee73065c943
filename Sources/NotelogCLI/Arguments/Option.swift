// One option of the command line: everything that parser, help, man page and completions say of it.

/// What a shell completes a value with where it knows more than the tool.
extension [String] {
  static let files = [":files"]
  static let folders = [":folders"]
  /// Names that the store on the command line has.
  static let fields = [":fields"]
  static let collections = [":collections"]
  static let keys = [":keys"]
  static let assignments = [":assignments"]
}

/// An option, with a value or without one.
struct Option: Sendable, Equatable {
  var long: String
  var short: Character?
  /// What the value is called in help, `FILE` for instance; `nil` for an option without a value.
  var value: String?
  /// What a value may be, for shells that complete it.
  var completion: [String] = []
  /// May be given several times.
  var repeats = false
  var help: String

  /// `-o, --opt VALUE`, as help shows it.
  var synopsis: String {
    let names = short.map { "-\($0), --\(long)" } ?? "    --\(long)"
    return value.map { "\(names) \($0)" } ?? names
  }
}

/// An argument known by its place.
struct Positional: Sendable, Equatable {
  var name: String
  var completion: [String] = []
  var isOptional = false
  var repeats = false
  var help: String

  /// `STORE`, `[FIELD]` or `NAME=VALUE...`, as the synopsis shows it.
  var synopsis: String {
    let name = repeats ? name + "..." : name
    return isOptional ? "[\(name)]" : name
  }
}

// MARK: - Options that several commands share

extension Option {
  static let help = Option(long: "help", short: "h", help: "show help and exit")
  static let version = Option(long: "version", help: "show the version and exit")
  static let passwordFile = Option(
    long: "password-file", value: "FILE", completion: .files,
    help: "read the password from FILE; one newline at its end is dropped")
  static let passwordDescriptor = Option(
    long: "password-fd", value: "N",
    help: "read the password from descriptor N: one line, and nothing behind it")
  static let passwordCommand = Option(
    long: "password-command", value: "COMMAND",
    help:
      "run COMMAND, and take the first line that it prints as the password; it is cut into words at blanks, with quotes as in a shell, but no "
      + "shell runs it")
  static let keyFile = Option(
    long: "key-file", value: "FILE", completion: .files,
    help: "read a 32-byte key from FILE; one newline at its end is dropped")
  static let recoveryFile = Option(
    long: "recovery-file", value: "FILE", completion: .files,
    help: "read a recovery key from FILE, as it was printed")
  static let deviceSecret = Option(
    long: "device-secret", value: "FILE", completion: .files,
    help: "this device's secret, which some keys need; $XDG_STATE_HOME/notelog/device-secret unless given")
  static let json = Option(long: "json", help: "print JSON")
  static let unlock = Option(
    long: "unlock", help: "unlock the store too: with what is kept of it, or the password that is asked for")

  static let field = Option(
    long: "field", short: "f", value: "NAME", completion: .fields, repeats: true,
    help: "only this field, or these, with commas between them; may be repeated")
  static let sort = Option(
    long: "sort", short: "s", value: "FIELD[:asc|:desc]", completion: .fields, repeats: true,
    help: "in order of this field, or the opposite order; given again, within what is equal so far")
  static let limit = Option(long: "limit", short: "n", value: "COUNT", help: "at most so many records")

  static let fullIDs = Option(long: "full-ids", help: "show whole ids in a table")
  static let utc = Option(long: "utc", help: "show and take times in UTC, not in local time")
  static let tsv = Option(long: "tsv", help: "print a line for each, with tabs between values")
  static let null = Option(long: "null", help: "print values as they are, with a zero byte behind each")
  /// How rows of records are printed.
  static let rows = [fullIDs, utc, tsv, null, json]

  static let yes = Option(long: "yes", help: "do it without asking, as in a script")

  static let scryptLogN = Option(
    long: "scrypt-log-n", value: "N",
    help: "make a guess of the password cost 2 to the power N; from 14 to 18, 17 unless given")

  static let segmentSize = Option(
    long: "segment-size", value: "SIZE",
    help:
      "make the segments that this command writes SIZE bytes long, 64K or 4M for instance; chosen by what the "
      + "store holds unless given")

  static let wait = Option(
    long: "wait", value: "SECONDS",
    help: "a command that writes waits so long for another that is writing to the store; 5 unless given")

  /// Understood by every command, anywhere on the command line.
  static let common = [
    help, version, passwordFile, passwordDescriptor, passwordCommand, keyFile, recoveryFile, deviceSecret,
    wait,
  ]
}

extension Positional {
  static let store = folder("STORE", "the store's folder")

  static func folder(_ name: String, _ help: String, isOptional: Bool = false) -> Positional {
    Positional(name: name, completion: .folders, isOptional: isOptional, help: help)
  }

  static func collection(_ help: String = "the collection's name", isOptional: Bool = false) -> Positional {
    Positional(name: "COLLECTION", completion: .collections, isOptional: isOptional, help: help)
  }
}

extension String {
  /// What help says of an id.
  static let idHelp = "a record's id, or as many of its first digits as no other has, four at least"
}

// MARK: - One command of the tool, and the table of them all.

/// A command: its words, its arguments, its help, and what it does.
struct Command: Sendable {
  /// `["list"]`, or `["password", "add"]`.
  var words: [String]
  /// One line, in lower case, without a full stop.
  var summary: String
  /// Paragraphs, for `--help` and the man page, with an empty line between them.
  var discussion = ""
  var positionals: [Positional] = []
  var options: [Option] = []
  /// A command line as one would type it, with what it does.
  var examples: KeyValuePairs<String, String> = [:]
  var run: @Sendable (Invocation) throws -> ExitCode

  var paragraphs: [String] {
    discussion.split(separator: "\n\n").map { String($0.replacing("\n", with: " ")) }
  }

  var name: String { words.joined(separator: " ") }

  /// Another name of it.
  var alias: String? { CommandTable.aliases.first { $0.value == name }?.key }

  /// `notelog list [OPTION]... STORE [COLLECTION]`.
  var synopsis: String {
    let parts = ["notelog", name] + (options.isEmpty ? [] : ["[OPTION]..."]) + positionals.map(\.synopsis)
    return parts.joined(separator: " ")
  }

  /// The command's own options, then the common ones.
  var allOptions: [Option] { options + Option.common }
}

/// A command that does what it is for, or throws.
func done(
  _ body: @escaping @Sendable (Invocation) throws -> Void
) -> @Sendable (Invocation) throws -> ExitCode {
  { call in
    try body(call)
    return .done
  }
}

/// All commands that the tool has, in the order in which help lists them.
struct CommandTable: Sendable {
  let commands: [Command]
  /// What programs call: no list shows it.
  var hidden: [Command] = []

  /// The options of all commands. One name means the same to all of them, with a value or without one.
  var options: [Option] { Option.common + commands.flatMap(\.options) }

  /// The first words of the commands, in table order.
  var firstWords: [String] { commands.map { $0.words[0] } }

  /// Other names of commands, which many know from a shell.
  static let aliases: KeyValuePairs = ["ls": "list", "rm": "remove", "find": "search", "cat": "get"]

  /// Words with the command's own name in the place of another.
  static func resolving(_ words: [String]) -> [String] {
    aliases.first { $0.key == words.first }.map { [$0.value] + words.dropFirst() } ?? words
  }

  /// The commands that begin with `words`.
  func commands(beginning words: [String]) -> [Command] {
    (commands + hidden).filter { $0.words.starts(with: words) }
  }
}

// MARK: - Near misses: which known word someone may have meant.

extension [String] {
  /// The question whether the nearest of these words was meant, if one is near enough.
  func hint(for typed: String) -> String? { nearest(to: typed).map { "did you mean '\($0)'?" } }

  /// The nearest of these words, if it is near enough to have been meant: a third of its letters wrong at most,
  /// or a beginning of it typed.
  func nearest(to typed: String) -> String? {
    // How many letters must be added, dropped, replaced or put elsewhere.
    func distance(to word: String) -> Int {
      let difference = [Character](word).difference(from: [Character](typed))
      return Swift.max(difference.insertions.count, difference.removals.count)
    }
    // What differs more in length is not compared: what was typed may come from a hostile file, and be long.
    let count = typed.count
    let near = filter { abs($0.count - count) <= Swift.max(1, $0.count / 3) }
      .map { (word: $0, distance: distance(to: $0)) }
      .filter { $0.distance <= Swift.max(1, $0.word.count / 3) }
      .min { $0.distance < $1.distance }
    if let near { return near.word }
    let completed = Set(filter { typed.count > 1 && $0.hasPrefix(typed) })
    return completed.count == 1 ? completed.first : nil
  }
}
