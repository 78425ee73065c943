// One option of the command line: everything that parser, help, man page and completions say of it.

/// An option, with a value or without one.
struct Option: Sendable, Equatable {
  /// How a shell completes a value.
  enum Completion: Sendable, Equatable {
    case nothing, file, folder
    case words([String])
  }

  var long: String
  var short: Character?
  /// What the value is called in help, `FILE` for instance; `nil` for an option without a value.
  var value: String?
  var completion = Completion.nothing
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
  var completion = Option.Completion.nothing
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
    long: "password-file", value: "FILE", completion: .file,
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
    long: "key-file", value: "FILE", completion: .file,
    help: "read a 32-byte key from FILE; one newline at its end is dropped")
  static let recoveryFile = Option(
    long: "recovery-file", value: "FILE", completion: .file,
    help: "read a recovery key from FILE, as it was printed")
  static let deviceSecret = Option(
    long: "device-secret", value: "FILE", completion: .file,
    help: "this device's secret, which some keys need; $XDG_STATE_HOME/notelog/device-secret unless given")
  static let json = Option(long: "json", help: "print JSON")
  static let unlock = Option(
    long: "unlock", help: "unlock the store too: with what is kept of it, or the password that is asked for")

  static let field = Option(
    long: "field", short: "f", value: "NAME", repeats: true, help: "only this field; may be repeated")
  static let limit = Option(long: "limit", short: "n", value: "COUNT", help: "at most so many records")

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
    help: "wait so long for another process that is writing to the store; not at all unless given")

  /// Understood by every command, anywhere on the command line.
  static let common = [
    help, version, passwordFile, passwordDescriptor, passwordCommand, keyFile, recoveryFile, deviceSecret,
    wait,
  ]
}

extension Positional {
  static let store = Positional(name: "STORE", completion: .folder, help: "the store's folder")
}
