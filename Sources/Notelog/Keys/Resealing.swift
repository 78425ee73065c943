// Rotating a named key: new values at once under a new generation, old ones sealed anew, and the old
// generation given up when nothing is under it any more (FORMAT.md 21.4).

import NotelogBase
import NotelogCrypto

/// How many live values are sealed under which generation of a key.
public struct SealedValueCounts: Sendable {
  /// The number of values by the number of the generation; a large value is one.
  public internal(set) var counts: [UInt32: Int] = [:]
  /// Whether everything could be read; if not, there may be more.
  public internal(set) var isExact = true
}

/// What a step of a rotation did.
public struct RotationStep: Sendable {
  /// The number of the generation that new values are sealed under.
  public internal(set) var generation: UInt32
  /// How many values were sealed anew.
  public internal(set) var resealedCount = 0
  /// How many values could not be: they are damaged, or their field is not known any more.
  public internal(set) var failedCount = 0
  /// The numbers of the generations that were given up.
  public internal(set) var retired: [UInt32] = []
  /// Whether nothing is left to do. If it isn't, the next step goes on.
  public internal(set) var isFinished = false
  /// Why the old generations have to stay for now, though nothing can be done about it here; nil where there
  /// is no such reason.
  public internal(set) var obstacle: String?
}

extension Store {
  /// How many live values are sealed under each generation of each key. It reads the directories of all
  /// records.
  ///
  /// - Complexity: O(*n*) in the bytes of the store's records.
  public func countSealedValues() throws -> SealedValueCounts { try countSealed() }

  /// The same, and where a keeper of evidence is given, seals of records.
  private func countSealed(_ keeper: EvidenceKeeper? = nil) throws -> SealedValueCounts {
    let stop = Cancellation.flag
    var found = SealedValueCounts()
    try forEachSealed(in: journal.snapshot(), part: 0, of: 1, keeper, damaged: { found.isExact = false }) {
      _, references in
      if stop?.isSet == true { throw CancellationError() }
      for reference in references { found.counts[reference, default: 0] += 1 }
    }
    return found
  }

  /// Rotates a key, one step of it: begins with a new generation where there is one only, and otherwise goes
  /// on where the last step ended, also that of another process or opening.
  ///
  /// New values are sealed under the new generation from the first step on. Values that are there are sealed
  /// anew, newest records first, a few records in a transaction, beside whoever else writes; who observes the
  /// store hears of them. Where compaction is automatic, the rotation compacts what it makes due, and other
  /// writers need not. A generation is given up when, counted anew, no value is left under it, and neither a
  /// snapshot nor a backup may still need it. What was sealed under it lies in the files until
  /// `purge(progress:)`, and in copies of them for ever.
  ///
  /// - Parameters:
  ///   - name: The key's name.
  ///   - budget: What this step may spend, give or take one large value.
  /// - Returns: What was done, and whether that was all.
  /// - Throws: `locked`, `missingKey`, `busy`, `suspended`, `full`, `poisoned`, `closed`, `readOnly`.
  @discardableResult
  public func rotate(_ name: String, _ budget: WorkBudget = .unlimited) throws -> RotationStep {
    try rotations.withLock { (progress: inout [KeyReference: RotationProgress]) throws -> RotationStep in
      var key = try namedKey(name)
      if vault.keyring.generations(of: key.number).count == 1, !key.isEvidence || !hasUnsealedRecords {
        try beginRotation(of: key)
      }
      key = try namedKey(name)
      // A process that died may have left the schemas as they were.
      try write(.buffered) { tx in
        try tx.storeSchemas { schema throws(NotelogError) in try self.follow(&schema, key.number) }
      }
      var state = progress[key.current] ?? RotationProgress()
      defer { progress[key.current] = state }
      var step = RotationStep(generation: key.current.rawValue)
      var reseal = Resealing(self, key, budget.untilCancelled)
      try journal.keepingSpace { try reseal.run(&state, &step) }
      step.failedCount = state.failed.count
      if reseal.isOver { return step }
      try retireOldGenerations(of: key, &step)
      return step
    }
  }

  /// Makes another generation of a key, also while values are left under older ones: `rotate(_:_:)` then goes
  /// on with all of them.
  ///
  /// - Parameter name: The key's name.
  /// - Throws: `locked`, `missingKey`, `busy`, `suspended`, `full`, `poisoned`, `closed`, `readOnly`.
  public func beginRotation(of name: String) throws { try beginRotation(of: try namedKey(name)) }

