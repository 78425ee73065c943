// What an audit sees of stores that are damaged, altered while they are open, or written by others; and what it does not see:
// SECURITY.md, "What is not protected".

import Foundation
import NotelogBase
import NotelogFormat
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog
@testable import NotelogCrypto

/// A record with a value that may be large.
private struct Scan: Record {
  var id = RecordID()
  var bytes: [UInt8] = []
  static let schema = Schema<Scan>("scan") { Sealed("bytes", \.bytes, key: "scans") }
}

@Suite struct BesideAuditTests {
  private static let dropped = "records were dropped, brought back or put back to other versions"

  private static func open(_ disk: SimulatedDisk) throws -> Store {
    try Store.open(in: disk, unlocking: AttackedStore.key, options: EvidenceTests.options)
  }

  private static func segment(_ disk: SimulatedDisk) throws -> String {
    try #require(disk.fileNames.first { FileName.segmentNumber($0) != nil })
  }

  // MARK: - Damage.

  @Test func `a record that can't be read is told from one that is gone`() throws {
    let store = try AttackedStore()
    let disk = try store.now.disk()
    let bytes = try #require(disk.contents(try Self.segment(disk)))
    let payload = try #require(store.versions(2).last).payload
    let place = try #require(bytes.firstRange(of: payload)).lowerBound
    var damaged = bytes
    damaged[place + 50] ^= 1
    disk.replace(try Self.segment(disk), with: damaged)
    let opened = try AttackedStore.open(disk)
    #expect(
      try opened.audit().findings.map(\.message) == [
        "evidence: 1 records can't be read, and no others are missing"
      ])
    #expect(throws: NotelogError(.damaged, "")) { try opened.acceptEvidence() }
    // It may be put anew. Its seal is lost, so what seals add up to is known no longer, until it is accepted.
    try opened.putAll([store.notes[2]])
    #expect(try !opened.audit().isSound)
    try opened.acceptEvidence()
    #expect(try opened.audit().isSound)
    try opened.close()
  }

  /// What segments list explains what is missing, and makes up for nothing.
  @Test func `a footer that lies of a revision, beside damage, is noticed`() throws {
    let store = try AttackedStore()
    var forged = store.now
    var chunk = try #require(store.versions(3).last)
    chunk.header = FrameHeader(.chunk, sequence: 3, id: ID16(low: 5, high: 5))
    chunk.payload = [UInt8](repeating: 0, count: 64)
    forged.frames.append(chunk)
    let disk = try forged.disk()
    let name = try Self.segment(disk)
    try disk.edit(name) { frame in if frame.id == store.id(2) { frame.header.sequence -= 1 } }
    // The chunk is lost, which nobody misses: that is damage.
    var bytes = try #require(disk.contents(name))
    let place = try #require(bytes.firstRange(of: [5, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0])).lowerBound
    bytes[place] ^= 1
    disk.replace(name, with: bytes)
    let opened = try AttackedStore.open(disk)
    #expect(try opened.get(Note.self, store.notes[2].id)?.revision == store.versions(2)[0].revision - 1)
    #expect(try opened.audit().findings.first?.message.contains(Self.dropped) == true)
    try opened.close()
  }

  @Test
  func `once a version that could not be read was replaced, nothing is sound until it is accepted`()
    throws
  {
    let store = try AttackedStore()
    let disk = try store.now.disk()
    var bytes = try #require(disk.contents(try Self.segment(disk)))
    let place = try #require(bytes.firstRange(of: store.versions(3)[0].payload)).lowerBound
    bytes[place + 50] ^= 1
    disk.replace(try Self.segment(disk), with: bytes)
    var opened = try Self.open(disk)
    try opened.putAll([store.notes[3]])
    try opened.close()
    for isAccepted in [false, true] {
      if isAccepted {
        opened = try Self.open(disk)
        try opened.acceptEvidence()
        try opened.close()
      }
      let copy = disk.copy()
      for (disk, title) in [(disk, "other"), (copy, "third")] {
        opened = try Self.open(disk)
        try opened.write { tx in try tx.update(Note.self, store.notes[2].id) { $0.set(\.title, title) } }
        try opened.close()
      }
      var mixed = try ForgedStore(disk).moment()
      let theirs = try ForgedStore(copy).moment().versions(of: store.id(2))[0]
      #expect(theirs.revision == mixed.versions(of: store.id(2))[0].revision)
      mixed.put(theirs)
      // Before it is accepted, what was replaced can't be told; then another copy's version is found.
      let found = try AttackedStore.findings(mixed)
      #expect(found.count == 1)
      #expect(found.first?.contains("can't be told until it is accepted") == !isAccepted)
    }
  }

  // MARK: - An open store, and other writers.

  @Test func `what is altered while a store is open is found by the next audit`() throws {
    let store = try AttackedStore()
    let opened = try Self.open(store.disk)
    #expect(try opened.audit().isSound)
    try store.disk.edit(try Self.segment(store.disk)) { frame in
      if frame == store.versions(2)[0] { frame.payload[try frame.value(1).lowerBound] ^= 1 }
    }
    let found = try opened.audit().findings
    #expect(found.count == 1 && found.first?.message.contains("changed without the key") == true)
    try opened.close()
  }

  @Test func `what a program wrote that keeps no evidence is found`() throws {
    let store = try AttackedStore()
    let opened = try Self.open(store.disk)
    opened.journal.attester.withLock { $0 = nil }
    try opened.putAll([store.notes[5]])
    #expect(try opened.audit().findings.map(\.message).first?.contains(Self.dropped) == true)
    // Without a seal, too.
    var batch = Batch()
    batch.put(RecordID().bytes, collection: 1, bodyByteCount: 4) { $0.store(1 as UInt32, at: 0) }
    try opened.journal.commit(&batch)
    #expect(try opened.audit().findings.first?.message.contains("added without the key") == true)
    try opened.close()
    #expect(try AttackedStore.findings(try ForgedStore(store.disk).moment()).count == 2)
  }

  /// Whoever changes the files back and forth between writes that no audit precedes has a deletion undone.
  @Test func `an audit tells what was done since the last, where each opening was audited before it wrote`()
    throws
  {
    let store = try AttackedStore()
    let id = store.id(2)
    // The record is hidden, and put anew.
    var forged = store.now
    forged.drop(id)
    var disk = try forged.disk()
    var opened = try Self.open(disk)
    // Whoever audits is told here.
    #expect(try !opened.audit().isSound)
    try opened.putAll([store.notes[2]])
    try opened.close()
    // As it was before it is brought back, and deleted.
    let second = try ForgedStore(disk).moment()
    forged = second
    forged.put(store.versions(2)[0])
    forged.nextSequence = second.nextSequence
    disk = try forged.disk()
    opened = try Self.open(disk)
    #expect(try !opened.audit().isSound)
    try opened.write { tx in try tx.delete(Note.self, store.notes[2].id) }
    #expect(try opened.get(Note.self, store.notes[2].id) == nil)
    try opened.close()
    // What was put anew is brought back, and fits.
    forged = try ForgedStore(disk).moment()
    forged.put(second.versions(of: id)[0])
    #expect(try AttackedStore.findings(forged) == [])
  }

  // MARK: - Indexes and large values.

  enum Lie: CaseIterable { case missing, anOlderVersion }

  @Test(arguments: Lie.allCases) func `an index that hides a record, or names an older version, is noticed`(
    lie: Lie
  )
    throws
  {
    let store = try AttackedStore()
    let opened = try Self.open(store.disk)
    let (catalog, id) = (opened.journal.catalog, store.id(0))
    let fingerprint = catalog.index.fingerprint(of: id)
    let place = try #require(try catalog.location(of: id)?.place)
    switch lie {
    case .missing: #expect(try catalog.index.remove(fingerprint, at: place))
    case .anOlderVersion:
      var found: FrameAddress?
      for segment in catalog.segments.all {
        _ = try segment.forEachEntry(upTo: segment.visibleEnd) { entry, _ in
          if entry.id == id, found == nil {
            found = FrameAddress(segment: segment.number, offset: entry.offset)
          }
        }
      }
      #expect(try catalog.index.replace(fingerprint, at: place, with: try #require(found)))
    }
    try opened.journal.checkpoint()
    try opened.close()
    let again = try Self.open(store.disk)
    #expect(again.journal.report.checkpoint == .used)
    #expect(try again.get(Note.self, store.notes[0].id)?.title == (lie == .missing ? nil : "first"))
    #expect(try again.audit().findings.first?.message.contains(Self.dropped) == true)
    try again.close()
  }

  /// A record that no order lists is hidden from queries of its field.
  @Test func `an order that lacks a key is noticed`() throws {
    let store = try AttackedStore()
    var opened = try Self.open(store.disk)
    try opened.putAll((0..<2_000).map { Note(title: "note \($0)") })
    opened.journal.orderKeeper.withLock { $0 = nil }
    try opened.journal.checkpoint()
    let name = OrderName(collection: 1, field: 1)
    let frames = try ForgedStore(store.disk).moment().frames.filter { $0.header.collection == 1 }
    let entries = frames.filter { $0.id != store.id(2) && $0.header.kind == .record }.map { frame in
      let key = Envelope.sortKey(of: 1, in: frame.payload.rawSpan) ?? 0..<0
      return OrderedEntry(key: frame.payload.rawSpan.extracting(key), RecordID(frame.id))
    }
    #expect(entries.count == 2_003)
    try opened.journal.storeOrder(name, since: opened.journal.lastSequence) { writer throws(NotelogError) in
      for entry in entries.sorted() {
        var bytes = Buffer()
        bytes.appendZeros(StoredOrder.keyByteCount)
        var span = bytes.mutableBytes
        entry.write(into: &span)
        try writer.append(bytes.bytes)
      }
      return true
    }
    let disk = store.disk.copy()
    try opened.close()
    opened = try Self.open(disk)
    let oldest = try opened.query(Note.self).sorted(by: \.time).limit(4).entries().map(\.id)
    #expect(oldest.contains(store.notes[3].id) && !oldest.contains(store.notes[2].id))
    #expect(try opened.get(Note.self, store.notes[2].id) != nil)
    let found = try opened.audit().findings
    #expect(found.count == 1 && found[0].message.contains("an index lacks records"))
    try opened.close()
    #expect(try Store.verify(in: disk, unlocking: AttackedStore.key).findings.contains { $0.isDamage })
  }

  /// It has other keys than the moment that is audited.
  @Test func `an order that was stored behind a moment is no alarm`() throws {
    let store = try AttackedStore()
    let opened = try Self.open(store.disk)
    let keeper = try #require(opened.evidence.withLock { $0 })
    let moment = opened.journal.snapshot()
    try opened.write { tx in try tx.update(Note.self, store.notes[2].id) { $0.set(\.time, .distantPast) } }
    opened.journal.orderKeeper.withLock { $0 = nil }
    try opened.journal.checkpoint()
    let name = OrderName(collection: 1, field: 1)
    try opened.journal.storeOrder(name, since: opened.journal.lastSequence) { _ in true }
    #expect(opened.journal.storedOrder(name) != nil)
    var auditor = try Auditor(try keeper.load(moment).state, opened.vault)
    try auditor.add(moment)
    #expect(try auditor.differences() == [])
    try opened.close()
  }

  /// Queries read most sort keys from footers.
  @Test func `a footer that lies of a sort key is noticed`() throws {
    let store = try AttackedStore()
    let genuine = try #require(store.versions(2).last)
    var forged = store.now
    let key = Envelope.sortKey(of: 1, in: genuine.payload.rawSpan) ?? 0..<0
    forged.change(store.id(2)) { $0.payload[key.lowerBound] ^= 0xFF }
    let disk = try forged.disk()
    try disk.edit(try Self.segment(disk)) { if $0.id == genuine.id { $0.payload = genuine.payload } }
    let opened = try AttackedStore.open(disk)
    let found = try opened.audit().findings
    #expect(found.count == 1 && found[0].message.contains("what segments list is not what is in them"))
    let time = store.notes[2].time
    let range = opened.query(Note.self).where(.field(\.time, in: time...time))
    #expect(try range.entries().isEmpty && opened.get(Note.self, store.notes[2].id)?.time == time)
    try opened.close()
    #expect(try Store.verify(in: disk, unlocking: AttackedStore.key).findings.contains { $0.isDamage })
  }

  @Test func `a large value without a chunk does not open, and an audit does not look at it`() throws {
    let scan = Scan(bytes: (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    let store = try AttackedStore { store, _ in try store.putAll([scan]) }
    let chunks = store.now.frames.filter { $0.header.kind == .chunk }
    #expect(chunks.count == 2)
    var forged = store.now
    forged.frames.removeAll { $0 == chunks[1] }
    let opened = try AttackedStore.open(try forged.disk())
    #expect(try opened.audit().isSound)
    #expect(throws: NotelogError.self) { try opened.get(Scan.self, scan.id)?.bytes }
    try opened.close()
    let found = try Store.verify(in: try forged.disk(), unlocking: AttackedStore.key)
    #expect(found.findings.contains { $0.isDamage })
  }

  /// Whoever was granted a key seals what they like under it.
  @Test func `who was granted a key changes large values under it unnoticed, and no other value`() throws {
    let (large, small) = (Scan(bytes: [UInt8](repeating: 1, count: 70_000)), Scan(bytes: [1, 2, 3]))
    let store = try AttackedStore { store, _ in try store.putAll([large, small]) }
    let opened = try AttackedStore.open(store.disk)
    let plan = try #require(opened.registry.withLock { $0.byNumber[2]?.plan })
    var forged = store.now
    var nonces = NonceRun()
    for scan in [large, small] {
      let stored = try #require(try opened.get(Scan.self, scan.id)).stored
      let entry = try #require(try stored.entries().first)
      let key = try opened.vault.sealingKey(KeyReference(rawValue: entry.keyReference))
      guard entry.flags.contains(.chunked) else {
        let content = try SealedContent(
          sealing: [4, 5, 6].rawSpan, entry, under: key, plan.additionalData(entry, 0, scan.id), &nonces)
        try forged.change(scan.id.bytes) { $0.payload.replaceSubrange(try $0.value(1), with: content.bytes) }
        continue
      }
      let value = ValueReference.value(in: stored.body.rawSpan.extracting(entry.range))
      var batch = Batch()
      let sealer = ChunkSealer(key, entry, as: value, of: scan.id, 0, plan)
      try sealer.put([UInt8](repeating: 2, count: 65_536).rawSpan, 0, isLast: false, &nonces, into: &batch)
      let payload = batch.buffer.bytes.extracting(batch.frames[0].payload).array()
      let first = try #require(forged.frames.firstIndex { $0.id == value && $0.payload[0] == 0 })
      forged.frames[first].payload = payload
    }
    try opened.close()
    let attacked = try AttackedStore.open(try forged.disk())
    #expect(
      try attacked.get(Scan.self, large.id)?.bytes == [UInt8](repeating: 2, count: 65_536)
        + [UInt8](repeating: 1, count: 4_464))
    #expect(try attacked.get(Scan.self, small.id)?.bytes == [4, 5, 6])
    let found = try attacked.audit().findings
    #expect(found.count == 1 && found[0].message.contains("changed without the key, 1 record: \(small.id)"))
    try attacked.close()
  }
}
