// What records refer to is there: held when a transaction is committed, with the turn in hand (FORMAT.md
// 21.3).

import NotelogBase
import NotelogFormat

/// A field that refers to records.
struct ReferringField: Sendable {
  let plan: CollectionPlan
  let index: Int
  /// The number of the collection that it refers to; nil where there is none.
  let target: UInt16?

  private var field: StoredField { plan.fields[index] }
  var rule: DeleteRule { field.deleteRule }

  /// The record that a record refers to; nil where it refers to none.
  func value(in body: RawSpan) throws(NotelogError) -> ID16? {
    guard let entry = try RecordBody(checked: body).find(field.number), !entry.flags.contains(.sealed),
      entry.range.count >= 16, entry.range.count == 16 || body.byte(at: entry.range.lowerBound) == 1
    else { return nil }
    return ID16(body.extracting(entry.range.upperBound - 16..<entry.range.upperBound))
  }

  /// A question for the records that refer to some.
  func question(for ids: Set<ID16>) -> Question {
    let keys = KeySet(
      ids.map(\.array), includesMissing: false, of: .uuid, "\(ids.count) ids", decides: true)
    var question = Question()
    question.conditions = [.field(FieldCondition(field: fieldReference(named: field.name), keys: keys))]
    return question
  }

  func broken(_ id: RecordID, _ words: String, _ sentence: String? = nil) -> NotelogError {
    var error = NotelogError(.brokenReference, "\(plan.place(index, id)) refers to a record that \(words)")
    error.sentence = sentence
    return error.of(id)
  }
}

extension Store {
  /// The fields that refer to records: those of some collections, or all. What a transaction stores counts in
  /// the place of what is stored.
  func referringFields(
    of plans: [CollectionPlan]? = nil, pending: [UInt16: SchemaRegistry.Stored] = [:]
  ) -> [ReferringField] {
    registry.withLock { registry in
      let referring = registry.referring.filter { pending[$0.number] == nil } + pending.values.map(\.plan)
      return (plans ?? referring).flatMap { plan in
        plan.references.map { index in
          let name = plan.fields[index].target ?? ""
          let new = pending.values.first { [$0.plan.schema.name, $0.plan.schema.firstName].contains(name) }
          return ReferringField(
            plan: plan, index: index, target: (new ?? registry.find(name))?.plan.number)
        }
      }
    }
  }

  /// Refuses records of a batch that refer to none; what they referred to before they may keep.
  func checkReferences(_ batch: borrowing Batch, _ fields: [ReferringField]) throws {
    if fields.isEmpty { return }
    let (written, moment) = (batch.lastVersions, journal.snapshot())
    var buffer = ReadBuffer()
    for field in fields {
      var known: Set<ID16> = []
      try batch.forEachRecord(in: field.plan.number) { (id, body) throws in
        guard let target = try field.value(in: body), !known.contains(target) else { return }
        if let last = written[target] {
          if last.kind == .record, last.collection == field.target { return }
        } else if try isRecord(target, of: field.target, at: moment, &buffer) {
          known.insert(target)
          return
        }
        guard try hadReference(id, to: target, field, at: moment, &buffer) else {
          throw field.broken(RecordID(id), "is not there", "What it belongs to is not there.")
        }
      }
    }
  }

  /// Whether a record referred to another before. What can't be read did not.
  private func hadReference(
    _ id: ID16, to target: ID16, _ field: ReferringField, at moment: Snapshot, _ buffer: inout ReadBuffer
  ) throws(NotelogError) -> Bool {
    do throws(NotelogError) {
      guard try moment.read(id, into: &buffer)?.collection == field.plan.number else { return false }
      _ = try RecordBody(checking: buffer.body)
      return try field.value(in: buffer.body) == target
    } catch {
      guard error.code == .damaged || error.code == .unsupportedVersion else { throw error }
      return false
    }
  }

  /// Whether there is a record; one that can't be read is there.
  private func isRecord(
    _ id: ID16, of collection: UInt16?, at moment: Snapshot, _ buffer: inout ReadBuffer
  ) throws(NotelogError) -> Bool {
    do throws(NotelogError) {
      let found = try moment.read(id, into: &buffer)
      return found != nil && found?.collection == collection
    } catch {
      guard error.code == .damaged else { throw error }
      return true
    }
  }
}

extension Transaction {
  /// Does what is to become of the records that refer to those which are deleted, and refuses what would leave
  /// one that refers to none.
  mutating func holdReferences() throws {
    // Nearly all stores have none: nothing is allocated then.
    if schemas.isEmpty, store.registry.withLock({ $0.referring.isEmpty }) { return }
    let fields = store.referringFields(pending: schemas)
    if fields.isEmpty { return }
    var seen: Set<ID16> = []
    var refusing: [(field: ReferringField, deleted: Set<ID16>)] = []
    while true {
      let new = batch.lastVersions.filter { $0.value.kind == .tombstone && seen.insert($0.key).inserted }
      if new.isEmpty { break }
      for field in fields {
        let deleted = Set(new.filter { $0.value.collection == field.target }.keys)
        if deleted.isEmpty { continue }
        guard batch.byteCount < Limits.transactionBytes else {
          throw NotelogError(
            .limitExceeded, "what refers to the records that are deleted is more than one transaction takes")
        }
        switch field.rule {
        case .refuse: refusing.append((field, deleted))
        case .nullify:
          for id in try ids(field, referringTo: deleted) {
            prepare(field.plan)
            let stored = try existing(id, field.plan, if: .always)
            try merge(id, over: stored, field.plan, changed: [field.index]) { _, scratch in
              try DynamicValue.missing.store(as: .uuid, isOptional: true, into: &scratch)
            }
          }
        case .cascade:
          for id in try ids(field, referringTo: deleted) {
            batch.delete(id.bytes, collection: field.plan.number)
          }
        }
      }
    }
    for (field, deleted) in refusing {
      if let id = try ids(field, referringTo: deleted).first { throw field.broken(id, "is to be deleted") }
    }
    try store.checkReferences(batch, fields)
  }

  /// The records that refer to some, as this transaction sees them.
  private func ids(_ field: ReferringField, referringTo ids: Set<ID16>) throws -> [RecordID] {
    let (plan, opener) = (field.plan, store.opener)
    let own = try ownWrites(in: plan.number)
    return try Search(field.question(for: ids), store, store.journal.snapshot(), own) {
      Scanner(plan, opener)
    }.ids()
  }
}
