// Older versions of records, and the last transaction taken back (FORMAT.md 24, "Older versions").

import Foundation
import NotelogBase
import NotelogFormat
import NotelogTestSupport
import Testing

@testable import Notelog
@testable import NotelogCrypto

private struct Owner: Record {
  var id = RecordID()
  var name = ""
  static let schema = Schema<Owner>("owner") {
    Plain("name", \.name, indexed: true)
    Unique(\.name)
  }
}

private struct Pet: Record {
  var id = RecordID()
  var owner: RecordID?
  static let schema = Schema<Pet>("pet") {
    Plain("owner", \.owner, indexed: true).referring(to: Owner.self, whenDeleted: .cascade)
  }
}

/// What a pet was before it had a rule.
private struct LoosePet: Record {
  var id = RecordID()
  var owner: RecordID?
  static let schema = Schema<LoosePet>("pet") { Plain("owner", \.owner, indexed: true) }
}

@Suite struct UndoTests {
  let folder: TemporaryFolder
  let store: Store
  let sheet = Leaflet(count: 1, title: "one", scan: noise(100_000))

  init() throws {
    folder = try TemporaryFolder()
    var options = Store.Options()
    options.keepsCommitTimes = true
    store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    // The schema is stored with the first record.
    try store.putAll([sheet])
  }

  private func update(_ body: (inout Draft<Leaflet>) -> Void) throws {
    try store.write { tx in try tx.update(Leaflet.self, sheet.id, body) }
  }

  @Test func `versions are listed and read until compaction, with their times and large values`() throws {
    let first = store.snapshot().revision
    try update { $0.set(\.scan, noise(90_000, seed: 2)) }
    try store.write { tx in try tx.delete(Leaflet.self, sheet.id) }
    let versions = try store.versions(of: sheet.id)
    #expect(versions.map(\.revision) == [first + 2, first + 1, first])
    #expect(versions.map(\.isDeletion) == [true, false, false])
    #expect(versions.allSatisfy { $0.time != nil && $0.collection == 1 })
    #expect(try store.get(Leaflet.self, sheet.id, revision: first)?.record() == sheet)
    #expect(try store.get(Leaflet.self, sheet.id, revision: first + 1)?.scan == noise(90_000, seed: 2))
    #expect(try store.get(Leaflet.self, sheet.id, revision: first + 2) == nil)
    let dynamic = try #require(try store.collection("sheet").get(sheet.id, revision: first))
    #expect(try dynamic.value("title") == .text("one"))
    #expect(try store.versions(of: RecordID()).isEmpty)
    try store.purge()
    #expect(try store.versions(of: sheet.id).isEmpty)
    #expect(try store.get(Leaflet.self, sheet.id, revision: first) == nil)
    try store.close()
    #expect(throws: NotelogError(.closed, "")) { try store.versions(of: sheet.id) }
  }

  @Test func `what compaction has moved has no time any more`() throws {
    let other = Leaflet(title: "other")
    try store.putAll([other])
    try update { $0.set(\.count, 2) }
    #expect(try store.versions(of: other.id).map { $0.time == nil } == [false])
    try store.purge()
    #expect(try store.versions(of: other.id).map { $0.time == nil } == [true])
  }

