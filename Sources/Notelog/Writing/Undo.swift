// Taking the last transaction back: FORMAT.md §24, "Older versions".

public import Foundation
import NotelogBase
import NotelogCrypto
import NotelogFormat

/// A transaction that was taken back.
public struct UndoneTransaction: Sendable, Hashable {
  /// The transaction's number: the revision of what it had written.
  public let revision: UInt64
  /// When it was committed; nil where the store keeps no times.
  public let time: Date?
  /// The records that it had changed or deleted, in order of id: they are as they were before.
  public internal(set) var restored: [RecordID] = []
  /// The records that it had added, in order of id: they are deleted.
  public internal(set) var removed: [RecordID] = []
}

extension Store {
  /// Takes the last transaction back, whoever committed it: its records become what they were before, in a new
  /// transaction, which can be taken back too.
  ///
  /// It succeeds as a whole or not at all. What was before must be there still: after a compaction that is not
  /// certain any more, and after a crash it may not be, unless the store keeps versions
  /// (``Store/Options/keepsVersions``). Each old version is checked as reading it would check
  /// it, with all of its sealed values, so their keys must be open. Keys and schemas are never taken back, nor
  /// does a value come back that is under a key, or a generation of one, which was replaced. Rules of
  /// ``Unique`` and of references are not asked: what was before is what they allowed, or what was older than
  /// they are.
  ///
  /// - Parameter durability: What the commit survives.
  /// - Returns: What was taken back.
  /// - Throws: `notFound` where nothing was ever written; `snapshotExpired` where the store was compacted since,
  ///   what came last is not certain, or a value's key was replaced; `invalidArgument` where the transaction
  ///   changed schemas; `limitExceeded` where what comes back is more than one transaction takes; `locked`,
  ///   `missingKey`, `tampered`, `damaged`; what a commit throws.
  /// - Complexity: O(*n*) in the number of versions in the store, of which it reads what segments list, and in
  ///   the bytes of its last segment and of what it brings back.
  @discardableResult
  public func undoLast(_ durability: Durability = .durable) throws -> UndoneTransaction {
    try write(durability) { tx in try tx.undoLast() }
  }
}

extension Transaction {
  fileprivate mutating func undoLast() throws -> UndoneTransaction {
    guard store.schemasAreVerified.isSet else {
      throw NotelogError(.locked, "what was before can't be checked: unlock the store to take a change back")
    }
    // Delete rules would take away what the transaction never touched.
    checksRules = false
    let journal = store.journal
    // What is to live again must not be left behind meanwhile.
    journal.compactor.enter()
    defer { journal.compactor.leave() }
    let moment = journal.snapshot()
    let last = try moment.lastTransaction()
    let held = try moment.versions(of: Set(last.frames.keys))
    guard held.isWhole, !journal.isDamaged else {
      throw NotelogError(.damaged, "something of the store is lost, and what was before may be: verify it")
    }
    var undone = UndoneTransaction(revision: last.sequence, time: Date(commitTime: last.time))
    var restored: [(stored: OwnedRecord, plan: CollectionPlan)] = []
    for (id, frame) in last.frames.map({ (RecordID($0), $1) }).sorted(by: { $0.0 < $1.0 }) {
      let plan = store.registry.withLock { $0.byNumber[frame.collection]?.plan }
      guard let plan, !id.isReserved else {
        throw NotelogError(
          .invalidArgument, "the last transaction changed a schema, which is never taken back")
      }
      let versions = held.versions[id.bytes] ?? []
      guard versions.first?.sequence == undone.revision else {
        throw NotelogError(.conflict, "record \(id) changed since revision \(undone.revision)").of(id)
      }
      prepare(plan)
      if versions.count > 1, versions[1].entry.kind == .record {
        var buffer = ReadBuffer()
        let found = try moment.read(versions[1], into: &buffer)
        try store.evidence.withLock { $0 }?.check(found, buffer)
        guard let stored = try OwnedRecord(found, in: plan.number, buffer) else {
          throw NotelogError(.damaged, "record \(id) was one of another collection before").of(id)
        }
        // They may be dead by now.
        for value in Envelope.values(buffer.envelope, orIn: buffer.body) {
          uploads.append(KeptValue(value, in: journal))
        }
        restored.append((stored, plan))
        undone.restored.append(id)
      } else if frame.kind == .record {
        batch.delete(id.bytes, collection: plan.number)
        undone.removed.append(id)
      }
    }
    if !uploads.isEmpty {
      // A compaction that ran out of its budget has passed by what was dead.
      journal.compactor.abandon()
      journal.catalog.chunks.forget()
      try journal.loadChunks()
    }
    for (stored, plan) in restored {
      try store.opener.check(stored, plan)
      try merge(stored.id, over: stored, plan, changed: []) { _, _ in }
    }
    return undone
  }
}

extension FieldOpener {
  /// Opens all values of an older version, as it is to come back.
  ///
  /// - Throws: What reading a value throws; `snapshotExpired` where one is under a key that is not in force: its
  ///   generation may be given up at any moment.
  fileprivate func check(_ stored: OwnedRecord, _ plan: CollectionPlan) throws {
    // The value of a retired field does not come back.
    for entry in try stored.entries() where plan.schema.field(entry.number)?.isRetired != true {
      let index = plan.index(of: entry.number)
      if let index { try content(of: stored, index, plan)?.forEachPiece { _ in } }
      let inForce = index.map { plan.keyReference(replacing: entry.keyReference, $0) } ?? 0
      guard entry.keyReference == inForce else {
        throw NotelogError(
          .snapshotExpired,
          "record \(stored.id) had a value under a key that was replaced, or that no schema knows"
        ).of(stored.id)
      }
    }
  }
}