  /// The generation is there before the schemas list it: nobody waits for the keyring's files. Until they do,
  /// and for good if the process dies meanwhile, values are sealed under the one before.
  private func beginRotation(of key: Keyring.NamedKey) throws {
    try refuseMissingSchemas("making a generation of a key")
    try changeKeyring("making a generation of a key") { change throws(CryptoError) in try change.rotate(key) }
    try storeSchemas { schema throws(NotelogError) in try self.follow(&schema, key.number) }
  }

  /// Changes stored schemas, and stores those anew that were changed. When it returns they are durable, and
  /// all that was written before; the turn is given back earlier.
  private func storeSchemas(_ change: (inout StoredSchema) throws(NotelogError) -> Bool) throws {
    try write(.buffered) { tx in try tx.storeSchemas(change) }
    try write { _ in }
  }

  /// The named key of a name.
  func namedKey(_ name: String) throws(NotelogError) -> Keyring.NamedKey {
    let key = try naming("looking up the key \(name)", vault.namedKey(name))
    if key.isShredded { throw NotelogError(crypto: .shredded, "the key \(name)") }
    return key
  }

  /// Gives up the generations under which nothing is, exactly.
  private func retireOldGenerations(of key: Keyring.NamedKey, _ step: inout RotationStep) throws {
    let counted = try countSealed(key.isEvidence ? evidence.withLock { $0 } : nil)
    guard counted.isExact else {
      step.obstacle = "something in the store can't be read: what is sealed there is not known"
      return
    }
    var old = vault.keyring.generations(of: key.number).filter { $0 != key.current }
    if key.isEvidence, hasUnsealedRecords { old.append(KeyReference(rawValue: 0)) }
    let empty = old.filter { counted.counts[$0.rawValue] == nil }
    // A reader may have copied values that were under them, before they were counted. A shipper has the keyring
    // shipped that opens them, of every moment until now.
    let generation = vault.keyring.generation
    let isAwaited = journal.storage.heldPins().contains { $0.keyringGeneration < generation }
    guard empty.isEmpty || !isAwaited else {
      step.obstacle = "a shipper, or a reader in another process, may still need the old generation"
      return
    }
    guard empty.isEmpty || journal.catalog.oldVersions.snapshotCount == 0 else {
      step.obstacle = "a snapshot may still need the old generation"
      return
    }
    for reference in empty {
      // What was sealed anew is durable with them, before the keyring loses what it was under.
      try storeSchemas { schema in
        let before = schema
        for index in schema.fields.indices {
          schema.fields[index].changeKeys { keys in
            if keys.count > 1 { keys.removeAll { $0 == reference.rawValue } }
          }
        }
        return schema != before
      }
      if key.isEvidence {
        try touchEvidence { () throws(NotelogError) in
          try self.evidence.withLock { $0 }?.without(reference.rawValue)
        }
      }
      if reference.rawValue > 0 {
        try changeKeyring("giving up a generation of a key") { $0.retire(reference) }
      }
      step.retired.append(reference.rawValue)
    }
    if old.contains(where: { counted.counts[$0.rawValue] != nil && vault.refusal(of: $0) == .elsewhere($0) })
    {
      step.obstacle = "values are sealed under a generation that stayed on another device"
    }
    step.isFinished = empty.count == old.count
  }

  /// Calls `visit` with each record of a part of the segments, and the keys that its sealed values are under; and its seal,
  /// where a keeper of evidence is given.
  func forEachSealed(
    in moment: Snapshot, part: Int, of partCount: Int, _ keeper: EvidenceKeeper? = nil, damaged: () -> Void,
    _ visit: (StoredRecord, [UInt32]) throws -> Void
  ) throws {
    let state = try keeper?.load(moment).state
    try moment.forEach(part: part, of: partCount, onDamage: { _ in damaged() }) { record, payload, body in
      guard record.collection != SchemaRecord.collection else { return true }
      do {
        let entries = try RecordBody(checking: payload.extracting(body)).entries()
        var references = entries.compactMap { $0.flags.contains(.sealed) ? $0.keyReference : nil }
        if let state { references.append(state.reference(of: record.revision)) }
        if !references.isEmpty { try visit(record, references) }
      } catch let error as NotelogError where error.code == .damaged { damaged() }
      return true
    }
  }
}

// MARK: - Sealing values anew under another generation of their key, without unpacking them.

/// One step of a rotation: finds records with values under old generations, newest segment first, and seals
/// those values anew.
struct Resealing {
  /// What one transaction takes at most: nobody waits for longer than that for the turn.
  private static let (recordsMax, bytesMax) = (64, 256 << 10)
  /// How many chunks are committed at a time.
  private static let chunksATransaction = 4

