// A record as `get`, `list` and `dump` show it.

import Notelog

/// A record's fields, opened or not, and what could not be opened.
struct RecordShown {
  /// What became of a field.
  enum Content {
    case value(DynamicValue)
    /// Sealed, and not opened; the key may not be here: it is elsewhere, or was shredded, or the keyring
    /// lacks it.
    case sealed(byteCount: Int, key: UInt32, isKeyMissing: Bool = false)
    /// Of no field that the schema has in use.
    case unknown(byteCount: Int)
    case failed(NotelogError)
    /// Sound, and too long to be held.
    case long(byteCount: Int)

    var json: JSONValue {
      switch self {
      case .value(let value): value.json
      case .sealed(let byteCount, let key, _): ["sealed": byteCount, "key": key]
      case .unknown(let byteCount): ["unknown": byteCount]
      case .failed(let error): ["error": error.description]
      case .long(let byteCount): ["long": byteCount]
      }
    }
  }

  let entry: DynamicEntry
  var fields: [(name: String, content: Content)]

  /// Reads a record's fields; sealed ones only if `opening`.
  init(_ entry: DynamicEntry, opening: Bool, only names: Set<String>? = nil) {
    self.entry = entry
    fields = entry.fields.filter { names?.contains($0.name) ?? true }.map { field in
      guard field.isInSchema else { return (field.name, .unknown(byteCount: field.storedByteCount)) }
      if let key = field.keyNumber, !opening {
        return (field.name, .sealed(byteCount: field.storedByteCount, key: key))
      }
      do {
        if let count = try entry.longByteCount(field) { return (field.name, .long(byteCount: count)) }
        return (field.name, .value(try entry.value(field.name)))
      } catch {
        let error = error as? NotelogError ?? NotelogError(.damaged, "\(error)")
        // A field whose key is not to be had is sealed, not broken.
        guard let key = field.keyNumber, error.code == .locked || error.code == .missingKey else {
          return (field.name, .failed(error))
        }
        let isKeyMissing = error.code == .missingKey
        return (field.name, .sealed(byteCount: field.storedByteCount, key: key, isKeyMissing: isKeyMissing))
      }
    }
  }

  /// `{"id":…,"collection":…,"revision":…,"fields":{…}}`, some fields first, with null for what it does not have of
  /// them.
  func json(_ names: [String]) -> JSONValue {
    let shown = Dictionary(fields.map { ($0.name, $0.content.json) }) { first, _ in first }
    let (known, present) = (Set(names), Set(entry.fields.map(\.name)))
    let members = (names + fields.map(\.name).filter { !known.contains($0) }).compactMap { name in
      (shown[name] ?? (present.contains(name) ? nil : .null)).map { JSONValue.Member(name: name, value: $0) }
    }
    return [
      "id": entry.id.shown, "collection": entry.collection, "revision": entry.revision,
      "possiblyStale": entry.isPossiblyStale ? true : nil,
      "fields": JSONValue.object(members),
    ]
  }

  /// A line for the record and a line for each field; on a terminal, texts as many as they have, and dates in
  /// local time unless `isUTC`.
  func lines(isUTC: Bool = true) -> [String] {
    let width = fields.map(\.name.count).max() ?? 0
    let name = Console.styled(Escaping.line(entry.collection), .bold)
    let note = entry.isPossiblyStale ? ", possibly older than it was" : ""
    return ["\(name) \(entry.id.shown) revision \(entry.revision)\(note)"]
      + fields.map { name, content in
        var text = Self.text(content)
        if Console.outIsTerminal, case .value(let value) = content, value != .missing {
          let indent = "\n" + String(repeating: " ", count: width + 4)
          text = Escaping.text(value.shown(isUTC: isUTC)).replacing("\n", with: indent)
        }
        return "  \(Escaping.line(name.padded(to: width)))  \(text)"
      }
  }

  static func text(_ content: Content) -> String {
    switch content {
    case .value(.missing): Console.styled("none", .dim)
    case .value(let value): Escaping.line(value.shown)
    case .sealed(let byteCount, let key, _):
      Console.styled("sealed under key \(key), \(byteCount) bytes", .dim)
    case .unknown(let byteCount): Console.styled("\(byteCount) bytes, not in the schema", .dim)
    case .long(let byteCount): Console.styled("\(byteCount) bytes, too long to be shown", .dim)
    case .failed(let error): Console.styled("error: \(Escaping.line(error.description))", .red)
    }
  }
}

