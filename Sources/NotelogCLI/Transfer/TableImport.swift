// A table of something else, as `import` takes it: columns whose types are known, and rows in an order that stays.

import Notelog

/// What the command line says of tables that are imported.
struct ImportWishes {
  /// The collection's name.
  var name: String?
  /// The columns that are sealed; and those that are in the clear, where all others are sealed.
  var sealed: [String] = []
  var plain: [String]?
  /// What columns are: a type's name, or that of a collection that they refer to.
  var types: [String: String] = [:]
  /// Whether days are those of UTC, not local ones.
  var isUTC = false
  /// Whether rows with ids of their own replace what their records have.
  var replaces = false
  /// Whether what refers to a row or record that is not there is no value.
  var clearsDangling = false
}

/// A table on its way in: what it becomes, and its rows, which can be gone through as often as one likes.
struct SourceTable {
  /// Goes through all rows: a number that is the row's own, and a cell for each column.
  typealias Rows = ((Int64, [SourceCell]) throws -> Void) throws -> Void

  /// The collection that it goes into: it has the table's or file's name where nobody says otherwise.
  private(set) var collectionName: String
  /// What it is called by itself.
  private let givenName: String
  /// Whether the collection is there already, and says what its fields are.
  private(set) var isKnown = false
  /// What tells this table from others of its kind.
  private let identity: String
  /// The column that has the rows' numbers; nil where none has.
  private let numberColumn: String?
  /// The first column, where it is the records' ids.
  private var idColumn: SourceColumn?
  fileprivate var columns: [SourceColumn]
  /// The columns that are not taken.
  private let dropped: [String]
  /// How many rows there are.
  let rowCount: Int
  private let replaces: Bool
  private let rows: Rows
  /// The first half of the ids of this table's records, where it has none, the second being the row's number:
  /// always the same, so that an import that was interrupted knows what it has.
  private var mark: UInt64

  /// Goes through all rows, each of which has as many cells as there are columns, to see what these are.
  ///
  /// - Parameters:
  ///   - name: What the collection is called where nobody says otherwise.
  ///   - identity: What tells it from others.
  ///   - all: Its columns.
  ///   - dropped: Those that are not taken.
  ///   - numberColumn: The one that has the rows' numbers.
  ///   - isPart: Whether other parts of the table go elsewhere, so that columns without a value are theirs.
  ///   - wishes: What the command line says.
  ///   - rows: Goes through all rows.
  /// - Throws: Where a column's values have no type that holds all of them; what stood in the way of reading.
  init(
    name: String, identity: String, columns all: [SourceColumn], dropped: [String] = [],
    numberColumn: String? = nil, isPart: Bool = false, _ wishes: ImportWishes, rows: @escaping Rows
  ) throws {
    var columns = all
    var count = 0
    for (index, column) in columns.enumerated() {
      (columns[index].place, columns[index].isUTC) = (index, wishes.isUTC)
      guard let word = wishes.types[column.source] ?? wishes.types[column.name] else { continue }
      columns[index].given = FieldType.allCases.first { $0.name == word }
      columns[index].reference =
        columns[index].given == nil ? SourceReference(identity: nil, collection: word) : nil
    }
    try rows { row, cells in
      for (index, cell) in cells.enumerated() { columns[index].count(cell, row: row) }
      count += 1
    }
    // What an export calls its first column, beside these others.
    if let first = columns.first, first.given == nil, count > 0, first.idTexts == count,
      first.source == ExportFormat.idColumn(columns.dropFirst().map(\.source))
    {
      idColumn = columns.removeFirst()
    }
    let empty = isPart ? columns.filter { $0.nothing == count }.map(\.source) : []
    columns.removeAll { empty.contains($0.source) }
    for index in columns.indices { try columns[index].conclude() }
    (givenName, collectionName) = (name, wishes.name ?? name)
    (self.identity, self.numberColumn) = (identity, numberColumn)
    (self.columns, self.dropped, self.rows, rowCount) = (columns, dropped + empty, rows, count)
    replaces = wishes.replaces
    mark = Self.mark(identity, chosen: collectionName == name ? nil : collectionName)
  }

  /// Goes through all rows: the row's number, its record's id, and a value of its type for each column, or none
  /// where it is optional.
  fileprivate func forEachRow(_ body: (Int64, RecordID, [DynamicValue]) throws -> Void) throws {
    try rows { row, cells in
      if Interrupt.isRequested { throw ToolError.interrupted }
      let id = hasIDs ? cells[0].text.flatMap { RecordID($0) } : Self.id(mark, row)
      guard let id else { throw ToolError(.failed, "row \(row): the id is none") }
      try body(row, id, try columns.map { try $0.value(cells[$0.place], row: row) })
    }
  }

