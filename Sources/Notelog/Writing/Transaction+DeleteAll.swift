// Deleting all records for which something holds.

import NotelogBase

extension Transaction {
  /// Deletes all records for which a condition holds, as this transaction sees them: its own writes among them.
  ///
  /// ```swift
  /// let count = try store.write { tx in try tx.deleteAll(Note.self, where: .field(\.folder, is: 3)) }
  /// ```
  ///
  /// Records that can't be read stay: whether the condition holds for them, nobody knows.
  ///
  /// - Parameters:
  ///   - type: The record type.
  ///   - condition: The condition. Indexes lead to the records, as in a query.
  ///   - onDamage: Told of each record that can't be read; what it throws ends the transaction. ``Store/damage`` knows of them afterwards, too.
  /// - Returns: How many were deleted.
  /// - Throws: `locked` where the condition needs a locked field; what a query throws. The commit throws `limitExceeded` where more is deleted than one
  ///   transaction may hold, a million records and more.
  @discardableResult
  public mutating func deleteAll<R: Record>(
    _ type: R.Type, where condition: QueryCondition<R>,
    onDamage: (@Sendable (Finding) throws -> Void)? = nil
  ) throws -> Int {
    let plan = try plan(for: type)
    var query = store.query(type).where(condition)
    if let onDamage { query = query.onDamage(onDamage) }
    let written = turn.batch.versions(in: plan.collection.number)
    var ids = try query.ids().filter { !written.contains($0.bytes) }
    for id in written.map({ RecordID($0) }) {
      guard let stored = try read(id, plan.collection) else { continue }
      let reader = RecordReader(plan: plan, opener: store.opener.reading(stored))
      let record = StoredRecord(
        id: id.bytes, collection: stored.collection, revision: stored.revision, isPossiblyStale: false)
      let holds = try condition.bound(to: RecordScanner(reader))
      let body = stored.body
      if try holds(ScannedRecord(record, RecordBody(checked: body.rawSpan))) { ids.append(id) }
    }
    for id in ids { turn.batch.delete(id.bytes, collection: plan.collection.number) }
    return ids.count
  }
}
