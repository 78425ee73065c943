// A command as one option's value, cut into words: as a shell cuts them, and with nothing else that a shell does.

enum CommandWords {
  /// Cuts at blanks. Between single quotes everything stands for itself; between double quotes, and outside, a backslash makes the next
  /// character stand for itself. Nothing is expanded, and no shell is started.
  static func split(_ text: String) throws(ToolError) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var rest = text[...]
    while let character = rest.popFirst() {
      switch (quote, character) {
      case (nil, " "), (nil, "\t"), (nil, "\n"):
        if let word { words.append(word) }
        word = nil
      case (nil, "'"), (nil, "\""):
        quote = character
        word = word ?? ""
      case ("'", "'"), ("\"", "\""): quote = nil
      case (nil, "\\"), ("\"", "\\"):
        guard let next = rest.popFirst() else { throw .usage("--password-command ends with a backslash") }
        word = (word ?? "") + String(next)
      default: word = (word ?? "") + String(character)
      }
    }
    guard quote == nil else { throw .usage("--password-command has a quote that is not closed") }
    if let word { words.append(word) }
    guard words.first?.isEmpty == false else { throw .usage("--password-command names no program") }
    return words
  }
}
