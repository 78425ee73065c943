// Records in a transaction: put, get, update, delete.

import NotelogBase
import NotelogFormat
import NotelogCrypto

extension Transaction {
  /// Writes a record, in the place of an earlier version if there is one.
  ///
  /// Fields that the type doesn't declare, because a newer version of the app or another type added them, are carried over as they are. So are
  /// sealed fields under a locked key, unopened, where the record has nil or the initial value in them: with its key unlocked that value
  /// would be written. To change single fields, ``update(_:_:if:_:)`` says which.
  ///
  /// - Parameters:
  ///   - record: The record. All its sealed fields are sealed anew.
  ///   - condition: What must be so.
  /// - Returns: The record's id.
  /// - Throws: `locked`, `conflict`, `limitExceeded`, `schemaConflict`, and what a value's encoding throws. Where there is a record
  ///   of another type under the id, the transaction's commit throws `conflict`, and nothing of it is written.
  @discardableResult
  public mutating func put<R: Record>(_ record: R, if condition: Condition = .always) throws
    -> RecordID
  {
    let plan = try plan(for: R.self)
    try check(condition, record.id, plan.collection)
    if plan.hasRetired { try plan.refuseRetired(record) }
    if plan.leavesFields || plan.collection.hasChosenKeys && store.hasLockedKey(plan.collection) {
      try putOver(record, plan)
      return record.id
    }
    do throws(NotelogError) {
      try plan.gather(record, into: &encoder)
      try emit(record.id, plan.collection)
    } catch {
      guard error.code == .locked else { throw error }
      try putOver(record, plan)
    }
    return record.id
  }

  /// Writes a record over its last version: what the type doesn't declare is carried over, and what is under a locked key and was left alone.
  private mutating func putOver<R: Record>(_ record: R, _ plan: RecordPlan<R>) throws(NotelogError) {
    let stored = try read(record.id, plan.collection)
    var written: [Int: Int] = [:]
    for (number, slot) in plan.slots.enumerated()
    where try !store.isLeft(slot, of: record, over: stored, plan) {
      written[slot.index] = number
    }
    try merge(record.id, over: stored, plan.collection, changed: Set(written.keys)) { index, scratch in
      guard let number = written[index] else { return }
      try plan.slots[number].definition.access.encode(record, &scratch)
    }
  }

  /// The record with an id as this transaction sees it; nil where there is none.
  public mutating func get<R: Record>(_ type: R.Type, _ id: RecordID) throws -> Entry<R>? {
    let plan = try plan(for: type)
    guard let stored = try read(id, plan.collection) else { return nil }
    return Entry(stored: stored, reader: RecordReader(plan: plan, opener: store.opener.reading(stored)))
  }

  /// Changes fields of a record. What isn't set is carried over as it is, sealed values unopened: that needs no key.
  ///
  /// - Throws: `notFound`; `locked` where a field of a locked key is set; what `body` throws.
  public mutating func update<R: Record>(
    _ type: R.Type, _ id: RecordID, if condition: Condition = .always, _ body: (inout Draft<R>) throws -> Void
  ) throws {
    let plan = try plan(for: type)
    let stored = try existing(id, plan.collection, if: condition)
    var draft = draft(of: stored, plan)
    try body(&draft)
    try write(draft, over: stored, plan)
  }

  /// A record that is to be changed, before anything is.
  func draft<R: Record>(of stored: OwnedRecord, _ plan: RecordPlan<R>) -> Draft<R> {
    Draft(Entry(stored: stored, reader: RecordReader(plan: plan, opener: store.opener.reading(stored))))
  }