extension DynamicEntry {
  /// The length of a value that is too long to be held; nil of all others.
  func longByteCount(_ field: Field) throws -> Int? {
    // Its seals and a byte make it longer: what comes near the limit is asked for.
    guard field.storedByteCount > Assignment.bytesMax else { return nil }
    let count = try content(of: field.name)?.byteCount ?? 0
    return count > Assignment.bytesMax ? count : nil
  }
}

extension RecordShown {
  /// The record without what is too long, or not opened.
  var exported: RecordShown {
    var record = self
    record.fields.removeAll {
      switch $0.content {
      case .long, .sealed: true
      default: false
      }
    }
    return record
  }
}

// MARK: - The fields of a collection by the names that a command line has.

extension DynamicCollection {
  /// The fields in use: retired ones are left out.
  var fieldsInUse: [FieldInfo] { fields.filter { !$0.isRetired } }

  /// The field in use of a name.
  func field(_ name: String) throws -> FieldInfo {
    if let field = fieldsInUse.first(where: { $0.name == name }) { return field }
    let names = fieldsInUse.map(\.name)
    let near = names.hint(for: name)
    throw ToolError(
      .failed, "'\(self.name)' has no field '\(name)'",
      hint: near ?? (names.isEmpty ? "it has none" : "its fields are: \(names.joined(separator: ", "))"))
  }

  /// The values of assignments, each of its field's type.
  func values(_ assignments: [Assignment]) throws -> [String: DynamicValue] {
    let values = try assignments.map { assignment in
      let field = try field(assignment.name)
      return (field.name, try field.checked(try assignment.value(as: field.type)))
    }
    return Dictionary(uniqueKeysWithValues: values)
  }

  /// What a list shows unless told otherwise: the plain fields, and the first sealed text that is not named
  /// like a secret.
  var fieldsToList: [String] {
    let title = fieldsInUse.first { $0.isSealed && $0.type == .text && !$0.name.isNamedLikeSecret }?.name
    return fieldsInUse.filter { !$0.isSealed || $0.name == title }.map(\.name)
  }
}

extension String {
  private static let secretParts = [
    "password", "passwd", "passphrase", "passcode", "pincode", "secret", "token", "credential", "apikey",
    "privatekey", "mnemonic",
  ]
  /// They are words of their own, or `spin` were a secret.
  private static let secretWords: Set = ["pin", "pwd", "pw", "pass", "cvv", "cvc", "otp", "totp"]

  /// Whether a field of this name has secrets, as it seems.
  var isNamedLikeSecret: Bool {
    let words = matches(of: /\p{Lu}?\p{Ll}+|\p{Lu}+/).map { $0.output.lowercased() }
    return Self.secretParts.contains(where: words.joined().contains)
      || !Self.secretWords.isDisjoint(with: words)
  }
}

extension FieldInfo {
  /// Whether a record is not complete without it. A text that is not given is an empty one.
  var needsValue: Bool { !isOptional && !isRetired && type != .text }

  /// What a new record has where nobody says: now, for a date that is not optional.
  ///
  /// - Throws: Where it has to be said.
  var initialValue: DynamicValue {
    // An app would have its initial value for it, which is often the time of each reading.
    get throws { try checked(type == .date ? .date(Moment.now) : nil) }
  }

  /// A value, which is not missing unless the field is optional.
  func checked(_ value: DynamicValue?) throws -> DynamicValue {
    guard let value, value != .missing || isOptional else {
      throw ToolError.usage("'\(name)' is not optional: give it \(type.named) value")
    }
    return value
  }
}

extension DynamicEntry {
  /// What a person knows the record by: its first text that can be read without asking.
  var title: String? {
    fields.lazy.filter { $0.type == .text && $0.isInSchema }.compactMap { field in
      guard case .text(let text)? = try? value(field.name), !text.isEmpty else { return nil }
      return String(text.unicodeScalars.prefix(60))
    }.first
  }
}
