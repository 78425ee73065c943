// Checks records against their schemas, and opens what is sealed, while the journal verifies the bytes around them.

import NotelogBase
import NotelogCrypto

/// What one thread finds in the records that it comes to.
struct RecordVerifier: ~Copyable {
  /// Findings about records, and how much was looked into.
  struct Found: Sendable {
    /// What is wrong with records, by the versions of them: what threads found is told in the order in which it was written.
    var errors: [(revision: UInt64, finding: Finding)] = []
    var recordCount = 0
    var openedCount = 0
    var lockedCount = 0
    var shreddedCount = 0
    /// How many records are in collections whose schema is not there, by the collections' numbers.
    var withoutSchema: [UInt16: Int] = [:]
  }

  private let plans: [UInt16: CollectionPlan]
  private let opener: FieldOpener
  private var opening = Opening()
  private var lastPlan: CollectionPlan?
  /// Whether a key can be used: asking for each value would only make errors.
  private enum Access { case tried, locked, shredded }
  private let store: Store
  /// What is known of keys; of the one asked for last first.
  private var lastKey: (reference: UInt32, access: Access) = (0, .tried)
  private var accesses: [UInt32: Access] = [:]
  private(set) var found = Found()

  init(_ store: Store) {
    plans = store.registry.withLock { $0.byNumber.mapValues(\.plan) }
    opener = store.opener
    self.store = store
  }

  /// Checks a record's directory, each of its fields that the schema knows, and that its envelope says what its body does.
  mutating func check(_ record: StoredRecord, _ envelope: RawSpan, _ bytes: RawSpan) {
    if lastPlan?.number != record.collection { lastPlan = plans[record.collection] }
    // Taken and put back, it is not counted: several threads would count the same object.
    guard let plan = lastPlan.take() else {
      if record.collection != SchemaRecord.collection {
        found.withoutSchema[record.collection, default: 0] += 1
      }
      return
    }
    check(record, envelope, bytes, plan)
    lastPlan = plan
  }

  private mutating func check(
    _ record: StoredRecord, _ envelope: RawSpan, _ bytes: RawSpan, _ plan: CollectionPlan
  ) {
    let id = RecordID(record.id)
    do throws(NotelogError) {
      let body = try RecordBody(checking: bytes)
      found.recordCount += 1
      do throws(NotelogError) { try EnvelopeCheck.run(envelope, body) } catch {
        note(error, .records, record)
      }
      var place = body.start
      while let entry = try body.next(at: &place) {
        guard let index = plan.index(of: entry.number) else { continue }
        do throws(NotelogError) { try check(entry, index, plan, id, bytes) } catch {
          note(error, entry.flags.contains(.sealed) ? .tags : .records, record)
        }
      }
    } catch { note(error, .records, record) }
  }

  private mutating func check(
    _ entry: FieldEntry, _ index: Int, _ plan: CollectionPlan, _ id: RecordID, _ bytes: RawSpan
  ) throws(NotelogError) {
    let isSealed = entry.flags.contains(.sealed)
    let state = isSealed ? access(to: entry.keyReference) : .tried
    if state != .tried {
      try plan.check(entry, index, id, in: bytes)
      if entry.flags.contains(.chunked), ValueReference(bytes.extracting(entry.range)) == nil {
        throw NotelogError(.tampered, "\(plan.place(index, id)): no large value has such a reference")
      }
      if state == .shredded { found.shreddedCount += 1 } else { found.lockedCount += 1 }
      return
    }
    let type = plan.fields[index].type
    let isOptional = plan.fields[index].isOptional
    do throws(NotelogError) {
      let opener = opener
      try opening.open(entry, in: bytes, of: id, index, plan, opener) { value throws(NotelogError) in
        try type.check(value, isOptional: isOptional)
        if plan.hasDigests { try plan.checkDigest(of: value, entry, index, id, in: bytes, opener.vault) }
      }
    } catch {
      // One too long to be in memory is opened chunk by chunk.
      guard error.code == .limitExceeded, entry.flags.contains(.chunked) else { throw error }
      let chunks = try ChunkOpener(opener, entry, in: bytes, of: id, index, plan)
      try chunks.open(0..<chunks.reference.byteCount) { (_, _) throws(NotelogError) in }
    }
    if isSealed { found.openedCount += 1 }
  }

  private mutating func note(_ error: NotelogError, _ part: Finding.Part, _ record: StoredRecord) {
    found.errors.append((record.revision, Finding(error, part, RecordID(record.id))))
  }

  private mutating func access(to reference: UInt32) -> Access {
    if lastKey.reference == reference { return lastKey.access }
    let answer = accesses[reference] ?? find(reference)
    accesses[reference] = answer
    lastKey = (reference, answer)
    return answer
  }

  private func find(_ reference: UInt32) -> Access {
    let key = KeyReference(rawValue: reference)
    // Without a keyring, that is the finding: not each value of the store once more.
    if opener.vault.keyring.generation == 0 { return .locked }
    do throws(CryptoError) { _ = try opener.vault.sealingKey(key) } catch {
      if case .locked = error { return .locked }
      if store.isShredded(key) { return .shredded }
    }
    return .tried
  }
}

extension FieldType {
  /// Refuses bytes that are no value of the type.
  fileprivate func check(_ bytes: RawSpan, isOptional: Bool) throws(NotelogError) {
    // Nearly all that is long is text, and no string is needed to tell whether it is one.
    guard self == .text, !isOptional else {
      _ = try DynamicValue(loading: bytes, as: self, isOptional: isOptional)
      return
    }
    guard bytes.isUTF8 else { throw NotelogError(.damaged, "a text value is not UTF-8") }
  }
}
