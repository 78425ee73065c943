// Refusing what would give two records the same values where a schema says that no two share them.

import NotelogBase
import NotelogCrypto
import NotelogFormat

/// Looks a transaction's records up among those that there are. Whoever asks has the turn: nobody else
/// decides meanwhile what is written.
struct UniqueCheck: ~Copyable {
  private let store: Store
  private let plan: CollectionPlan
  /// The records that are written or deleted: what they had before counts no more.
  private let written: Set<ID16>
  private let moment: Snapshot
  private var buffer = ReadBuffer()

  /// Checks what a transaction writes.
  ///
  /// - Throws: `conflict`, with the record that has the values; others as they are met.
  static func run(_ transaction: borrowing Transaction) throws {
    for writing in transaction.collections.values {
      try run(transaction.store, transaction.batch, writing.plan)
    }
  }

  /// Checks what a batch writes into a collection.
  static func run(_ store: Store, _ batch: borrowing Batch, _ plan: CollectionPlan) throws {
    let written = plan.unique.isEmpty ? [] : batch.versions(in: plan.number)
    if written.isEmpty { return }
    var check = UniqueCheck(store: store, plan: plan, written: written, moment: store.journal.snapshot())
    for rule in plan.unique { try check.run(rule, batch) }
  }

  private mutating func run(_ rule: UniqueRule, _ batch: borrowing Batch) throws {
    let index = try store.index(rule.order, at: moment)
    var taken: [[UInt8]: RecordID] = [:]
    // Digests are under the keys of the values: each value is looked for under all keys that the field's may
    // be under.
    let source = rule.source.flatMap { plan.index(of: $0) }
    let others = source.map { plan.fields[$0].keys.count > 1 } ?? false
    try batch.forEachRecord(in: plan.number) { (id, body) throws in
      guard let values = try rule.values(in: body) else { return }
      var holder = taken.updateValue(RecordID(id), forKey: values)
      if holder == nil {
        let entry = try OrderedEntry(keyOf: rule.order, RecordID(id), body)
        holder = try self.holder(of: values, tyingWith: entry, index, rule)
      }
      if let holder { throw conflict(RecordID(id), holder, rule) }
    }
    guard others, let source else { return }
    try batch.forEachRecord(in: plan.number) { (id, body) throws in
      for values in try valuesUnderOtherKeys(RecordID(id), body, source, rule) {
        var holder = taken[values].flatMap { $0.bytes == id ? nil : $0 }
        if holder == nil {
          // As it stands in a record: a presence byte, and the digest.
          let stored = [1] + values.dropFirst(4)
          let entry = OrderedEntry(key: stored.rawSpan, RecordID(id))
          holder = try self.holder(of: values, tyingWith: entry, index, rule)
        }
        if let holder { throw conflict(RecordID(id), holder, rule) }
      }
    }
  }

  private func conflict(_ id: RecordID, _ holder: RecordID, _ rule: UniqueRule) -> NotelogError {
    let names = rule.names.joined(separator: " and ")
    var error = NotelogError(
      .conflict,
      "record \(id) of \(plan.schema.name) has the same \(names) as record \(holder), and no two may")
    error.sentence = "There is another one with the same \(names)."
    error.suggestion = "Change it, and try again."
    return error.of(holder)
  }

  /// What a sealed value that is new to its record has for digests under the other keys that values of its
  /// field are under, as those of a rotation that is under way.
  private mutating func valuesUnderOtherKeys(
    _ id: RecordID, _ body: RawSpan, _ source: Int, _ rule: UniqueRule
  ) throws -> [[UInt8]] {
    guard let values = try rule.values(in: body),
      let entry = try RecordBody(checked: body).find(plan.fields[source].number)
    else { return [] }
    // What it had before was looked for then, and may be under a locked key.
    if try hasValues(id, values, rule) { return [] }
    var all: [[UInt8]] = []
    try store.opener.open(entry, in: body, of: id, source, plan) { value throws(NotelogError) in
      for reference in plan.fields[source].keys where reference != entry.keyReference {
        let key: SealingKey
        do throws(CryptoError) { key = try store.vault.sealingKey(KeyReference(rawValue: reference)) } catch {
          // Nothing under a key that is gone can be read: nobody has what it may be.
          guard case .locked = error else { continue }
          throw NotelogError(crypto: error, plan.place(source, id))
        }
        let digest = try plan.storedDigest(value, source, under: key).dropFirst()
        var values: [UInt8] = []
        values.append(littleEndian: UInt32(digest.count))
        all.append(values + digest)
      }
    }
    return all
  }

  /// The record that has some values, among those whose keys tie with one; among all, where there is no index
  /// or no key.
  private mutating func holder(
    of values: [UInt8], tyingWith entry: OrderedEntry?, _ index: OrderedIndex?, _ rule: UniqueRule
  ) throws -> RecordID? {
    guard let index, let entry else { return try scan(for: values, rule) }
    var holder: RecordID?
    try index.forEach(
      in: IndexBounds(from: entry.key, to: entry.key), .ascending,
      substitute: store.substitute(for: rule.order, at: moment)
    ) { candidate in
      if written.contains(candidate.id.bytes) { return true }
      if try hasValues(candidate.id, values, rule) { holder = candidate.id }
      return holder == nil
    }
    return holder
  }

  private mutating func hasValues(_ id: RecordID, _ values: [UInt8], _ rule: UniqueRule) throws -> Bool {
    do throws(NotelogError) {
      let found = try moment.read(id.bytes, into: &buffer)
      guard let found, found.collection == plan.number else { return false }
      _ = try RecordBody(checking: buffer.body)
      return try rule.values(in: buffer.body) == values
    } catch {
      guard error.code == .damaged else { throw error }
      // What can't be read, nobody has.
      store.journal.noteDamage(error, of: id)
      return false
    }
  }

  /// The same where some record lacks the field, and there is no index: all of them are looked at.
  private func scan(for values: [UInt8], _ rule: UniqueRule) throws -> RecordID? {
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