  @Test func `a change, a deletion and an addition are taken back, and an undo too`() throws {
    let (other, new) = (Leaflet(title: "other"), Leaflet(title: "new"))
    try store.putAll([other])
    try store.write { tx in
      try tx.update(Leaflet.self, sheet.id) { $0.set(\.scan, [1, 2, 3]) }
      try tx.delete(Leaflet.self, other.id)
      try tx.put(new)
    }
    let seen = store.snapshot().revision
    let undone = try store.undoLast()
    #expect(undone.revision == seen && undone.time != nil)
    #expect(undone.restored == [sheet.id, other.id].sorted() && undone.removed == [new.id])
    #expect(try store.get(Leaflet.self, sheet.id)?.record() == sheet)
    #expect(try store.get(Leaflet.self, other.id)?.record() == other)
    #expect(try store.get(Leaflet.self, new.id) == nil)
    let redone = try store.undoLast()
    #expect(redone.revision == seen + 1 && redone.restored == [sheet.id, new.id].sorted())
    #expect(redone.removed == [other.id])
    #expect(try store.get(Leaflet.self, sheet.id)?.scan == [1, 2, 3])
    #expect(try store.get(Leaflet.self, new.id)?.record() == new)
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  /// Compaction may leave an older version where it removed the one that was replaced.
  @Test func `after a compaction nothing is taken back`() throws {
    try update { $0.set(\.count, 2) }
    try update { $0.set(\.count, 3) }
    try store.purge()
    #expect(throws: NotelogError(.snapshotExpired, "")) { try store.undoLast() }
    #expect(try store.get(Leaflet.self, sheet.id)?.count == 3)
    try update { $0.set(\.count, 4) }
    try store.undoLast()
    #expect(try store.get(Leaflet.self, sheet.id)?.count == 3)
  }

  /// The last transaction stands in a segment that nothing died in, and what it replaced in one that goes.
  @Test func `after a compaction that left the last transaction where it was nothing is taken back`() throws {
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    for scan in 0..<2 {
      try store.putAll([Leaflet(id: sheet.id, title: "\(scan)", scan: noise(12_000, seed: UInt64(scan)))])
    }
    let summary = try store.compact()
    try #require(summary.removedSegments > 0, "\(summary)")
    #expect(throws: NotelogError(.snapshotExpired, "")) { try store.undoLast() }
    #expect(try store.get(Leaflet.self, sheet.id)?.title == "1")
    try store.close()
  }

  @Test func `schemas, rotations and values under replaced keys are not taken back`() throws {
    let fresh = Store.Options()
    let other = try TemporaryFolder()
    let empty = try Store.create(at: other.path, unlocking: TemporaryFolder.key, options: fresh)
    #expect(throws: NotelogError(.notFound, "")) { try empty.undoLast() }
    try empty.write { tx in _ = try tx.put(Leaflet()) }
    #expect(throws: NotelogError(.invalidArgument, "")) { try empty.undoLast() }
    try store.beginRotation(of: "personal")
    #expect(throws: NotelogError(.invalidArgument, "")) { try store.undoLast() }
    try update { $0.set(\.title, "two") }
    #expect(throws: NotelogError(.snapshotExpired, "")) { try store.undoLast() }
    #expect(try store.get(Leaflet.self, sheet.id)?.title == "two")
    // What stays under the key in force is taken back.
    try update { $0.set(\.title, "three") }
    try store.undoLast()
    #expect(try store.get(Leaflet.self, sheet.id)?.title == "two")
  }

  @Test func `a reseal of a rotation is not taken back`() throws {
    try store.beginRotation(of: "personal")
    try store.rotate("personal", .bytes(1))
    #expect(throws: NotelogError(.snapshotExpired, "")) { try store.undoLast() }
    while try !store.rotate("personal").isFinished {}
    #expect(throws: NotelogError(.invalidArgument, "")) { try store.undoLast() }
    #expect(try store.get(Leaflet.self, sheet.id)?.record() == sheet)
  }

  @Test func `a locked store takes nothing back, nor one without the value's key`() throws {
    try update { $0.set(\.count, 2) }
    store.lock(.whenUnlocked)
    #expect(throws: NotelogError(.locked, "")) { try store.undoLast() }
    try store.close()
    let reopened = try folder.open(nil)
    #expect(throws: NotelogError(.locked, "")) { try reopened.undoLast() }
    try reopened.unlock(TemporaryFolder.key)
    try reopened.undoLast()
    #expect(try reopened.get(Leaflet.self, sheet.id)?.count == 1)
  }

  @Test func `what was cascaded comes back whole, and rules hold`() throws {
    let owner = Owner(name: "Ann")
    let pets = (0..<3).map { _ in Pet(owner: owner.id) }
    try store.write { tx in _ = try tx.put(owner) }
    try store.putAll(pets)
    try store.write { tx in _ = try tx.delete(Owner.self, owner.id) }
    #expect(try store.query(Pet.self).count() == 0)
    #expect(try store.undoLast().restored.count == 4)
    #expect(try store.query(Pet.self).where(\.owner, is: owner.id).count() == 3)
    #expect(try store.query(Owner.self).where(\.name, is: "Ann").count() == 1)
    #expect(throws: NotelogError(.notUnique, "")) {
      try store.write { tx in _ = try tx.put(Owner(name: "Ann")) }
    }
  }

  /// Before there was a rule a record may have referred to none. The bug: what it came to refer to was taken
  /// back, and the record was deleted.
  @Test func `what was not touched stays, whatever rule there is on it`() throws {
    let (owner, pet) = (Owner(name: "Bob"), LoosePet(owner: RecordID()))
    try store.putAll([Owner(name: "Cy")])
    try store.putAll([LoosePet(owner: owner.id), pet])
    try store.migrate(Pet.self)
    try store.putAll([owner])
    #expect(try store.undoLast().removed == [owner.id])
    #expect(try store.query(Pet.self).count() == 2)
    try store.write { tx in _ = try tx.delete(Pet.self, pet.id) }
    #expect(try store.undoLast().restored == [pet.id])
  }

