// A column of a table on its way in: what its values are, or what the field that takes them has them be.
import Notelog

/// What a row has in one column, before anybody knows what the column is.
enum SourceCell {
  /// Nothing, where a text is not told from it.
  case empty
  /// A text that may stand for a number.
  case word(String)
  case json(JSONValue)
  /// Of a type that the file itself says.
  case value(DynamicValue)

  /// The text that it is; nil where it is something else.
  var text: String? {
    switch self {
    case .word(let text), .json(.string(let text)): text
    default: nil
    }
  }
}

/// The records that a column's values are: by the numbers of their rows, or by their ids.
struct SourceReference {
  /// Of the table that they are rows of; nil where only the collection is known.
  var identity: String?
  /// The column of it that has the values, in small letters; nil for its primary key.
  var column: String?
  /// The collection that all of them go into; nil where they go into several.
  var collection: String?
  var rule = DeleteRule.refuse
  /// What tells the ids of its rows from others; nil where the values are ids.
  var mark: UInt64?
  /// Those that are not there, and are no value; nil where they are refused.
  var dangling: Set<RecordID>?
}

/// A column, and what its values are: found out value by value.
struct SourceColumn {
  /// The field's name.
  var name: String
  /// What the table calls it.
  let source: String
  /// Its place among a row's cells.
  var place = 0
  /// What a database declared it to hold, in capital letters; nothing where nothing was said.
  var declared = ""
  /// Whether Core Data made it, whose times are seconds since 2001, as ours.
  var isCoreData = false
  /// Whether days are those of UTC, not local ones.
  var isUTC = false
  /// What can be done in the database where it holds bytes and other values.
  var mixedHint: String?
  /// The records that its values are, as the file or the command line says.
  var reference: SourceReference?

  /// What its values are by themselves, or were declared to be.
  private(set) var found = FieldType.text
  /// What the command line has them be.
  var given: FieldType?
  /// The field that takes them, of a collection that is there already.
  var field: FieldInfo?
  var isSealed = false
  /// Whether it is sealed because of its name.
  var isProposedSecret = false

  /// How many values there are of each type, and the first row that has one.
  private var counts: [FieldType: (count: Int, row: Int64)] = [:]
  private(set) var nothing = 0
  /// How many of the texts are UUIDs, however they are written.
  private(set) var idTexts = 0
  /// How many of the integers are 0 or 1.
  private var zerosAndOnes = 0
  /// How many of the integers a double may not keep.
  private var longIntegers = 0
  /// How many of the texts are numbers that no number keeps.
  private var longNumbers = 0

  init(_ source: String) { (name, self.source) = (source, source) }

  /// The type of the values that rows have.
  var type: FieldType { field?.type ?? given ?? (reference == nil ? found : .uuid) }
  var isOptional: Bool {
    field?.isOptional ?? (nothing > 0 || reference?.rule == .nullify || reference?.dangling != nil)
  }

  /// Which of its values become another kind of value; nil where all stay what they are, or were declared to
  /// be.
  var changes: String? {
    if reference != nil || type == found && (type == .date || type == .boolean) { return nil }
    let long = counted(longNumbers, "long number")
    let changed =
      [FieldType.integer, .double, .boolean].compactMap { kind in
        type == kind || kind == .integer && type == .unsigned
          ? nil : counts[kind].map { counted($0.count, kind.name) }
      } + (longNumbers > 0 && type != .unsigned ? [long] : [])
    return changed.isEmpty ? nil : "\(changed.joined(separator: " and ")) as \(type.name)"
  }

  /// The text of a cell as a value; nil where it is none. What nobody asked for gives the very same text when
  /// it is printed, or the same number.
  private func value(_ text: String) -> DynamicValue? {
    guard let value = type.value(strictly: text, isUTC: isUTC) else { return nil }
    if field != nil || given != nil || reference != nil || type == .text { return value }
    return value.shown == text || type == .double && value.shown == text + ".0" ? value : nil
  }