  /// Writes what was set in a draft.
  mutating func write<R: Record>(
    _ draft: Draft<R>, over stored: OwnedRecord, _ plan: RecordPlan<R>, dropping dropped: Set<Int> = []
  ) throws(NotelogError) {
    if let mistake = draft.mistake { throw mistake }
    let values = draft.values
    var changed: [Int: Int] = [:]
    for (slot, isSet) in draft.isSet.enumerated() where isSet { changed[plan.slots[slot].index] = slot }
    if plan.collection.hasChosenKeys { try addKeyFields(to: &changed, stored, plan) }
    var uploaded: [Int: SealedContent] = [:]
    for (slot, upload) in draft.uploads {
      let index = plan.slots[slot].index
      try plan.collection.checkKey(of: upload.content, index, stored.id)
      uploaded[index] = upload.content
      uploads.append(upload)
    }
    try merge(
      stored.id, over: stored, plan.collection, changed: Set(changed.keys), uploaded, dropping: dropped
    ) { index, scratch in
      guard let slot = changed[index] else { return }
      try plan.slots[slot].definition.access.encode(values, &scratch)
    }
  }

  /// Deletes a record.
  ///
  /// - Returns: Whether there was one.
  @discardableResult
  public mutating func delete<R: Record>(
    _ type: R.Type, _ id: RecordID, if condition: Condition = .always
  ) throws -> Bool {
    let plan = try plan(for: type)
    try check(condition, id, plan.collection)
    return try delete(id, plan.collection)
  }

  mutating func delete(_ id: RecordID, _ plan: CollectionPlan) throws(NotelogError) -> Bool {
    guard try read(id, plan) != nil else { return false }
    turn.batch.delete(id.bytes, collection: plan.schema.collection)
    return true
  }

  /// Writes a record's next version: changed fields anew, the others as they are, except those that are dropped. One that is not stored yet has no
  /// others.
  mutating func merge(
    _ id: RecordID, over stored: OwnedRecord?, _ plan: CollectionPlan, changed: Set<Int>,
    _ uploaded: [Int: SealedContent] = [:], dropping dropped: Set<Int> = [],
    encoding encode: (Int, inout FieldScratch) throws -> Void
  ) throws(NotelogError) {
    encoder.begin()
    func add(_ index: Int, to encoder: inout RecordEncoder) throws(NotelogError) {
      if let content = uploaded[index] { return encoder.add(content, index, of: plan) }
      try encoder.add(index, of: plan) { try encode(index, &$0) }
    }
    var new = changed.sorted()[...]
    for entry in try stored?.entries() ?? [] {
      while let index = new.first, plan.fields[index].field.number < entry.number {
        try add(index, to: &encoder)
        new.removeFirst()
      }
      let index = plan.index(of: entry.number)
      if let index, new.first == index {
        try add(index, to: &encoder)
        new.removeFirst()
      } else if !plan.isRetired(entry.number), !(index.map(dropped.contains) ?? false) {
        encoder.carry(entry, index: index)
      }
    }
    for index in new { try add(index, to: &encoder) }
    if let stored, plan.hasChosenKeys { return try emitUnderChosenKeys(stored, plan, changed: changed) }
    try emit(id, plan, carriedFrom: stored?.body ?? [])
  }

  /// A record that is to be changed.
  mutating func existing(
    _ id: RecordID, _ plan: CollectionPlan, if condition: Condition
  ) throws(NotelogError) -> OwnedRecord {
    try check(condition, id, plan)
    if let stored = try read(id, plan) { return stored }
    throw NotelogError(.notFound, "there is no record \(id) in \(plan.schema.name)").of(id)
  }

  mutating func read(_ id: RecordID, _ plan: CollectionPlan) throws(NotelogError) -> OwnedRecord? {
    let found = try turn.read(id.bytes, into: &buffer)
    guard var stored = try OwnedRecord(found, in: plan.number, buffer) else { return nil }
    // Revision 0 is the transaction's own, and so may chunks be.
    if stored.revision == 0 { stored.pending = try pendingChunks(of: stored) }
    return stored
  }

  private func pendingChunks(of stored: OwnedRecord) throws(NotelogError) -> PendingChunks? {
    var sealed: [ID16: [UInt8]] = [:]
    for entry in try stored.entries() where entry.flags.contains(.chunked) {
      let value = ValueReference.value(in: stored.body.rawSpan.extracting(entry.range))
      turn.batch.forEachChunk(of: value) { _, bytes in sealed[value, default: []] += bytes.array() }
    }
    return PendingChunks(sealed)
  }