  private var hasIDs: Bool { idColumn != nil }

  /// The id of a row's record. It begins with three digits of the table's mark, how many digits the row's number
  /// has, less one, and these: ids are in order of the rows, and their first digits tell them apart. It ends
  /// with the mark.
  static func id(_ mark: UInt64, _ row: Int64) -> RecordID? {
    let number = String(UInt64(bitPattern: row), radix: 16)
    let (first, last) = halves(of: mark)
    let zeros = String(repeating: "0", count: 16 - number.count)
    return RecordID(first + String(number.count - 1, radix: 16) + number + zeros + last)
  }

  /// The row of a record's id; nil where it is of no row of the table that has the mark.
  fileprivate static func row(of id: RecordID, _ mark: UInt64) -> Int64? {
    let digits = id.shown.filter { $0 != "-" }
    let (first, last) = halves(of: mark)
    guard digits.hasPrefix(first), digits.hasSuffix(last),
      let count = digits.dropFirst(3).first?.hexDigitValue
    else { return nil }
    return UInt64(digits.dropFirst(4).prefix(count + 1), radix: 16).map { Int64(bitPattern: $0) }
  }

  private static func halves(of mark: UInt64) -> (first: String, last: String) {
    let digits = String(mark | 1 << 63, radix: 16)
    return (String(digits.prefix(3)), String(digits.suffix(12)))
  }

  /// What tells the ids of a table's records from those of others, in a collection that has its name, or a
  /// chosen one.
  private static func mark(_ identity: String, chosen name: String? = nil) -> UInt64 {
    hash((identity + (name.map { "\n" + $0 } ?? "")).utf8)
  }

  /// FNV-1a, going on from a hash: two tables whose marks are equal by chance would be noticed when rows are
  /// compared.
  static func hash(_ bytes: some Sequence<UInt8>, _ hash: UInt64 = 0xCBF2_9CE4_8422_2325) -> UInt64 {
    bytes.reduce(hash) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}

// MARK: - Taking tables over: schemas are proposed, rows become records, and both sides are compared.

extension [SourceTable] {
  /// Says what the tables become. Where a collection is there, which `known` tells by its fields, the columns
  /// learn which of them take them.
  mutating func propose(_ wishes: ImportWishes, known: (String) throws -> [FieldInfo]?) throws {
    if let name = wishes.plain?.first(where: wishes.sealed.contains) {
      throw ToolError.usage("the column '\(name)' is named by --plain and by --seal")
    }
    let names = Set(flatMap(\.columnNames))
    for name in wishes.sealed + (wishes.plain ?? []) + wishes.types.keys.sorted() where !names.contains(name)
    {
      let fields = [String](flatMap(\.fieldNames))
      throw ToolError(
        .failed, "there is no column '\(name)'",
        hint: fields.hint(for: name) ?? "there are \(fields.joined(separator: ", "))")
    }
    var taken: Set<String> = []
    for table in self where !taken.insert(table.collectionName).inserted {
      throw ToolError.usage(
        "two tables would be the collection '\(table.collectionName)'", hint: "--table takes one of them")
    }
    let all = self
    for index in indices { try self[index].propose(wishes, among: all, known: known) }
  }

  /// Sees that what columns refer to is in the store, or will be. What is not is named.
  ///
  /// - Throws: Where it is to be refused.
  mutating func findDangling(in store: Store) throws {
    guard contains(where: { $0.columns.contains { $0.reference != nil } }) else { return }
    let (all, collections) = (self, store.collections)
    let rows = try all.map { table in
      var ids: Set<RecordID> = []
      try table.forEachRow { _, id, _ in ids.insert(id) }
      return (name: table.collectionName, ids: ids)
    }
    var count = 0
    for (index, table) in all.enumerated() {
      try table.forEachRow { row, _, values in
        for (place, column) in table.columns.enumerated() {
          guard let reference = column.reference, case .uuid(let uuid) = values[place] else { continue }
          let id = RecordID(uuid)
          func takes(_ name: String) -> Bool { [nil, name].contains(reference.collection) }
          if rows.contains(where: { takes($0.name) && $0.ids.contains(id) }) { continue }
          if try collections.contains(where: { try takes($0.name) && $0.get(id) != nil }) { continue }
          self[index].columns[place].reference?.dangling?.insert(id)
          count += 1
          guard count <= 10 else { continue }
          let value = reference.mark.flatMap { SourceTable.row(of: id, $0)?.description } ?? id.shown
          Console.say(
            "dangling",
            "\(table.collectionName), row \(row), column '\(column.name)': "
              + "\(column.isSealed ? "it" : "'\(value)'") is not there")
        }
      }
    }
    if count == 0 { return }
    let words = count == 1 ? "1 reference leads nowhere" : "\(count) references lead nowhere"
    if all.contains(where: { $0.columns.contains { $0.reference?.dangling != nil } }) {
      return Console.say("note", "\(words): without a value now")
    }
    throw ToolError(
      .failed, "\(words): nothing was imported",
      hint: "--clear-dangling imports them as none; --type COLUMN=TYPE takes the column as no reference")
  }