  /// What a cell is as a value of the column's.
  ///
  /// - Throws: Where it is none, or nothing, and the column is not optional.
  func value(_ cell: SourceCell, row: Int64) throws -> DynamicValue {
    func failure(_ words: String) -> ToolError {
      ToolError(.failed, "row \(row), column '\(name)': \(words)")
    }
    let value: DynamicValue?
    var shown: String?
    switch cell {
    // In a column of texts that are not optional, an empty cell can be nothing else than an empty text.
    case .empty where !isOptional && type == .text: value = .text("")
    case .empty, .json(.null): value = isOptional ? .missing : nil
    case .word(let text), .json(.string(let text)):
      shown = text
      value = self.value(text)
    case .value(let typed) where typed.type == type: value = typed
    case .value(.bytes(let bytes)):
      shown = DynamicValue.bytes(bytes).description.uppercased()
      // Core Data keeps a UUID as its bytes.
      value = type == .uuid && bytes.count == 16 ? .uuid(RecordID(bytes: bytes).uuid) : nil
    case .value(let typed):
      shown = typed.shown
      value = type == .text ? .text(typed.shown) : nil
    case .json(let json):
      let text = json.text
      shown = text
      value =
        switch (json, type) {
        case (.array, .json), (.object, .json): .json(Array(text.utf8))
        case (.number, .text), (.boolean, .text): .text(text)
        case (.number, .boolean): ["0": .boolean(false), "1": .boolean(true)][text]
        // A number says of no moment since when it counts, but in Core Data's tables.
        case (.number, .date) where isCoreData: Double(text).flatMap { $0.isFinite ? .date($0) : nil }
        case (.number, .uuid):
          Int64(text).flatMap { row in reference?.mark.flatMap { SourceTable.id($0, row) } }.map {
            .uuid($0.uuid)
          }
        default: type.value(json: json, isUTC: isUTC)
        }
    }
    if case .uuid(let uuid)? = value, reference?.dangling?.contains(RecordID(uuid)) ?? false {
      if isOptional { return .missing }
      shown = nil
    } else if let value {
      if value.roughByteCount <= Assignment.bytesMax { return value }
      throw failure("the value is longer than \(Assignment.bytesMax >> 20) MiB")
    }
    guard let shown else { throw failure("there is no value, and the field is not optional") }
    // What goes into a sealed field is not quoted.
    throw failure("\(isSealed ? "the value" : "'\(Self.short(shown))'") is not \(type.named) value")
  }

  /// The beginning of what is long.
  static func short(_ text: String) -> String { text.count > 40 ? text.prefix(39) + "…" : text }

  // MARK: What its values are

  mutating func count(_ cell: SourceCell, row: Int64) {
    let kind: FieldType
    switch cell {
    case .empty, .json(.null): return nothing += 1
    case .value(let value): kind = value.type ?? .text
    case .json(.array), .json(.object): kind = .json
    case .word("true"), .word("false"), .json(.boolean): kind = .boolean
    case .json(.string(let text)): kind = count(text: text)
    // A word is a number only where printing it gives the same characters: 007, +5, 1E5 and 1.50 are text.
    case .word(let text): kind = count(number: text) { $0 == text } ?? count(text: text)
    // A number of JSON is one however it is written, but for what has more digits than any number keeps.
    case .json(.number(let text)):
      let number = count(number: text) { _ in
        text.utf8.contains { ".eE".utf8.contains($0) } || Int64(text) != nil
      }
      if number == nil { longNumbers += 1 }
      kind = number ?? .text
    }
    counts[kind, default: (0, row)].count += 1
  }

  /// The number that a text is, where `isMeant` says of it as it is printed that it is one.
  private mutating func count(number text: String, _ isMeant: (String) -> Bool) -> FieldType? {
    if let integer = Int64(text), isMeant(integer.description) {
      if integer == 0 || integer == 1 { zerosAndOnes += 1 }
      if integer.magnitude > 1 << 53 { longIntegers += 1 }
      return .integer
    }
    return Double(text).flatMap { $0.isFinite && isMeant($0.description) ? .double : nil }
  }

