// Rotating a named key: new values at once under a new generation, old ones sealed anew, and the old generation given up when nothing is
// under it any more (FORMAT.md 21.4).

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
  /// Why the old generations have to stay for now, though nothing can be done about it here; nil where there is no such reason.
  public internal(set) var obstacle: String?
}

extension Store {
  /// How many live values are sealed under each generation of each key. It reads the directories of all records.
  ///
  /// - Complexity: O(*n*) in the bytes of the store's records.
  public func countSealedValues() throws -> SealedValueCounts {
    let stop = Cancellation.flag
    var found = SealedValueCounts()
    try forEachSealed(in: journal.snapshot(), part: 0, of: 1, damaged: { found.isExact = false }) {
      _, references in
      if stop?.isSet == true { throw CancellationError() }
      for reference in references { found.counts[reference, default: 0] += 1 }
    }
    return found
  }

  /// Rotates a key, one step of it: begins with a new generation where there is one only, and otherwise goes on where the last step ended,
  /// also that of another process or opening.
  ///
  /// New values are sealed under the new generation from the first step on. Values that are there are sealed anew, newest records first, a few
  /// records in a transaction, beside whoever else writes; who observes the store hears of them. Where compaction is automatic, the rotation
  /// compacts what it makes due, and other writers need not. A generation is given up when, counted anew,
  /// no value is left under it, and neither a snapshot nor a backup may still need it. What was sealed under it lies in the files until
  /// `purge(progress:)`, and in copies of them for ever.
  ///
  /// - Parameters:
  ///   - name: The key's name.
  ///   - budget: What this step may spend, give or take one large value.
  /// - Returns: What was done, and whether that was all.
  /// - Throws: `locked`, `missingKey`, `full`, `poisoned`, `closed`, `readOnly`.
  @discardableResult
  public func rotate(_ name: String, _ budget: WorkBudget = .unlimited) throws -> RotationStep {
    try rotations.withLock { (progress: inout [UInt16: RotationProgress]) throws -> RotationStep in
      var key = try namedKey(name)
      if vault.keyring.generations(of: key.number).count == 1 { try beginRotation(of: key) }
      key = try namedKey(name)
      // A process that died may have left the schemas as they were.
      try write(.buffered) { tx in
        try tx.storeSchemas { schema throws(NotelogError) in try self.follow(&schema, key.number) }
      }
      var state = progress[key.number] ?? RotationProgress(generation: key.current)
      if state.generation != key.current { state = RotationProgress(generation: key.current) }
      defer { progress[key.number] = state }
      var step = RotationStep(generation: key.current.rawValue)
      var reseal = Resealing(self, key, budget.untilCancelled)
      try journal.keepingSpace { try reseal.run(&state, &step) }
      if reseal.isOver { return step }
      try retireOldGenerations(of: key, &step)
      return step
    }
  }

  /// Makes another generation of a key, also while values are left under older ones: `rotate(_:_:)` then goes on with all of them.
  ///
  /// - Parameter name: The key's name.
  /// - Throws: `locked`, `missingKey`, `full`, `poisoned`, `closed`, `readOnly`.
  public func beginRotation(of name: String) throws { try beginRotation(of: try namedKey(name)) }

  /// The generation is there before the schemas list it: nobody waits for the keyring's files. Until they do, and for good if the process dies
  /// meanwhile, values are sealed under the one before.
  private func beginRotation(of key: Keyring.NamedKey) throws {
    try refuseMissingSchemas("making a generation of a key")
    try changeKeyring("making a generation of a key") { () throws(CryptoError) in try vault.rotating(key) }
    try storeSchemas { schema throws(NotelogError) in try self.follow(&schema, key.number) }
  }

  /// Changes stored schemas, and stores those anew that were changed. When it returns they are durable, and all that was written before; the turn
  /// is given back earlier.
  private func storeSchemas(_ change: (inout StoredSchema) throws(NotelogError) -> Bool) throws {
    try write(.buffered) { tx in try tx.storeSchemas(change) }
    try journal.synchronize()
  }

  /// The named key of a name.
  func namedKey(_ name: String) throws(NotelogError) -> Keyring.NamedKey {
    let key = try naming("looking up the key \(name)") { () throws(CryptoError) in try vault.namedKey(name) }
    if key.isShredded { throw NotelogError(crypto: .shredded, "the key \(name)") }
    return key
  }

  /// Gives up the generations under which nothing is, exactly.
  private func retireOldGenerations(of key: Keyring.NamedKey, _ step: inout RotationStep) throws {
    let counted = try countSealedValues()
    guard counted.isExact else {
      step.obstacle = "something in the store can't be read: what is sealed there is not known"
      return
    }
    let old = vault.keyring.generations(of: key.number).filter { $0 != key.current }
    let empty = old.filter { counted.counts[$0.rawValue] == nil }
    // A backup that began before they were counted may have copied values that were under them, and its keyring comes last.
    guard empty.isEmpty || !journal.isPinned else {
      step.obstacle = "a backup, or a reader in another process, may still need the old generation"
      return
    }
    guard empty.isEmpty || journal.statistics.snapshotCount == 0 else {
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
      try changeKeyring("giving up a generation of a key") { () throws(CryptoError) in
        try vault.retiring(reference)
      }
      step.retired.append(reference.rawValue)
    }
    if old.contains(where: { counted.counts[$0.rawValue] != nil && vault.access(to: $0) == .elsewhere }) {
      step.obstacle = "values are sealed under a generation that stayed on another device"
    }
    step.isFinished = empty.count == old.count
  }

  /// Calls `body` with each record of a part of the segments, and the keys that its sealed values are under.
  func forEachSealed(
    in moment: Snapshot, part: Int, of partCount: Int, damaged: () -> Void,
    _ body: (StoredRecord, [UInt32]) throws -> Void
  ) throws {
    var failure: (any Error)?
    try moment.forEach(
      part: part, of: partCount,
      onDamage: { _ in
        damaged()
        return true
      },
      { record, _, bytes throws(NotelogError) in
        guard record.collection != SchemaRecord.collection else { return true }
        do {
          let entries = try RecordBody(checking: bytes).entries()
          let references = entries.compactMap { $0.flags.contains(.sealed) ? $0.keyReference : nil }
          if !references.isEmpty { try body(record, references) }
        } catch let error as NotelogError where error.code == .damaged {
          damaged()
        } catch {
          failure = error
          return false
        }
        return true
      })
    if let failure { throw failure }
  }
}