  /// Has the store hold what refers to other records, once all of them are there.
  func hold(in store: Store) throws {
    let referring = compactMap { table -> (name: String, fields: [FieldDescription])? in
      let fields = table.columns.compactMap(\.referringField)
      return fields.isEmpty ? nil : (table.collectionName, fields)
    }
    if !referring.isEmpty { try store.createCollections(referring) }
  }
}

extension SourceTable {
  fileprivate var fieldNames: [String] { columns.map(\.name) }
  /// What its columns are called, in the table and in the collection.
  fileprivate var columnNames: [String] { columns.flatMap { [$0.name, $0.source] } }
  /// The columns that are sealed because of their names.
  var secrets: [String] { columns.filter(\.isProposedSecret).map(\.name) }

  fileprivate mutating func propose(
    _ wishes: ImportWishes, among all: [SourceTable], known: (String) throws -> [FieldInfo]?
  ) throws {
    let there = try known(collectionName)
    isKnown = there != nil
    if replaces, !hasIDs {
      throw ToolError.usage(
        "--replace is for rows with ids of their own, and those of '\(givenName)' have none")
    }
    if var column = idColumn, there?.contains(where: { $0.name == column.name }) ?? false {
      // The collection has a field for it.
      try column.conclude()
      columns.insert(column, at: 0)
      idColumn = nil
    }
    for index in columns.indices {
      let column = columns[index]
      let isToBeSealed = column.isNamed(in: wishes.sealed)
      if let there { columns[index].field = try field(column, in: there, sealing: isToBeSealed) }
      columns[index].isProposedSecret =
        there == nil && wishes.plain == nil && !isToBeSealed && column.name.isNamedLikeSecret
      columns[index].isSealed =
        columns[index].field?.isSealed ?? wishes.plain.map { !column.isNamed(in: $0) }
        ?? (isToBeSealed || columns[index].isProposedSecret)
      columns[index].reference = try column.reference.flatMap { reference in
        try linked(reference, of: columns[index], among: all, known)
      }
      if wishes.clearsDangling { columns[index].reference?.dangling = [] }
    }
    if let there {
      for field in there where field.needsValue && !fieldNames.contains(field.name) {
        throw ToolError(.failed, "'\(field.name)' is not optional, and there is no column of that name")
      }
    } else if let name = (fieldNames + [collectionName]).first(where: Escaping.hasControls) {
      throw ToolError(.failed, "the name '\(name)' has control characters")
    }
  }

  /// The field of the collection that takes a column.
  private func field(_ column: SourceColumn, in fields: [FieldInfo], sealing: Bool) throws -> FieldInfo {
    let (name, place) = (column.name, "the collection '\(collectionName)'")
    guard let field = fields.first(where: { $0.name == name }) else {
      let near = fields.map(\.name).hint(for: name).map { $0 + " " } ?? ""
      throw ToolError(
        .failed, "\(place) is there, and has no field '\(name)'",
        hint: near + "rename the column, or take the table --into another collection")
    }
    if sealing, !field.isSealed {
      throw ToolError(
        .failed, "'\(name)' of \(place), which is there, is not sealed",
        hint: "--into another collection, or without --seal \(name)")
    }
    let isReference = column.reference.map { $0.identity == nil } ?? false
    if let given = column.given ?? (isReference ? .uuid : nil), given != field.type {
      throw ToolError(
        .failed, "'\(name)' of \(place), which is there, is \(field.type.name), not \(given.name)",
        hint: "--into another collection, or without --type for \(name)")
    }
    return field
  }

