// A table of something else, as `import --from` takes it: columns whose types are known, and rows in an order
// that stays.

import Foundation
import Notelog

/// What a row has in one column, before anybody knows what the column is.
enum SourceCell {
  /// Nothing, where a text is not told from it.
  case empty
  /// A text that may stand for a number.
  case word(String)
  case json(JSONValue)
  case bytes([UInt8])
}

/// A table on its way in: what it becomes, and its rows, which can be gone through as often as one likes.
struct SourceTable {
  /// Goes through all rows: a number that is the row's own, and a cell for each column.
  typealias Rows = ((Int64, [SourceCell]) throws -> Void) throws -> Void

  /// The collection that it goes into: it has the table's or file's name where nobody says otherwise.
  private(set) var collectionName: String
  /// Whether the collection is there already, and says what its fields are.
  private(set) var isKnown = false
  /// What tells this table from others of its kind.
  private let identity: String
  private var columns: [SourceColumn]
  /// The columns that are not taken.
  private let dropped: [String]
  /// How many rows there are.
  private let rowCount: Int
  private let rows: Rows

  /// Goes through all rows, each of which has as many cells as there are names, to see what the columns are;
  /// `column` says of one that has its counts, by its place, what it is.
  init(
    name: String, identity: String, columns names: [String], dropped: [String] = [], rows: @escaping Rows,
    column: (Int, inout SourceColumn) throws -> Void = { $1.found = try $1.typeOfValues() }
  ) throws {
    var columns = names.map(SourceColumn.init)
    var count = 0
    try rows { _, cells in
      for (index, cell) in cells.enumerated() { columns[index].count(cell) }
      count += 1
    }
    for index in columns.indices { try column(index, &columns[index]) }
    (collectionName, self.identity, self.dropped, self.rows) = (name, identity, dropped, rows)
    self.columns = columns
    rowCount = count
  }

  /// Goes through all rows: a number that is the row's own, and a value of its type for each column, or none
  /// where it is optional.
  private func forEachRow(_ body: (Int64, [DynamicValue]) throws -> Void) throws {
    try rows { row, cells in
      if Interrupt.isRequested { throw ToolError.interrupted }
      try body(row, try zip(columns, cells).map { column, cell in try column.value(cell, row: row) })
    }
  }
}

// MARK: - A column of a table on its way in: what its values are, or what the field that takes them has them be.

/// A column, and what its values are: found out value by value.
struct SourceColumn {
  var name: String
  /// What the table calls it.
  let source: String
  /// What its values are by themselves, or were declared to be.
  var found = FieldType.text
  /// The field that takes them, of a collection that is there already.
  var field: FieldInfo?
  var isSealed = false

  private(set) var integers = 0
  private(set) var doubles = 0
  private var booleans = 0
  private(set) var texts = 0
  private(set) var bytes = 0
  private var documents = 0
  private var nothing = 0
  /// How many of the integers are 0 or 1.
  private(set) var zerosAndOnes = 0
  /// How many of the integers a double may not keep.
  private(set) var longIntegers = 0
  /// How many of the texts are numbers that no number keeps.
  private var longNumbers = 0

  init(_ source: String) { (name, self.source) = (source, source) }

  /// The type of the values that rows have.
  var type: FieldType { field?.type ?? found }
  var isOptional: Bool { field?.isOptional ?? (nothing > 0) }

  /// Which of its values become another kind of value; nil where all stay what they are, or were declared to
  /// be.
  var changes: String? {
    if type == found, type == .date || type == .boolean { return nil }
    let counts: [(count: Int, kind: String, same: [FieldType])] = [
      (integers, "integer", [.integer, .unsigned]), (doubles, "double", [.double]),
      (booleans, "boolean", [.boolean]), (longNumbers, "long number", []),
    ]
    let changed = counts.filter { $0.count > 0 && !$0.same.contains(type) }.map { counted($0.count, $0.kind) }
    return changed.isEmpty ? nil : "\(changed.joined(separator: " and ")) as \(type.name)"
  }

  /// The text of a cell as a value; nil where it is none. What no field asked for gives the very same text
  /// when it is printed, or the same number.
  private func value(_ text: String) -> DynamicValue? {
    guard let value = type.value(strictly: text) else { return nil }
    if field != nil || type == .text { return value }
    return value.shown == text || type == .double && value.shown == text + ".0" ? value : nil
  }

