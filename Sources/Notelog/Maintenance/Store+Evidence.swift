// Whether what a store shows is what somebody with the key wrote: FORMAT.md §27.

public import Foundation
import NotelogBase
import NotelogCrypto
import NotelogFormat

extension Audit {
  /// When that transaction was committed, as its writer's clock said.
  public var time: Date? { Date(commitTime: commitTime) }
}

extension Store {
  /// Whether the store keeps evidence: whether an audit can tell what somebody without the key did to its files.
  public var keepsEvidence: Bool { vault.keyring.evidenceKey != nil }

  /// Has the store keep evidence from now on, and gives a seal to each record that is there: one step of it. What was done to
  /// the files before is not told by it.
  ///
  /// - Parameter budget: What this step may spend.
  /// - Returns: What was done, and whether that was all.
  /// - Throws: `locked`, `busy`, `full`, `inputOutput`, `readOnly`, `closed`.
  @discardableResult
  public func keepEvidence(_ budget: WorkBudget = .unlimited) throws -> RotationStep {
    if !keepsEvidence { try makeEvidence() }
    if hasUnsealedRecords { return try rotate(Self.evidenceKeyName, budget) }
    var step = RotationStep(generation: vault.keyring.evidenceKey?.current.rawValue ?? 0)
    step.isFinished = true
    return step
  }

  /// Compares all records with what somebody with the key wrote down that they add up to.
  ///
  /// What the store shows is then exactly what it held at that revision: no record was changed, added, dropped,
  /// brought back or put back to an older version, nor the keyring or a schema. As a whole it may be an older
  /// moment: ``Options/head`` tells that.
  ///
  /// - Parameter lookingAtRecords: Whether records are looked at; else it is the first look that unlocking takes.
  /// - Returns: What was found.
  /// - Throws: `locked`; `notFound` where the store keeps no evidence; `inputOutput`, `closed`.
  /// - Complexity: O(*n*) in the bytes of the store; O(1) where records are not looked at.
  public func audit(lookingAtRecords: Bool = true) throws -> Audit {
    try makeAudit(lookingAtRecords: lookingAtRecords)
  }

  func makeAudit(lookingAtRecords: Bool = true) throws(NotelogError) -> Audit {
    let keeper = try keeper()
    var audit = Audit()
    func note(_ words: String) {
      audit.findings.append(Finding("evidence: " + words, .evidence, isDamage: true))
    }
    do throws(NotelogError) {
      let (moment, state, revision, fault) = try keeper.examine {
        lookingAtRecords ? journal.snapshot() : nil
      }
      (audit.revision, audit.commitTime) = (revision, state.time)
      audit.isRestored = state.branch != journal.log.branch.id.low
      if let fault { note(fault) }
      guard let moment else { return audit }
      var auditor = try Auditor(state, vault)
      try auditor.add(moment)
      audit.recordCount = auditor.recordCount
      for words in try auditor.differences() { note(words) }
    } catch {
      guard error.code == .tampered || error.code == .damaged else { throw error }
      note(error.message)
    }
    return audit
  }

  /// Has unlocking compare the store with what was seen of it before, as ``Options/head`` does at opening: for whoever
  /// has to know first which store it is. What others committed meanwhile is taken in: the head may be of it.
  public func expect(_ head: StoreHead) {
    _ = try? journal.refresh()
    beginEvidence(head)
    evidence.withLock { $0 }?.expect(head)
  }

  /// What is to be kept elsewhere of the store as it is now: the next opening compares (``Options/head``). All that was
  /// committed is durable then.
  ///
  /// - Throws: `tampered` where the store is not what it held, as far as it was looked at; `locked`, `readOnly`;
  ///   `notFound` where the store keeps no evidence.
  public func head() throws -> StoreHead {
    let head = try keeper().makeHead()
    // What it is of is durable then; a lock that was lent is taken for it.
    var nothing = Batch()
    try journal.commit(&nothing)
    return head
  }

  /// Takes what the store shows for what it is to show: after an alarm, by somebody who knows why. Records that were
  /// changed without the key stay named by each audit until they are put anew.
  ///
  /// - Throws: `locked`, `readOnly`, `damaged` where records can't be read; `notFound` where the store keeps no
  ///   evidence.
  public func acceptEvidence() throws {
    let keeper = try keeper()
    if !keepsEvidence {
      // No key is made beside an alarm.
      keeper.forget()
      try makeEvidence()
    }
    try touchEvidence { () throws(NotelogError) in
      let key = self.vault.keyring.evidenceKey?.current.rawValue ?? 0
      let known = (try? keeper.load().state) ?? EvidenceState(generations: [.init(reference: key, start: 0)])
      var auditor = try Auditor(known, self.vault)
      try auditor.add(self.journal.snapshot())
      return try auditor.accepted()
    }
    keeper.forget()
  }

  private func keeper() throws(NotelogError) -> EvidenceKeeper {
    if let keeper = evidence.withLock({ $0 }) { return keeper }
    throw NotelogError(.notFound, "the store keeps no evidence")
  }
}