  /// The records that a column's values are, now that it is known what all tables become; nil where they stay
  /// what they are in the file.
  private func linked(
    _ reference: SourceReference, of column: SourceColumn, among all: [SourceTable],
    _ known: (String) throws -> [FieldInfo]?
  ) throws -> SourceReference? {
    var reference = reference
    let targets = all.filter {
      reference.identity == nil ? $0.givenName == reference.collection : $0.identity == reference.identity
    }
    if let field = column.field, field.type != .uuid { return nil }
    guard let target = targets.first else {
      if let identity = reference.identity {
        // The table was imported before, or will be.
        (reference.collection, reference.mark) = (nil, Self.mark(identity))
        return column.field == nil ? nil : reference
      }
      if try known(reference.collection ?? "") != nil { return reference }
      let types = FieldType.allCases.map(\.name)
      throw ToolError(
        .failed, "there is no type and no collection '\(reference.collection ?? "")'",
        hint: types.hint(for: reference.collection ?? "") ?? "the types are \(types.joined(separator: ", "))")
    }
    reference.collection = targets.first { $0.givenName == reference.collection }?.collectionName
    if target.hasIDs { return reference }
    reference.mark = target.mark
    return target.numberColumn.flatMap {
      [nil, $0.lowercased()].contains(reference.column) ? reference : nil
    }
  }

  /// The proposal as people read it; with a value of each column where some are given.
  func proposal(samples: [String]? = nil) -> String {
    let width = columns.map(\.name.count).max() ?? 0
    var text =
      "collection \(Escaping.line(collectionName))\(isKnown ? ", which is there" : ""), \(counted(rowCount, "row"))\n"
    for (index, column) in columns.enumerated() {
      text += "  \(Escaping.line(column.name.padded(to: width)))  \(Escaping.line(column.words))"
      if let changes = column.changes { text += "; \(changes)" }
      if let samples, !samples[index].isEmpty { text += "; for instance \(Escaping.line(samples[index]))" }
      text += "\n"
    }
    if hasIDs { text += "  the records keep their ids\n" }
    if !dropped.isEmpty { text += "  left out: \(Escaping.line(dropped.joined(separator: ", ")))\n" }
    return text
  }

  /// The first value of each column, as it is printed; nothing where it has none, or is a secret by its name.
  ///
  /// - Throws: Where a value does not fit.
  func samples() throws -> [String] {
    var samples: [String?] = columns.map { $0.isProposedSecret ? "" : nil }
    try forEachRow { _, _, values in
      for (index, value) in values.enumerated() where samples[index] == nil && value != .missing {
        samples[index] = value == .text("") ? "\"\"" : SourceColumn.short(value.shown)
      }
    }
    return samples.map { $0 ?? "" }
  }

  /// What makes the collection; nil where it is there.
  var description: (name: String, fields: [FieldDescription])? {
    isKnown ? nil : (collectionName, columns.map(\.fieldDescription))
  }

  /// What is said when all rows were compared with their records; `name` is said of the collection.
  func outcome(_ count: Int, _ name: String) -> String {
    let changes = columns.compactMap { column in
      column.changes.map { "  \(Escaping.line(column.name)): \($0)\n" }
    }
    return "compared   \(counted(count, "row")) and as many records\(name): "
      + (changes.isEmpty ? "all the same\n" : "the same, but for\n\(changes.joined())")
      + (dropped.isEmpty ? "" : "left out   \(Escaping.line(dropped.joined(separator: ", ")))\n")
  }
}

/// Records on their way into a store, in transactions of limited size.
struct RecordBatch {
  typealias Record = (
    collection: DynamicCollection, id: RecordID, values: [String: DynamicValue], isUpdate: Bool
  )

  private(set) var records: [Record] = []
  private(set) var ids: Set<RecordID> = []
  private var byteCount = 0

  /// A transaction holds 64 MiB at most, so a batch ends before that too.
  func isFull(_ count: Int) -> Bool { records.count >= count || byteCount >= 16 << 20 }

  /// Takes a record's values; with `isUpdate` those of a record that is there, whose other fields stay.
  mutating func add(
    _ id: RecordID, _ values: [String: DynamicValue], to collection: DynamicCollection, byteCount: Int,
    isUpdate: Bool
  ) {
    records.append((collection, id, values, isUpdate))
    ids.insert(id)
    self.byteCount += byteCount
  }