  /// What a cell is as a value of the column's.
  ///
  /// - Throws: Where it is none, or nothing, and the column is not optional.
  func value(_ cell: SourceCell, row: Int64) throws -> DynamicValue {
    let value: DynamicValue?
    var shown: String?
    switch cell {
    case .empty, .json(.null):
      // In a column of texts that are not optional, an empty cell can be nothing else than an empty text.
      if case .empty = cell, !isOptional, type == .text { return .text("") }
      value = isOptional ? .missing : nil
    case .word(let text), .json(.string(let text)):
      shown = text
      value = self.value(text)
    case .bytes(let bytes):
      if type == .bytes { return .bytes(bytes) }
      shown = DynamicValue.bytes(bytes).description.uppercased()
      // Core Data keeps a UUID as its bytes.
      value = type == .uuid && bytes.count == 16 ? .uuid(RecordID(bytes: bytes).uuid) : nil
    case .json(let json):
      let text = String(decoding: json.text, as: UTF8.self)
      shown = text
      value =
        switch (json, type) {
        case (.array, .json), (.object, .json): .json(json.text)
        case (.number, .text), (.boolean, .text): .text(text)
        case (.number, .boolean): ["0": .boolean(false), "1": .boolean(true)][text]
        // A number says of no moment since when it counts, but in Core Data's tables.
        case (.number, .date) where found == .date:
          Double(text).flatMap { $0.isFinite ? .date($0) : nil }
        default: type.value(json: json)
        }
    }
    if let value { return value }
    let place = "row \(row), column '\(name)': "
    guard let shown else {
      throw ToolError(.failed, place + "there is no value, and the field is not optional")
    }
    // What goes into a sealed field is not quoted.
    let words = field?.isSealed ?? false ? "the value" : "'\(Self.short(shown))'"
    throw ToolError(.failed, place + "\(words) is not \(type.named) value")
  }

  /// The beginning of what is long.
  static func short(_ text: String) -> String { text.count > 40 ? text.prefix(39) + "…" : text }

  // MARK: What its values are

  mutating func count(_ cell: SourceCell) {
    switch cell {
    case .empty, .json(.null): nothing += 1
    case .bytes: bytes += 1
    case .word("true"), .word("false"), .json(.boolean): booleans += 1
    case .json(.string): texts += 1
    case .json(.array), .json(.object): documents += 1
    // A word is a number only where printing it gives the same characters: 007, +5, 1E5 and 1.50 are text.
    case .word(let text): count(number: text) { $0 == text }
    // JSON has no such number, SQLite has. It counts as a double, and a column of doubles refuses it.
    case .json(.number("inf")), .json(.number("-inf")): doubles += 1
    // A number of JSON is one however it is written, but for what has more digits than any number keeps.
    case .json(.number(let text)):
      let before = texts
      count(number: text) { _ in text.utf8.contains { ".eE".utf8.contains($0) } || Int64(text) != nil }
      longNumbers += texts - before
    }
  }

  /// Counts a text that may be a number, where `isMeant` says of the number as it is printed that it is.
  private mutating func count(number text: String, _ isMeant: (String) -> Bool) {
    if let integer = Int64(text), isMeant(integer.description) {
      integers += 1
      if integer == 0 || integer == 1 { zerosAndOnes += 1 }
      if integer.magnitude > 1 << 53 { longIntegers += 1 }
    } else if let double = Double(text), double.isFinite, isMeant(double.description) {
      doubles += 1
    } else {
      texts += 1
    }
  }

  /// The type that holds all of them: numbers become text beside text.
  func typeOfValues() throws -> FieldType {
    let others = integers + doubles + booleans + texts
    if bytes > 0 || documents > 0 {
      guard others == 0 else {
        throw ToolError(
          .failed, "the column '\(source)' holds \(bytes > 0 ? "bytes" : "lists or objects") and other values"
        )
      }
      return bytes > 0 ? .bytes : .json
    }
    if texts > 0 || booleans > 0 && integers + doubles > 0 || doubles > 0 && longIntegers > 0 { return .text }
    if booleans > 0 { return .boolean }
    return doubles > 0 ? .double : integers > 0 ? .integer : .text
  }
}

// MARK: - Taking a table over: a schema is proposed, rows become records, and both sides are compared.

extension SourceTable {
  /// Says what the table becomes, where the columns of some names are sealed, or all but those of some names.
  /// Where the collection is there, which `known` tells by its fields, the columns learn which of them take
  /// them.
  mutating func propose(
    as name: String?, sealing sealed: [String], plain: [String]?, known: (String) throws -> [FieldInfo]?
  ) throws {
    let names = columns.map(\.name)
    func named(_ given: [String]) -> [String] {
      given.map { given in columns.first { $0.source == given }?.name ?? given }
    }
    let (sealed, plain) = (named(sealed), plain.map(named))
    if let name = plain?.first(where: sealed.contains) {
      throw ToolError.usage("the column '\(name)' is named by --plain and by --seal")
    }
    for name in sealed + (plain ?? []) where !names.contains(name) {
      let near = names.hint(for: name)
      throw ToolError(
        .failed, "there is no column '\(name)'", hint: near ?? "there are \(names.joined(separator: ", "))")
    }
    if let name { collectionName = name }
    let there = try known(collectionName)
    isKnown = there != nil
    for (index, name) in names.enumerated() {
      if let there { columns[index].field = try field(name, in: there, sealing: sealed.contains(name)) }
      columns[index].isSealed =
        columns[index].field?.isSealed ?? plain.map { !$0.contains(name) } ?? sealed.contains(name)
    }
    if let there {
      for field in there where field.needsValue && !names.contains(field.name) {
        throw ToolError(.failed, "'\(field.name)' is not optional, and there is no column of that name")
      }
    } else if let name = (names + [collectionName]).first(where: Escaping.hasControls) {
      throw ToolError(.failed, "the name '\(name)' has control characters")
    }
  }