  /// The kind of a text, which is a date or a UUID only where printing it gives the same characters.
  private mutating func count(text: String) -> FieldType {
    let id = text.utf8.count == 36 ? RecordID(text) : nil
    if id != nil { idTexts += 1 }
    if id?.shown == text { return .uuid }
    if text.utf8.count >= 20, let date = Moment.seconds(text), Moment.text(date) == text { return .date }
    // SQLite has no such number, and an export writes the word.
    return text == "nan" && declared == "REAL" ? .double : .text
  }

  /// Says what type holds all of its values, once they are counted: numbers become text beside text.
  mutating func conclude() throws {
    // What an export says, or texts, as a database says it.
    let isText = ["CHAR", "CLOB", "TEXT"].contains(where: declared.contains)
    let exact = FieldType.allCases.first { ExportFormat.sqlType($0) == declared } ?? (isText ? .text : nil)
    let type = try typeOfValues()
    if isCoreData, declared == "TIMESTAMP", type == .integer || type == .double || counts.isEmpty {
      found = .date
    } else if counts.isEmpty {
      found = exact ?? affinity
    } else if type == .integer, declared.contains("DEC"), longIntegers == 0 {
      found = .double
    } else if type == .integer, affinity == .boolean, zerosAndOnes == counts[.integer]?.count {
      found = .boolean
    } else if let exact, ![.boolean, .bytes, .integer, .double].contains(exact) {
      found = exact
    } else {
      found = type
    }
  }

  private func typeOfValues() throws -> FieldType {
    if let only = counts.keys.first, counts.count == 1 { return only }
    for (type, words) in [(FieldType.bytes, "bytes"), (.json, "lists or objects")] where counts[type] != nil {
      let other = counts.filter { $0.key != type }.min { $0.value.row < $1.value.row }
      let place = other.map { ": \($0.key.name) in row \($0.value.row)" } ?? ""
      throw ToolError(
        .failed, "the column '\(source)' holds \(words) and other values\(place)",
        hint: type == .bytes ? mixedHint : nil)
    }
    return Set(counts.keys) == [.integer, .double] && longIntegers == 0 ? .double : .text
  }

  /// What the column was declared to hold, by parts of words as SQLite has it.
  private var affinity: FieldType {
    if declared.contains("BOOL") { return .boolean }
    if declared.contains("INT") { return .integer }
    if declared.contains("BLOB") { return .bytes }
    return ["REAL", "FLOA", "DOUB", "DEC", "NUM"].contains(where: declared.contains) ? .double : .text
  }
}

// MARK: - What becomes of a column.

extension SourceColumn {
  /// Whether names of columns have this one, by the table's or by the collection's name.
  func isNamed(in names: [String]) -> Bool { names.contains(name) || names.contains(source) }

  /// The field's type, and what else is to be known of it.
  var words: String {
    let words = [
      type.name, isSealed ? "sealed" : "plain", isOptional ? "optional" : nil,
      referringField?.target.map { "refers to " + $0 }, isProposedSecret ? "named like a secret" : nil,
    ]
    return words.compactMap { $0 }.joined(separator: ", ")
  }

  /// The field that takes it, of a new collection.
  var fieldDescription: FieldDescription {
    isSealed
      ? .sealed(name, type, optional: isOptional)
      : .plain(name, type, indexed: reference != nil, optional: isOptional)
  }

  /// The field, with the rule that its records are there; nil where it has none, or may have another.
  var referringField: FieldDescription? {
    guard let reference, let target = reference.collection, !isSealed,
      field.map({ $0.isIndexed && $0.target == nil }) ?? true
    else { return nil }
    var description = FieldDescription.plain(name, .uuid, indexed: true, optional: isOptional)
    description.target = target
    description.deleteRule = reference.rule == .nullify && !isOptional ? .refuse : reference.rule
    return description
  }
}