  /// Writes the records, and is empty.
  ///
  /// - Returns: How many they were.
  @discardableResult
  mutating func commit(to store: Store, _ durability: Durability) throws -> Int {
    let records = records
    try store.write(durability) { tx in
      for (collection, id, values, isUpdate) in records {
        if isUpdate {
          try tx.update(in: collection, id, values)
        } else {
          try tx.put(in: collection, id, values)
        }
      }
    }
    self = RecordBatch()
    return records.count
  }
}

extension SourceTable {
  /// Writes the rows that have no record yet, or another one that they replace. What was interrupted goes on when it is run again.
  ///
  /// - Parameters:
  ///   - store: The store that it goes into.
  ///   - count: How many rows have a record; grows with each commit.
  ///   - progress: Told how many rows of how many are done.
  /// - Throws: What stood in the way of reading or writing.
  func write(into store: Store, _ count: inout Int, _ progress: (Int, Int) -> Bool) throws {
    let collection = try store.collection(given: collectionName)
    let names = fieldNames
    let knownCount = count
    var batch = RecordBatch()
    try forEachRow { _, id, values in
      let entry = knownCount == 0 ? nil : try collection.get(id)
      if try entry.map({ try replaces && firstDifference($0, values) != nil }) ?? true {
        let record = Dictionary(zip(names, values)) { first, _ in first }
        let byteCount = values.reduce(0) { $0 + $1.roughByteCount }
        batch.add(id, record, to: collection, byteCount: byteCount, isUpdate: entry != nil)
        if batch.isFull(1000) { count += try batch.commit(to: store, .flushed) }
      }
      _ = progress(min(count + batch.records.count, rowCount), rowCount)
    }
    count += try batch.commit(to: store, .flushed)
  }

  /// Reads the table again, and compares each row with its record; and sees that there is no record of a row
  /// that is gone.
  ///
  /// - Parameters:
  ///   - store: The store that it goes into.
  ///   - isBefore: Whether nothing was written yet: then rows may have no record.
  /// - Returns: How many records there are.
  /// - Throws: The first difference, with its row; what stood in the way of reading.
  func compare(with store: Store, isBefore: Bool = false) throws -> Int {
    // A new one is made only when all that is to go into it fits.
    let collection = store.collections.first { $0.name == collectionName }
    let others = hasIDs && isBefore ? store.collections.filter { $0.name != collectionName } : []
    let outcome = isBefore ? "; nothing was imported" : ""
    let choices =
      "where the row is right, remove that and import again; otherwise take the table --into another collection"
    var left = try collection.map { try hasIDs ? [] : ids(in: $0) } ?? []
    var (seen, count) = (Set<RecordID>(), 0)
    try forEachRow { row, id, values in
      if hasIDs, !seen.insert(id).inserted {
        throw ToolError(.failed, "the id of row \(row) is that of a row before it\(outcome)")
      }
      guard let entry = try collection?.get(id) else {
        guard isBefore else {
          throw ToolError(.failed, "the record of row \(row) is gone already", hint: "import again")
        }
        guard let other = try others.first(where: { try $0.get(id) != nil }) else { return }
        throw ToolError(.failed, "the id of row \(row) is that of a record of '\(other.name)'\(outcome)")
      }
      left.remove(id)
      count += 1
      guard !(isBefore && replaces), let name = try firstDifference(entry, values) else { return }
      throw ToolError(
        .failed,
        "'\(name)' of row \(row) differs from the record that \(hasIDs ? "is there" : "was imported before")\(outcome)",
        hint: hasIDs
          ? "with --replace, rows take the place of the records that have their ids"
          : "'notelog get STORE \(id.shown)' shows the record: " + choices)
    }
    if let id = left.min() {
      let row = Self.row(of: id, mark) ?? 0
      throw ToolError(
        .failed,
        "row \(row) was imported before, and is in the table no more\(outcome)",
        hint:
          "'notelog get STORE \(id.shown)' shows its record: where that is to go too, remove it and import again; otherwise take the table --into another collection"
      )
    }
    return count
  }

  private func ids(in collection: DynamicCollection) throws -> Set<RecordID> {
    var ids: Set<RecordID> = []
    try collection.query().forEach { entry in
      if Interrupt.isRequested { throw ToolError.interrupted }
      if Self.row(of: entry.id, mark) != nil { ids.insert(entry.id) }
      return true
    }
    return ids
  }

  private func firstDifference(_ entry: DynamicEntry, _ values: [DynamicValue]) throws -> String? {
    let present = Set(entry.fields.map(\.name))
    return try zip(columns, values).first { column, value in
      let stored = present.contains(column.name) ? try entry.value(column.name) : .missing
      // What is missing in a field that is not optional is exported as an empty text.
      if stored == .missing, !column.isOptional, value == .text("") { return false }
      return !stored.isIdentical(to: value)
    }?.0.name
  }
}

extension DynamicValue {
  var roughByteCount: Int {
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