  mutating func check(_ condition: Condition, _ id: RecordID, _ plan: CollectionPlan) throws(NotelogError) {
    switch condition {
    case .always: return
    case .absent:
      guard try read(id, plan) == nil else {
        throw NotelogError(.conflict, "there is a record \(id) in \(plan.schema.name) already").of(id)
      }
    case .revision(let revision):
      let stored = try read(id, plan)
      guard stored?.revision == revision else {
        let found = stored.map { "at revision \($0.revision)" } ?? "deleted"
        throw NotelogError(.conflict, "record \(id) is \(found), not at revision \(revision): read it again")
          .of(id)
      }
    }
  }

  /// Seals the gathered record into the batch.
  mutating func emit(
    _ id: RecordID, _ plan: CollectionPlan, carriedFrom old: [UInt8] = []
  ) throws(NotelogError) {
    guard !id.isReserved else {
      throw NotelogError(.invalidArgument, "id \(id) is one of those that the store keeps for itself")
    }
    guard var writing = collections[plan.schema.collection] else {
      throw NotelogError(.invalidArgument, "collection \(plan.schema.name) was not prepared")
    }
    let additionCount = additions.count
    do {
      try encoder.put(id, plan, carriedFrom: old, &writing.keys, &nonces, into: &turn.batch, &additions)
    } catch {
      // No index is to know a record that isn't written: the closure may go on.
      additions.removeLast(additions.count - additionCount)
      throw error
    }
    collections[plan.schema.collection] = writing
  }
}

extension CollectionPlan {
  /// Refuses an uploaded value that is not under the key in force. Where the record names the key, it is compared with that once all is known of
  /// the record.
  func checkKey(of content: SealedContent, _ index: Int, _ id: RecordID) throws(NotelogError) {
    guard fields[index].field.isKeyChosen || content.keyReference == fields[index].keyReference else {
      throw NotelogError(
        .conflict, "\(place(index, id)): its key was rotated since the value was uploaded; upload it again")
    }
  }
}

extension RecordID {
  /// Whether the store's own records may have this id.
  var isReserved: Bool { bytes.high == 0 && bytes.low >> 16 == 0 }
}

extension RecordEncoder {
  /// Seals the gathered record into a batch.
  mutating func put(
    _ id: RecordID, _ plan: CollectionPlan, carriedFrom old: [UInt8], _ keys: inout SealingKeys,
    _ nonces: inout NonceRun, into batch: inout Batch, _ additions: inout [FieldIndexes.Addition]
  ) throws(NotelogError) {
    if plan.hasChosenKeys { try chooseKeys(id, plan, carriedFrom: old.rawSpan) }
    if plan.hasDigests { try addDigests(plan, &keys) }
    let envelopeByteCount = envelopeByteCount(plan)
    guard envelopeByteCount + bodyByteCount <= Limits.recordBytes else {
      throw NotelogError(
        .limitExceeded,
        "record \(id) of \(plan.schema.name) would have \(envelopeByteCount + bodyByteCount) bytes, over the limit"
      ).of(id)
    }
    guard envelopeByteCount <= Limits.envelopeBytes else {
      throw NotelogError(
        .limitExceeded, "record \(id) of \(plan.schema.name) has too many indexed fields, or large values"
      ).of(id)
    }
    let end = batch.end
    do throws(NotelogError) {
      try writeChunks(id, of: plan, keys: &keys, nonces: &nonces, into: &batch)
      try batch.put(
        id.bytes, collection: plan.schema.collection, envelopeByteCount: envelopeByteCount,
        bodyByteCount: bodyByteCount
      ) { (bytes: inout MutableRawSpan) throws(NotelogError) in
        var envelope = bytes.part(0..<envelopeByteCount)
        if envelopeByteCount > 0 { writeEnvelope(plan, carriedFrom: old.rawSpan, into: &envelope) }
        if plan.hasIndexes { appendAdditions(plan, id, envelope: envelope.bytes, to: &additions) }
        var body = bytes.part(from: envelopeByteCount)
        try write(id, of: plan, carriedFrom: old.rawSpan, keys: &keys, nonces: &nonces, into: &body)
      }
    } catch {
      // The chunks of a record that isn't there would be nobody's.
      batch.removeAll(since: end)
      throw error
    }
  }
}
