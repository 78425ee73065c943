// What verification says of a store that keeps evidence, and what an alarm keeps from being changed: FORMAT.md §27.

import NotelogBase
import NotelogCrypto
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct EvidenceVerifyTests {
  private let disk = SimulatedDisk()
  private let before: SimulatedDisk
  private let head: StoreHead
  private let id: RecordID

  /// A store of two notes, its disk when there was one, and its head.
  init() throws {
    let store = try Store.create(
      in: disk, unlocking: TemporaryFolder.key, options: EvidenceTests.options)
    let note = Note(title: "one")
    id = note.id
    try store.write { tx in try tx.put(note) }
    before = disk.copy()
    try store.write { tx in try tx.put(Note(title: "two")) }
    head = try store.head()
    try store.close()
  }

  @Test func `verifying with a key audits, compares a head, and says as of when`() throws {
    let now = try Store.verify(in: disk, unlocking: TemporaryFolder.key, head: head)
    #expect(now.keepsEvidence && now.verdict == .sound && now.isSound(.evidence))
    #expect(now.audit?.revision == head.seen && now.audit?.recordCount == 2 && now.audit?.time != nil)
    let then = try Store.verify(in: before, unlocking: TemporaryFolder.key)
    #expect(then.verdict == .torn || then.verdict == .sound)
    #expect(then.audit?.isSound == true && then.audit?.recordCount == 1)
    let older = try Store.verify(in: before, unlocking: TemporaryFolder.key, head: head)
    #expect(older.verdict == .contained && !older.isSound(.evidence) && older.isSound(.tags))
    #expect(older.audit?.isSound == false)
    // Without a key nobody can tell.
    let locked = try Store.verify(in: before, unlocking: nil, head: head)
    #expect(locked.keepsEvidence && locked.audit == nil && locked.isSound(.evidence))
  }

  @Test func `verifying finds what was dropped, and says nothing of stores without evidence`() throws {
    let disk = SimulatedDisk()
    let store = try Store.create(
      in: disk, unlocking: TemporaryFolder.key, options: EvidenceTests.options)
    let notes = (0..<3).map { Note(title: "n\($0)") }
    for note in notes { try store.write { tx in try tx.put(note) } }
    // The sums are those of a store that has one more.
    let keeper = try #require(store.evidence.withLock { $0 })
    try store.touchEvidence { () throws(NotelogError) in
      var state = try keeper.load().state
      state.recordCount += 1
      return state
    }
    try store.close()
    let found = try Store.verify(in: disk, unlocking: TemporaryFolder.key)
    #expect(
      found.findings.map(\.message) == [
        "evidence: records were dropped, brought back or put back to other versions; 3 are there, and 4 were"
      ])
    #expect(found.findings.allSatisfy { $0.part == .evidence && $0.isDamage })
    let plain = SimulatedDisk()
    try Store.create(in: plain, unlocking: TemporaryFolder.key, options: Store.Options()).close()
    let other = try Store.verify(in: plain, unlocking: TemporaryFolder.key)
    #expect(!other.keepsEvidence && other.audit == nil && other.verdict == .sound)
  }

  @Test func `a head is expected of a store that is open and locked, and an alarm keeps keys as they are`()
    throws
  {
    let store = try Store.open(in: before, unlocking: nil, options: EvidenceTests.options)
    store.expect(head)
    try store.unlock(TemporaryFolder.key)
    let look = try store.audit(lookingAtRecords: false)
    #expect(!look.isSound && look.recordCount == 0 && look.revision < head.seen)
    // Another change would count past the keyring that the store had.
    let generation = store.vault.keyring.generation
    let other = Notelog.Credential.key(Array(repeating: 8, count: 32))
    for change in [
      { try store.addCredential(other) }, { try store.createKey("another", .whenUnlocked) },
      { try store.rekey(TemporaryFolder.key, to: other) },
    ] {
      #expect(throws: NotelogError(.tampered, "")) { try change() }
    }
    #expect(throws: NotelogError(.tampered, "")) { try store.head() }
    #expect(throws: NotelogError(.tampered, "")) {
      try store.write { tx in _ = try tx.delete(Note.self, id) }
    }
    #expect(store.vault.keyring.generation == generation)
    #expect(try store.get(Note.self, id)?.title == "one")
    try store.acceptEvidence()
    try store.createKey("another", .whenUnlocked)
    #expect(try store.audit().isSound)
    #expect(try store.head().own > 0)
    try store.close()
  }

  @Test func `INV-W3 a head is of a durable state, and after any crash it is no alarm`() throws {
    let store = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: EvidenceTests.options)
    try store.write(.buffered) { tx in try tx.put(Note(title: "three")) }
    let newer = try store.head()
    #expect(newer.seen > head.seen)
    try store.write(.buffered) { tx in try tx.put(Note(title: "four")) }
    for loss in LossModel.allCases {
      let crashed = disk.crashImageNow(loss)
      var options = EvidenceTests.options
      options.head = newer
      let again = try Store.open(in: crashed, unlocking: TemporaryFolder.key, options: options)
      #expect(try EvidenceTests.findings(again) == [], "\(loss)")
      try again.close()
    }
    try store.close()
  }

  @Test func `a head of what was committed since a reader opened the store is no alarm`() throws {
    var options = EvidenceTests.options
    options.isReadOnly = true
    let reader = try Store.open(in: disk, unlocking: nil, options: options)
    let writer = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: EvidenceTests.options)
    try writer.write { tx in try tx.put(Note(title: "three")) }
    reader.expect(try writer.head())
    try reader.unlock(TemporaryFolder.key)
    let audit = try reader.audit()
    #expect(audit.isSound && audit.recordCount == 3)
    try writer.close()
    try reader.close()
  }

  @Test func `values under keys are counted while the evidence is locked`() throws {
    let store = try Store.open(in: disk, unlocking: nil, options: EvidenceTests.options)
    let locked = try store.countSealedValues()
    #expect(locked.isExact && !locked.counts.isEmpty)
    try store.unlock(TemporaryFolder.key)
    #expect(try store.countSealedValues().counts == locked.counts)
    try store.close()
  }
}
