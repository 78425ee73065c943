// Refusing what would give two records the same values where a schema says that no two share them.

import NotelogBase
import NotelogJournal

/// Looks a transaction's records up among those that there are. Whoever asks has the turn: nobody else decides meanwhile what is written.
struct UniqueCheck: ~Copyable {
  private let store: Store
  private let moment: Snapshot
  private var buffer = ReadBuffer()

  private init(_ store: Store) {
    self.store = store
    moment = store.journal.snapshot()
  }

  /// Checks what a transaction writes.
  ///
  /// - Throws: `conflict`, with the record that has the values; others as they are met.
  static func run(_ transaction: borrowing Transaction) throws {
    for writing in transaction.collections.values {
      try run(transaction.store, transaction.turn.batch, writing.plan)
    }
  }

  /// Checks what a batch writes into a collection.
  static func run(_ store: Store, _ batch: borrowing Batch, _ plan: CollectionPlan) throws {
    let written = plan.unique.isEmpty ? [] : batch.versions(in: plan.number)
    if written.isEmpty { return }
    var check = UniqueCheck(store)
    for rule in plan.unique { try check.run(rule, plan, batch, written) }
  }

  private mutating func run(
    _ rule: UniqueRule, _ plan: CollectionPlan, _ batch: borrowing Batch, _ written: Set<ID16>
  ) throws {
    let index = try store.index(rule.order, at: moment)
    var taken: [[UInt8]: RecordID] = [:]
    try batch.forEachRecord(in: plan.number) { (id, body) throws in
      guard let values = try rule.values(in: body) else { return }
      var holder = taken.updateValue(RecordID(id), forKey: values)
      if holder == nil, let index, let entry = try OrderedEntry(keyOf: rule.order, RecordID(id), body) {
        holder = try self.holder(of: values, tyingWith: entry, index, rule, plan, besides: written)
      } else if holder == nil {
        holder = try scan(for: values, rule, plan, besides: written)
      }
      guard let holder else { return }
      let names = rule.names.joined(separator: " and ")
      var error = NotelogError(
        .conflict,
        "record \(RecordID(id)) of \(plan.schema.name) has the same \(names) as record \(holder), and no two may"
      )
      error.sentence = "There is another one with the same \(names)."
      throw error
    }
  }

  /// The record that has some values, among those whose keys tie with one.
  private mutating func holder(
    of values: [UInt8], tyingWith entry: OrderedEntry, _ index: OrderedIndex, _ rule: UniqueRule,
    _ plan: CollectionPlan, besides written: Set<ID16>
  ) throws -> RecordID? {
    var holder: RecordID?
    let key = entry.key(byteCount: OrderedEntry.keyByteCount)
    try index.forEach(
      in: IndexBounds(from: key, to: key, includingUpper: true), .ascending,
      substitute: store.substitute(for: rule.order, at: moment)
    ) { candidate in
      if written.contains(candidate.id.bytes) { return true }
      if try hasValues(candidate.id, values, rule, plan) { holder = candidate.id }
      return holder == nil
    }
    return holder
  }

  private mutating func hasValues(
    _ id: RecordID, _ values: [UInt8], _ rule: UniqueRule, _ plan: CollectionPlan
  ) throws -> Bool {
    do throws(NotelogError) {
      let found = try journaling(at: store.journal.path, moment.read(id.bytes, into: &buffer))
      guard let found, found.collection == plan.number else { return false }
      _ = try RecordBody(checking: buffer.body)
      return try rule.values(in: buffer.body) == values
    } catch {
      guard error.code == .damaged else { throw error }
      // What can't be read, nobody has.
      store.journal.noteDamage(of: id.bytes)
      return false
    }
  }

  /// The same where some record lacks the field, and there is no index: all of them are looked at.
  private func scan(
    for values: [UInt8], _ rule: UniqueRule, _ plan: CollectionPlan, besides written: Set<ID16>
  ) throws -> RecordID? {
    var holder: RecordID?
    try moment.scan(plan.number, damaged: { _ in }) { record in
      if !written.contains(record.id.bytes), try rule.values(in: record.body.bytes) == values {
        holder = record.id
      }
      return holder == nil
    }
    return holder
  }
}
