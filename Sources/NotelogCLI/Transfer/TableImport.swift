// Taking a table over: a schema is proposed, rows become records, and both sides are compared.
import Foundation
import Notelog

/// What a table becomes.
struct TableProposal {
  let collection: String
  let fields: [FieldDescription]

  /// What a table becomes, where the columns of some names are sealed.
  init(_ table: any SourceTable, as name: String?, sealing sealed: [String]) throws(ToolError) {
    let names = table.columns.map(\.name)
    for name in sealed where !names.contains(name) {
      let near = Suggestion.nearest(to: name, among: names).map { "did you mean '\($0)'?" }
      throw ToolError(
        .failed, "there is no column '\(name)'", hint: near ?? "there are \(names.joined(separator: ", "))")
    }
    collection = name ?? table.name
    fields = table.columns.map { column in
      sealed.contains(column.name)
        ? .sealed(column.name, column.type, optional: column.isOptional)
        : .plain(column.name, column.type, optional: column.isOptional)
    }
  }

  /// As people read it, and as `init --schema` takes it.
  func text(_ table: any SourceTable, _ console: Console) -> String {
    let width = fields.map(\.name.count).max() ?? 0
    let lines = fields.map { field in
      let words = [field.type.name, field.isSealed ? "sealed" : "plain", field.isOptional ? "optional" : nil]
      return "  \(console.line(field.name))\(String(repeating: " ", count: width - field.name.count))  "
        + words.compactMap { $0 }.joined(separator: ", ") + "\n"
    }
    return "collection \(console.line(collection)), \(table.rowCount) rows\n" + lines.joined()
  }

  /// The collection, made where it is not there yet.
  func collection(in store: Store) throws -> DynamicCollection {
    guard let known = store.collections.first(where: { $0.name == collection }) else {
      return try store.createCollection(collection, fields: fields)
    }
    let types = Dictionary(known.fields.filter { !$0.isRetired }.map { ($0.name, $0) }) { first, _ in first }
    for field in fields {
      guard let there = types[field.name], there.type == field.type, there.isSealed == field.isSealed,
        there.isOptional || !field.isOptional
      else {
        throw ToolError(
          .failed, "the collection '\(collection)' has no such field '\(field.name)'",
          hint: "--into another collection, or rename the column")
      }
    }
    return known
  }
}

/// Rows on their way into a store.
struct TableImport {
  private static let batchCount = 1000
  private static let batchBytes = 16 << 20

  let table: any SourceTable
  let store: Store
  let collection: DynamicCollection
  /// How many records were written, and how many were there.
  private(set) var newCount = 0
  private(set) var knownCount = 0
  private var batch: [(id: RecordID, values: [String: DynamicValue])] = []
  private var byteCount = 0
  private var rows = Digest()
  private let idPrefix: UInt64

  init(_ table: any SourceTable, into collection: DynamicCollection, of store: Store) {
    (self.table, self.collection, self.store) = (table, collection, store)
    idPrefix = table.idPrefix(in: collection.name)
  }

  /// Writes what is not there yet. What was interrupted goes on when it is run again.
  mutating func run(_ progress: Progress) throws(ToolError) {
    let names = table.columns.map(\.name)
    // The closure changes a copy: the table it is called by is a part of this.
    var state = self
    try table.forEachRow { row, values throws(ToolError) in
      let id = RecordID(high: state.idPrefix, low: UInt64(bitPattern: row))
      state.rows.add(id, values)
      if try asking({ try state.collection.get(id) }) != nil {
        state.knownCount += 1
      } else {
        state.batch.append((id, Dictionary(zip(names, values)) { first, _ in first }))
        state.byteCount += values.reduce(0) { $0 + $1.roughByteCount }
        if state.batch.count >= Self.batchCount || state.byteCount >= Self.batchBytes { try state.commit() }
      }
      _ = progress.update(state.newCount + state.knownCount, of: state.table.rowCount)
    }
    try state.commit()
    self = state
  }

  private mutating func commit() throws(ToolError) {
    let (batch, collection) = (batch, collection)
    try asking {
      try store.write(.flushed) { tx in
        for record in batch { try tx.put(in: collection, record.id, record.values) }
      }
    }
    newCount += batch.count
    self.batch.removeAll(keepingCapacity: true)
    byteCount = 0
  }

  /// Reads all of the table's records back, and compares them with the rows.
  func compare() throws(ToolError) -> (isEqual: Bool, rows: Int, records: Int) {
    let names = table.columns.map(\.name)
    var records = Digest()
    let prefix = idPrefix
    try asking {
      try collection.forEach { entry in
        guard entry.id.high == prefix else { return true }
        let present = Set(entry.fields.map(\.name))
        records.add(entry.id, try names.map { present.contains($0) ? try entry.value($0) : .missing })
        return !Interrupt.isRequested
      } damaged: { _, error in
        throw error
      }
    }
    if Interrupt.isRequested { throw .interrupted }
    return (records == rows, rows.count, records.count)
  }
}

/// A sum over rows in whatever order: equal rows have equal sums, and others hardly ever.
struct Digest: Equatable {
  private(set) var count = 0
  private var sum: UInt64 = 0

  mutating func add(_ id: RecordID, _ values: [DynamicValue]) {
    var hasher = Hasher()
    hasher.combine(id)
    hasher.combine(values)
    sum &+= UInt64(bitPattern: Int64(hasher.finalize()))
    count += 1
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
}
