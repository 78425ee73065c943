// Refusing what would give two records the same values where a schema says that no two share them.

import NotelogBase
import NotelogCrypto

extension Transaction {
  /// Checks what has been written so far against the rules of ``Unique``, as the commit will in the end.
  ///
  /// ```swift
  /// try tx.put(account)
  /// do { try tx.checkUnique() } catch let error as NotelogError where error.code == .notUnique {
  ///   try tx.update(Account.self, account.id) { $0.set(\.user, free) }
  /// }
  /// ```
  ///
  /// What was written stays so: a closure that goes on after an error changes it or deletes it.
  ///
  /// - Throws: `notUnique`, with the record that has the values; others as they are met.
  /// - Complexity: That of the check at the commit: all records written so far are looked up.
  public func checkUnique() throws { try UniqueCheck.run(self) }
}

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
  /// - Throws: `notUnique`, with the record that has the values; others as they are met.
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
    // Of a field that became optional, keys of before don't say that there is a value.
    let isIndexed = rule.order.fields.allSatisfy { field in
      plan.index(of: field).flatMap { plan.indexName(of: $0) } != nil
    }
    let index = isIndexed ? try store.index(rule.order, at: moment) : nil
    var taken: [[UInt8]: RecordID] = [:]
    try batch.forEachRecord(in: plan.number) { (id, body) throws in
      guard let values = try rule.values(in: body) else { return }
      if let holder = taken.updateValue(RecordID(id), forKey: values) {
        throw notUnique(RecordID(id), holder, rule)
      }
      try check(RecordID(id), body, rule, index, taken)
    }
    // Digests are under the keys of the values: each value is looked for under all keys that the field's may
    // be under.
    let digests = plan.digests.filter { rule.order.fields.contains(plan.fields[$0.digest].number) }
    guard digests.contains(where: { plan.fields[$0.source].keys.count > 1 }) else { return }
    try batch.forEachRecord(in: plan.number) { (id, body) throws in
      for other in try bodiesUnderOtherKeys(RecordID(id), body, digests, rule) {
        try check(RecordID(id), other.rawSpan, rule, index, taken)
      }
    }
  }

  /// Refuses a record if another one has its values, among those that are written and those that there are.
  private mutating func check(
    _ id: RecordID, _ body: RawSpan, _ rule: UniqueRule, _ index: OrderedIndex?, _ taken: [[UInt8]: RecordID]
  ) throws {
    guard let values = try rule.values(in: body) else { return }
    var holder = taken[values].flatMap { $0 == id ? nil : $0 }
    if holder == nil {
      holder = try self.holder(of: values, tyingWith: OrderedEntry(keyOf: rule.order, id, body), index, rule)
    }
    if let holder { throw notUnique(id, holder, rule) }
  }

  private func notUnique(_ id: RecordID, _ holder: RecordID, _ rule: UniqueRule) -> NotelogError {
    let names = rule.names.joined(separator: " and ")
    var error = NotelogError(
      .notUnique,
      "record \(id) of \(plan.schema.name) has the same \(names) as record \(holder), and no two may")
    error.sentence = "There is another one with the same \(names)."
    error.suggestion = "Change it, and try again."
    return error.of(holder)
  }

  /// A record whose values are new to it as it would be with their digests under the other keys that values
  /// of the fields are under, as those of a rotation that is under way.
  private mutating func bodiesUnderOtherKeys(
    _ id: RecordID, _ body: RawSpan, _ digests: [(source: Int, digest: Int)], _ rule: UniqueRule
  ) throws -> [[UInt8]] {
    // What it had before was looked for then, and may be under a locked key.
    guard let values = try rule.values(in: body), try !hasValues(id, values, rule) else { return [] }
    var bodies = [body.array()]
    for (source, digest) in digests {
      guard let entry = try RecordBody(checked: body).find(plan.fields[source].number),
        let range = try RecordBody(checked: body).find(plan.fields[digest].number)?.range
      else { return [] }
      let others = try digestsUnderOtherKeys(id, body, source, entry).filter { $0.count == range.count }
      bodies += bodies.flatMap { body in
        others.map { digest in body[..<range.lowerBound] + digest + body[range.upperBound...] }
      }
    }
    return Array(bodies.dropFirst())
  }

  private func digestsUnderOtherKeys(
    _ id: RecordID, _ body: RawSpan, _ source: Int, _ entry: FieldEntry
  ) throws -> [[UInt8]] {
    var digests: [[UInt8]] = []
    try store.opener.open(entry, in: body, of: id, source, plan) { value throws(NotelogError) in
      for reference in plan.fields[source].keys where reference != entry.keyReference {
        let key: SealingKey
        do throws(CryptoError) { key = try store.vault.sealingKey(KeyReference(rawValue: reference)) } catch {
          // Nothing under a key that is gone can be read: nobody has what it may be.
          guard case .locked = error else { continue }
          throw NotelogError(crypto: error, plan.place(source, id))
        }
        digests.append(try plan.storedDigest(value, source, under: key))
      }
    }
    return digests
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