  private let store: Store
  private let old: Set<UInt32>
  /// Where the key is that of the evidence.
  private let evidence: EvidenceKeeper?
  private let budget: WorkBudget
  private var spent = 0

  init(_ store: Store, _ key: Keyring.NamedKey, _ budget: WorkBudget) {
    self.store = store
    let old = store.vault.keyring.generations(of: key.number).filter { $0 != key.current }
    self.old = Set(old.map(\.rawValue))
    evidence = key.isEvidence ? store.evidence.withLock { $0 } : nil
    self.budget = budget
  }

  /// Whether the budget is spent.
  var isOver: Bool { spent >= budget.byteCount || budget.isOver() }

  /// Goes on until nothing is left, or the budget is spent.
  mutating func run(_ state: inout RotationProgress, _ step: inout RotationStep) throws {
    repeat {
      while !state.pending.isEmpty {
        try resealSome(&state, &step)
        keepSpace()
        if isOver { return try finish() }
      }
    } while try findSome(&state)
    try finish()
  }

  /// Does what was made due, for all who write meanwhile: after each of its transactions.
  private func keepSpace() { store.journal.keepSpace(WorkBudget(isOver: budget.isOver)) }

  private func finish() throws {
    if spent > 0 { try store.write { _ in } }
  }

  /// Looks for records in the newest segment that may have any.
  ///
  /// - Returns: Whether there was one.
  private mutating func findSome(_ state: inout RotationProgress) throws -> Bool {
    let moment = store.journal.snapshot()
    let segments = moment.segments
    for part in segments.indices.reversed() where !state.resealed.contains(segments[part].number) {
      var found: [(id: ID16, collection: UInt16)] = []
      try store.forEachSealed(in: moment, part: part, of: segments.count, evidence, damaged: {}) {
        record, references in
        guard !state.failed.contains(record.id), references.contains(where: isOld) else { return }
        found.append((record.id, record.collection))
      }
      spent += segments[part].byteCount / 64
      // What was found is seen to before any other segment is looked at. More may have come into one that was
      // not finished when the moment began.
      if segments[part].isFinished { state.resealed.insert(segments[part].number) }
      state.pending = found
      if !found.isEmpty { return true }
    }
    return false
  }

  /// Seals the values of some records anew, in one transaction. Large values go before, in transactions of
  /// their own.
  private mutating func resealSome(_ state: inout RotationProgress, _ step: inout RotationStep) throws {
    var group: [(id: ID16, collection: UInt16)] = []
    var large: [ID16: ResealedValue] = [:]
    var (recordCount, byteCount) = (0, 0)
    // One record with large values at a time: they may be a step by themselves.
    for (id, collection) in state.pending.suffix(Self.recordsMax).reversed()
    where byteCount < Self.bytesMax && large.isEmpty {
      recordCount += 1
      do {
        guard let found = try resealLargeValues(RecordID(id), collection) else { continue }
        group.append((id, collection))
        byteCount += found.byteCount
        large = found.large
      } catch let error as NotelogError {
        guard error.isOfOneRecord else { throw error }
        state.failed.insert(id)
      }
    }
    if !group.isEmpty {
      try store.write(.buffered) { tx in
        // Values stay what they are.
        tx.checksRules = false
        for (id, collection) in group {
          do throws(NotelogError) {
            if let count = try reseal(RecordID(id), collection, large, &tx) {
              step.resealedCount += count
            } else {
              state.resealed = []
            }
          } catch {
            guard error.isOfOneRecord else { throw error }
            state.failed.insert(id)
          }
        }
      }
      withExtendedLifetime(large) {}
    }
    state.pending.removeLast(recordCount)
    spent += byteCount + large.values.reduce(64 * recordCount) { $0 + $1.byteCount }
  }

  /// Seals a record's large values anew, as the record is now. Nobody waits meanwhile.
  ///
  /// - Returns: The length of the record and, by the ids of what they were before, its large values; nil where
  ///   it is gone, or nothing is under an old generation.
  private func resealLargeValues(
    _ id: RecordID, _ collection: UInt16
  ) throws -> (byteCount: Int, large: [ID16: ResealedValue])? {
    guard let plan = plan(collection) else { throw Self.unknownField(id) }
    var buffer = ReadBuffer()
    let found = try store.journal.records.read(id.bytes, into: &buffer)
    guard let stored = try OwnedRecord(found, in: collection, buffer) else { return nil }
    let entries = try stored.entries().filter { old.contains($0.keyReference) }
    var large: [ID16: ResealedValue] = [:]
    for entry in entries where entry.flags.contains(.chunked) {
      guard let index = plan.index(of: entry.number) else { continue }
      try plan.check(entry, index, id, in: stored.body.rawSpan)
      let chunks = try ChunkOpener(store.opener, entry, in: stored.body.rawSpan, of: id, index, plan)
      large[chunks.reference.value] = try resealed(chunks)
    }
    return try entries.isEmpty && !hasOldSeal(stored) ? nil : (stored.body.count, large)
  }