  /// Who writes to the files puts a version there that never was, with checksums that fit. Here it replaces
  /// the real one between two transactions of the owner's.
  @Test(arguments: ["other record", "bit", "unsealed"])
  func `a version that never was does not come back`(forgery: String) throws {
    let other = Leaflet(title: "other")
    try store.putAll([other])
    var buffer = ReadBuffer()
    var foreign = ReadBuffer()
    _ = try store.journal.records.read(sheet.id.bytes, into: &buffer)
    _ = try store.journal.records.read(other.id.bytes, into: &foreign)
    let envelope = buffer.envelope.array()
    var body = buffer.body.array()
    let title = try #require(try RecordBody(checking: body.rawSpan).find(2))
    switch forgery {
    case "other record":
      let moved = foreign.body.array()
      let value = try #require(try RecordBody(checking: moved.rawSpan).find(2)).range
      try #require(value.count == title.range.count)
      body.replaceSubrange(title.range, with: moved[value])
    case "bit": body[title.range.lowerBound + 30] ^= 1
    default:
      // The second entry of the directory: its flags and its key.
      body[4 + 12 + 3] = 0
      body.replaceSubrange(4 + 12 + 4..<4 + 12 + 8, with: [0, 0, 0, 0])
    }
    var batch = Batch()
    batch.put(
      sheet.id.bytes, collection: 1, envelopeByteCount: envelope.count, bodyByteCount: body.count
    ) { $0.copy((envelope + body).rawSpan, at: 0) }
    try store.journal.commit(&batch, .durable)
    try store.write { tx in try tx.put(Leaflet(id: sheet.id, title: "mine")) }
    #expect(throws: NotelogError(.tampered, "")) { try store.undoLast() }
    #expect(try store.get(Leaflet.self, sheet.id)?.title == "mine")
  }

  @Test func `a damaged version, or a lost one, does not let an older one come back`() throws {
    try update { $0.set(\.count, 2) }
    let place = try #require(try store.journal.catalog.location(of: sheet.id.bytes))
    try update { $0.set(\.count, 3) }
    try store.close()
    for offset in [Int(place.offset) + 45, Int(place.offset) + 8] {
      let name = "00000000000\(place.segment).journal"
      try folder.alter(name) { $0[offset] ^= 1 }
      let damaged = try folder.open()
      let error = #expect(throws: NotelogError.self) { try damaged.undoLast() }
      #expect(error?.code == .damaged || error?.code == .snapshotExpired)
      #expect(try damaged.get(Leaflet.self, sheet.id)?.count == 3)
      try damaged.close()
    }
  }

  /// Nobody can tell whose the frames were that are lost with their segment's footer.
  @Test func `where frames are lost nothing is taken back`() throws {
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    var places: [FrameAddress] = []
    for scan in 0..<3 {
      try store.putAll([Leaflet(id: sheet.id, title: "\(scan)", scan: noise(12_000, seed: UInt64(scan)))])
      places.append(try #require(try store.journal.catalog.location(of: sheet.id.bytes)).place)
    }
    try store.close()
    let name = FileName.segment(places[1].segment)
    var bytes = try #require(disk.contents(name))
    try #require(places[1].segment < places[2].segment && bytes.count < 20_000)
    for offset in places[1].offset..<bytes.count { bytes[offset] = 0xff }
    disk.replace(name, with: bytes)
    let damaged = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: options)
    let error = #expect(throws: NotelogError.self) { try damaged.undoLast() }
    #expect(error?.code == .damaged || error?.code == .snapshotExpired)
    #expect(try damaged.get(Leaflet.self, sheet.id)?.title == "2")
    try damaged.close()
  }

  /// A process that follows had let the value go when it was replaced.
  @Test func `another process reads a large value that came back`() throws {
    var options = Store.Options()
    options.isReadOnly = true
    let reader = try Store.open(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    #expect(try reader.get(Leaflet.self, sheet.id)?.scan == sheet.scan)
    try update { $0.set(\.scan, noise(70_000, seed: 3)) }
    try reader.refresh()
    #expect(try reader.get(Leaflet.self, sheet.id)?.scan == noise(70_000, seed: 3))
    try store.undoLast()
    try reader.refresh()
    #expect(try reader.get(Leaflet.self, sheet.id)?.scan == sheet.scan)
    // Who takes part in the count of what lives has it again.
    #expect(reader.journal.catalog.chunks.isComplete)
    #expect(reader.info().deadByteCount == store.info().deadByteCount)
  }

  /// The bug that this would be: a compaction that ran out of its budget had passed by the value while it was
  /// dead, and went on after it had come back.
  @Test func `a compaction that was left unfinished does not take what came back`() throws {
    let others = (0..<20).map { Leaflet(count: $0, scan: noise(70_000, seed: UInt64($0))) }
    try store.putAll(others)
    try store.write { tx in try tx.update(Leaflet.self, others[0].id) { $0.set(\.scan, []) } }
    let summary = try store.compact(.bytes(200_000))
    try #require(summary.isUnfinished && summary.removedSegments == 0, "\(summary)")
    try store.undoLast()
    try store.compact()
    try store.purge()
    #expect(try store.get(Leaflet.self, sheet.id)?.record() == sheet)
    for other in others { #expect(try store.get(Leaflet.self, other.id)?.scan == other.scan) }
  }
}