  /// The field of the collection that takes a column.
  private func field(_ name: String, in fields: [FieldInfo], sealing: Bool) throws -> FieldInfo {
    guard let field = fields.first(where: { $0.name == name }) else {
      let near = fields.map(\.name).hint(for: name).map { $0 + " " } ?? ""
      throw ToolError(
        .failed, "the collection '\(collectionName)' is there, and has no field '\(name)'",
        hint: near + "rename the column, or take the table --into another collection")
    }
    if sealing, !field.isSealed {
      throw ToolError(
        .failed, "'\(name)' of the collection '\(collectionName)', which is there, is not sealed",
        hint: "--into another collection, or without --seal \(name)")
    }
    return field
  }

  /// The proposal as people read it; with a value of each column where some are given.
  func proposal(samples: [String]? = nil) -> String {
    let width = columns.map(\.name.count).max() ?? 0
    var text =
      "collection \(Escaping.line(collectionName))\(isKnown ? ", which is there" : ""), \(rowCount) rows\n"
    for (index, column) in columns.enumerated() {
      let words = [
        column.type.name, column.isSealed ? "sealed" : "plain", column.isOptional ? "optional" : nil,
      ]
      text += "  \(Escaping.line(column.name.padded(to: width)))  "
      text += words.compactMap { $0 }.joined(separator: ", ")
      if let changes = column.changes { text += "; \(changes)" }
      if let samples, !samples[index].isEmpty { text += "; for instance \(Escaping.line(samples[index]))" }
      text += "\n"
    }
    if !dropped.isEmpty { text += "  left out: \(Escaping.line(dropped.joined(separator: ", ")))\n" }
    return text
  }

  /// The first value of each column, as it is printed; nothing where it has none.
  func samples() throws -> [String] {
    var samples: [String?] = columns.map { _ in nil }
    try forEachRow { _, values in
      for (index, value) in values.enumerated() where samples[index] == nil && value != .missing {
        samples[index] = value == .text("") ? "\"\"" : SourceColumn.short(value.shown)
      }
    }
    return samples.map { $0 ?? "" }
  }

  /// The collection, made where it was not there when it was proposed.
  func collection(in store: Store) throws -> DynamicCollection {
    if isKnown { return try store.collection(given: collectionName) }
    let fields = columns.map { column in
      column.isSealed
        ? FieldDescription.sealed(column.name, column.type, optional: column.isOptional)
        : .plain(column.name, column.type, optional: column.isOptional)
    }
    return try store.createCollection(collectionName, fields: fields)
  }

  /// What is said when all rows were compared with their records.
  func outcome(_ count: Int) -> String {
    let changes = columns.compactMap { column in
      column.changes.map { "  \(Escaping.line(column.name)): \($0)\n" }
    }
    return "compared   \(count) rows and as many records: "
      + (changes.isEmpty ? "all the same\n" : "the same, but for\n\(changes.joined())")
      + (dropped.isEmpty ? "" : "left out   \(Escaping.line(dropped.joined(separator: ", ")))\n")
  }
}

/// Records on their way into a store, in transactions of limited size.
struct RecordBatch {
  private(set) var records: [(collection: DynamicCollection, id: RecordID, values: [String: DynamicValue])] =
    []
  private(set) var ids: Set<RecordID> = []
  private var byteCount = 0

  /// A transaction holds 64 MiB at most, so a batch ends before that too.
  func isFull(_ count: Int) -> Bool { records.count >= count || byteCount >= 16 << 20 }

  mutating func add(
    _ id: RecordID, _ values: [String: DynamicValue], to collection: DynamicCollection, byteCount: Int
  ) {
    records.append((collection, id, values))
    ids.insert(id)
    self.byteCount += byteCount
  }

  /// Writes the records, and is empty.
  mutating func commit(to store: Store, _ durability: Durability) throws {
    let records = records
    try store.write(durability) { tx in
      for record in records { try tx.put(in: record.collection, record.id, record.values) }
    }
    self = RecordBatch()
  }
}