  /// Writes a record's next version, with its values sealed anew. One that has none under an old generation
  /// any more stays as it is.
  ///
  /// - Returns: How many values were sealed anew; nil where a large value or its field's key is another by now,
  ///   and the record has to be looked for once more.
  private func reseal(
    _ id: RecordID, _ collection: UInt16, _ large: [ID16: ResealedValue], _ tx: inout Transaction
  ) throws(NotelogError) -> Int? {
    guard let plan = plan(collection) else { throw Self.unknownField(id) }
    guard let stored = try tx.read(id, plan) else { return 0 }
    var contents: [Int: SealedContent] = [:]
    let entries = try stored.entries().filter { old.contains($0.keyReference) }
    for entry in entries {
      guard let index = plan.index(of: entry.number) else {
        // A retired field's value goes with the record's next version; one that the schema doesn't know can't
        // be opened.
        guard plan.schema.field(entry.number)?.isRetired == true else { throw Self.unknownField(id) }
        continue
      }
      let new = plan.keyReference(replacing: entry.keyReference, index)
      let body = stored.body.rawSpan
      guard entry.flags.contains(.chunked) else {
        var content = try store.opener.resealed(entry, in: body, of: id, index, plan, under: new, &tx.nonces)
        if let digest = plan.digest(of: index), try stored.find(plan.fields[digest].number) != nil {
          let key = try store.vault.sealingKey(new, for: plan.place(index, id))
          content.digest = try store.opener.open(entry, in: body, of: id, index, plan) {
            value throws(NotelogError) in try plan.storedDigest(value, index, under: key)
          }
        }
        contents[index] = content
        continue
      }
      guard let content = large[ValueReference.value(in: body.extracting(entry.range))]?.content,
        content.entry.keyReference == new
      else { return nil }
      contents[index] = content
    }
    guard try hasOldSeal(stored) || !entries.isEmpty else { return 0 }
    tx.prepare(plan)
    try tx.merge(id, over: stored, plan, changed: Set(contents.keys), contents) { _, _ in }
    return max(1, contents.count)
  }

  /// Whether a value, or a seal, is to be made anew; 0 is of records that have no seal yet.
  private func isOld(_ reference: UInt32) -> Bool {
    old.contains(reference) || reference == 0 && evidence != nil
  }

  private func hasOldSeal(_ stored: OwnedRecord) throws(NotelogError) -> Bool {
    guard let evidence else { return false }
    return isOld(try evidence.load().state.reference(of: stored.revision))
  }

  private func plan(_ collection: UInt16) -> CollectionPlan? {
    store.registry.withLock { $0.byNumber[collection]?.plan }
  }

  private static func unknownField(_ id: RecordID) -> NotelogError {
    NotelogError(.damaged, "record \(id) has a value of a field that its schema doesn't know")
  }

  /// Seals a large value anew, chunk by chunk, ahead of its record.
  private func resealed(_ chunks: ChunkOpener) throws -> ResealedValue {
    var resealed = ResealedValue(
      kept: KeptValue(.randomValue, in: store.journal), byteCount: chunks.reference.byteCount)
    var batch = Batch()
    // The generation in force of the value's key or, where the field has been given another one, of that.
    let new = chunks.plan.keyReference(replacing: chunks.entry.keyReference, chunks.index)
    resealed.content = try chunks.resealed(under: new, as: resealed.kept.value, into: &batch) {
      (batch, isLast) throws(NotelogError) in
      if batch.count == Self.chunksATransaction || isLast {
        _ = try store.journal.commit(&batch, .buffered)
        keepSpace()
      }
    }
    return resealed
  }
}

/// A large value that is sealed anew, and that no record refers to yet.
private struct ResealedValue {
  let kept: KeptValue
  let byteCount: Int
  var content: SealedContent?
}

extension NotelogError {
  /// Whether it says something of one record, and others may be better.
  fileprivate var isOfOneRecord: Bool {
    [.tampered, .damaged, .typeMismatch, .limitExceeded, .missingKey, .snapshotExpired, .notFound].contains(
      code)
  }
}