extension SourceTable {
  /// Compares the rows whose records are there, and writes the others: none where one differs, or does not
  /// fit its field. What was interrupted goes on when it is run again.
  ///
  /// - Returns: How many records were written, and how many were there.
  func write(
    into collection: DynamicCollection, of store: Store, _ progress: Progress
  ) throws -> (newCount: Int, knownCount: Int) {
    // What does not fit is said before anything is written.
    let knownCount = try compare(with: collection, isBefore: true)
    let names = columns.map(\.name)
    var newCount = 0
    var batch = RecordBatch()
    try forEachRow { row, values in
      let id = id(row, in: collection)
      if try knownCount == 0 || collection.get(id) == nil {
        let record = Dictionary(zip(names, values)) { first, _ in first }
        batch.add(id, record, to: collection, byteCount: values.reduce(0) { $0 + $1.roughByteCount })
        newCount += 1
        if batch.isFull(1000) { try batch.commit(to: store, .flushed) }
      }
      _ = progress.update(newCount + knownCount, of: rowCount)
    }
    try batch.commit(to: store, .flushed)
    return (newCount, knownCount)
  }

  /// Reads the table again, and compares each row with its record; and sees that there is no record of a row
  /// that is gone.
  ///
  /// - Parameters:
  ///   - collection: The one that it goes into.
  ///   - isBefore: Whether nothing was written yet: then rows may have no record.
  /// - Returns: How many records there are.
  /// - Throws: The first difference, with its row; what stood in the way of reading.
  func compare(with collection: DynamicCollection, isBefore: Bool = false) throws -> Int {
    let names = columns.map(\.name)
    let outcome = isBefore ? "; nothing was imported" : ""
    let hint = "another table goes --into another collection; "
    var left = try ids(in: collection)
    let count = left.count
    try forEachRow { row, values in
      let id = id(row, in: collection)
      guard left.remove(id) != nil, let entry = try collection.get(id) else {
        if isBefore { return }
        throw ToolError(.failed, "the record of row \(row) is gone already", hint: "import again")
      }
      guard let name = try Self.firstDifference(entry, names, values) else { return }
      throw ToolError(
        .failed, "'\(name)' of row \(row) differs from the record that was imported before\(outcome)",
        hint: hint + "where the row is right, 'notelog remove STORE \(id.shown)' and import again")
    }
    if let id = left.min() {
      let row = id.byteArray.dropFirst(8).reduce(0) { $0 << 8 | Int64($1) }
      throw ToolError(
        .failed,
        "row \(row) was imported before, and is in the table no more\(outcome)",
        hint: hint + "where it is gone for good, 'notelog remove STORE \(id.shown)' and import again")
    }
    return count
  }

  private func ids(in collection: DynamicCollection) throws -> Set<RecordID> {
    let prefix = idPrefix(in: collection)
    var ids: Set<RecordID> = []
    try collection.query().forEach { entry in
      if entry.id.byteArray.starts(with: prefix) { ids.insert(entry.id) }
      return !Interrupt.isRequested
    }
    if Interrupt.isRequested { throw ToolError.interrupted }
    return ids
  }

  private func id(_ row: Int64, in collection: DynamicCollection) -> RecordID {
    RecordID(bytes: idPrefix(in: collection) + Self.bytes(UInt64(bitPattern: row)))
  }

  /// The first half of the ids of this table's records in the collection, the second being the row's number:
  /// always the same, so that an import that was interrupted knows what it has.
  private func idPrefix(in collection: DynamicCollection) -> [UInt8] {
    // FNV-1a: two tables whose prefixes are equal by chance would be noticed when counts are compared.
    let hash: UInt64 = (identity + "\n" + collection.name).utf8.reduce(0xCBF2_9CE4_8422_2325) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01B3
    }
    return Self.bytes(hash | 1)
  }

  private static func bytes(_ number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
  }

  private static func firstDifference(
    _ entry: DynamicEntry, _ names: [String], _ values: [DynamicValue]
  ) throws -> String? {
    let present = Set(entry.fields.map(\.name))
    return try zip(names, values).first { name, value in
      !(present.contains(name) ? try entry.value(name) : .missing).isIdentical(to: value)
    }?.0
  }
}

extension DynamicValue {
  fileprivate var roughByteCount: Int {
    switch self {
    case .text(let text): 32 + text.utf8.count
    case .bytes(let bytes), .json(let bytes): 32 + bytes.count
    default: 32
    }
  }

  /// Whether both are the same to the last bit: text by its bytes, and zeros by their signs.
  fileprivate func isIdentical(to other: DynamicValue) -> Bool {
    switch (self, other) {
    case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
    case (.double(let left), .double(let right)): left.bitPattern == right.bitPattern
    default: self == other
    }
  }
}
