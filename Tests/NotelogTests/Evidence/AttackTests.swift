// What somebody without a key does to a store's records, and what an audit says of it: FORMAT.md §27.

import NotelogBase
import NotelogFormat
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct AttackTests {
  private static let dropped = "records were dropped, brought back or put back to other versions"
  private static let changed = "changed without the key"
  private static let added = "added without the key"
  private static let others = "versions of records are others than were written"
  private static let noise = [UInt8](repeating: 7, count: 16)

  // MARK: - One record's bytes.

  @Test func `a store that was put together of what is in force is sound`() throws {
    let store = try AttackedStore()
    #expect(try AttackedStore.findings(store.now) == [])
    // The revision of its state is there, and the number of its records.
    let opened = try AttackedStore.open(try store.now.disk())
    let audit = try opened.audit()
    #expect(audit.recordCount == 4 && audit.revision == store.all.frames.map(\.revision).max())
  }

  @Test func `a plain field that was edited is named`() throws {
    let store = try AttackedStore()
    var forged = store.now
    try forged.change(store.id(2)) { frame in frame.payload[try frame.value(1).lowerBound] ^= 1 }
    try AttackedStore.expect("\(Self.changed), 1 record: \(store.notes[2].id)", of: forged)
  }

  @Test func `a sealed value that was put back to an older one is named`() throws {
    let store = try AttackedStore()
    let versions = store.versions(0)
    var forged = store.now
    try forged.change(store.id(0)) { frame in
      let range = try frame.value(2)
      frame.payload.replaceSubrange(range, with: versions[0].payload[try versions[0].value(2)])
    }
    // It opens.
    #expect(try AttackedStore.title(forged, store.id(0)) == "first")
    try AttackedStore.expect(Self.changed, of: forged)
  }

  @Test func `a seal that was stripped, or replaced, is named`() throws {
    let store = try AttackedStore()
    var forged = store.now
    forged.change(store.id(2)) { $0 = $0.sealed(nil) }
    try AttackedStore.expect(Self.added, Self.others, of: forged)
    forged.change(store.id(2)) { $0 = $0.sealed(Self.noise) }
    try AttackedStore.expect(Self.changed, Self.others, of: forged)
  }

  @Test func `an envelope that lies, or stands without its value, is named`() throws {
    let store = try AttackedStore()
    var forged = store.now
    // The last byte of the sort key.
    forged.change(store.id(2)) { frame in
      frame.payload[frame.body.lowerBound - 1] ^= 1
    }
    try AttackedStore.expect(Self.changed, of: forged)
    // The envelope alone, with a body of no fields.
    forged = store.now
    forged.change(store.id(2)) { frame in
      frame.payload.replaceSubrange(frame.body, with: [1, 0, 0, 0])
    }
    try AttackedStore.expect(Self.changed, of: forged)
    // The envelope is taken away, or becomes part of the body.
    forged = store.now
    forged.change(store.id(2)) { frame in
      frame.payload.removeSubrange(..<frame.body.lowerBound)
      frame.header.hasEnvelope = false
    }
    try AttackedStore.expect(Self.changed, of: forged)
    forged = store.now
    forged.change(store.id(2)) { $0.header.hasEnvelope = false }
    try AttackedStore.expect(Self.changed, of: forged)
  }

  // MARK: - Frames that somebody with the key wrote, in other places.

  @Test func `a record that was put back to an older version is noticed`() throws {
    let store = try AttackedStore()
    let versions = store.versions(0)
    #expect(versions.count == 3)
    for old in versions.dropLast() {
      var forged = store.now
      forged.put(old)
      try AttackedStore.expect(Self.dropped, of: forged)
      // Under the newest's revision, which no seal names.
      forged.put(old.at(versions[2].revision))
      try AttackedStore.expect(Self.others, of: forged)
    }
  }

  @Test func `the first frame of a record in a transaction in the place of the last is noticed`() throws {
    let store = try AttackedStore()
    let twice = store.versions(1).suffix(2)
    #expect(Set(twice.map(\.revision)).count == 1)
    var forged = store.now
    forged.put(try #require(twice.first))
    #expect(try AttackedStore.title(forged, store.id(1)) == "other")
    try AttackedStore.expect(Self.others, of: forged)
  }

  @Test func `records that were dropped, brought back or deleted are noticed`() throws {
    let store = try AttackedStore()
    var forged = store.now
    forged.drop(store.id(2))
    try AttackedStore.expect("\(Self.dropped); 3 are there, and 4 were", of: forged)
    // Deleted.
    let last = try #require(store.versions(2).last)
    forged.put(
      ForgedStore.Frame(
        FrameHeader(.tombstone, collection: 1, sequence: last.revision + 1, id: last.id), []))
    try AttackedStore.expect(Self.dropped, of: forged)
    // Another one is brought back in its place.
    let deleted = try #require(store.versions(4).first)
    forged.put(deleted)
    try AttackedStore.expect("\(Self.dropped); 4 are there, and 4 were", of: forged)
    // It alone.
    forged = store.now
    forged.put(deleted)
    try AttackedStore.expect("\(Self.dropped); 5 are there, and 4 were", of: forged)
  }

  /// What a live set, a footer or a compaction of an attacker's leaves out.
  @Test func `a segment that was dropped is noticed`() throws {
    let store = try AttackedStore()
    var forged = store.now
    let ids = forged.frames.filter { $0.header.collection == 1 }.map(\.id)
    for id in ids { forged.drop(id) }
    try AttackedStore.expect("\(Self.dropped); 0 are there, and 4 were", of: forged)
  }

  @Test func `a frame under another id, collection or revision is noticed`() throws {
    let store = try AttackedStore()
    let frame = try #require(store.versions(2).last)
    var forged = store.now
    forged.drop(store.id(3))
    var other = frame
    other.header.id = store.id(3)
    forged.put(other)
    try AttackedStore.expect(Self.changed, Self.others, of: forged)
    forged = store.now
    forged.put(frame.at(frame.revision + 1))
    try AttackedStore.expect(Self.dropped, of: forged)
    // There is no such collection: no query comes upon it.
    forged = store.now
    forged.change(store.id(2)) { $0.header.collection = 2 }
    try AttackedStore.expect(Self.changed, of: forged)
  }

  @Test func `a record that was made without the key is named`() throws {
    let store = try AttackedStore()
    for seal in [nil, Self.noise] {
      var frame = try #require(store.versions(2).last).sealed(seal)
      frame.header.id = store.id(5)
      for revision in [1, frame.revision, store.all.nextSequence] {
        var forged = store.now
        forged.put(frame.at(revision))
        let words = seal == nil ? Self.added : Self.changed
        try AttackedStore.expect("\(words), 1 record: \(store.notes[5].id)", Self.dropped, of: forged)
      }
    }
  }

  @Test func `frames of another store, and of another copy of this one, are noticed`() throws {
    let (one, two) = (try AttackedStore(), try AttackedStore())
    var forged = one.now
    var foreign = try #require(two.versions(2).last)
    foreign.header.id = one.id(2)
    forged.put(foreign)
    try AttackedStore.expect(Self.changed, Self.others, of: forged)
    // A copy parts ways, and writes the same record in the transaction of the same number.
    let (copy, id) = (one.disk.copy(), one.notes[2].id)
    for (disk, title) in [(one.disk, "other"), (copy, "third")] {
      let store = try Store.open(in: disk, unlocking: AttackedStore.key, options: EvidenceTests.options)
      try store.write { tx in try tx.update(Note.self, id) { $0.set(\.title, title) } }
      try store.close()
    }
    let (left, right) = (try ForgedStore(one.disk).moment(), try ForgedStore(copy).moment())
    let (mine, theirs) = (left.versions(of: id.bytes)[0], right.versions(of: id.bytes)[0])
    #expect(mine.revision == theirs.revision && mine != theirs)
    #expect(try AttackedStore.findings(left) == [] && AttackedStore.findings(right) == [])
    var mixed = left
    mixed.put(theirs)
    #expect(try AttackedStore.title(mixed, id.bytes) == "third")
    try AttackedStore.expect(Self.others, of: mixed)
  }

  @Test func `a restored store is sound, and takes no frame of what went on elsewhere`() throws {
    let store = try AttackedStore()
    let (archive, restored) = (SimulatedDisk(), SimulatedDisk())
    try Shipper(store.disk, to: archive.archive).ship()
    _ = try Store.restore(archive.archive, to: restored, unlocking: AttackedStore.key)
    for (disk, title) in [(store.disk, "other"), (restored, "third")] {
      let opened = try Store.open(in: disk, unlocking: AttackedStore.key, options: EvidenceTests.options)
      let audit = try opened.audit()
      #expect(audit.isSound && audit.isRestored == (disk === restored))
      try opened.write { tx in try tx.update(Note.self, store.notes[2].id) { $0.set(\.title, title) } }
      #expect(try !opened.audit().isRestored)
      try opened.close()
    }
    var forged = try ForgedStore(restored).moment()
    #expect(try AttackedStore.findings(forged) == [])
    let later = try #require(ForgedStore(store.disk).versions(of: store.id(2)).last)
    forged.put(later)
    #expect(try !AttackedStore.findings(forged).isEmpty)
  }

  // MARK: - Collection 0.

  @Test func `what somebody puts into collection 0 hides no record, and shows none`() throws {
    let store = try AttackedStore()
    // In a record's place.
    var forged = store.now
    let state = try #require(store.now.versions(of: FrameHeader.stateID).last)
    var poison = state.at(store.all.nextSequence)
    poison.header.id = store.id(2)
    forged.put(poison)
    try AttackedStore.expect(Self.dropped, of: forged)
    // Beside all others: it is nobody's, and verification says so.
    forged = store.now
    poison.header.id = ID16(low: 0xFFFE, high: 0)
    forged.put(poison)
    poison.header.id = ID16(low: 1 << 40, high: 9)
    forged.put(poison)
    #expect(try AttackedStore.findings(forged) == [])
    let found = try Store.verify(in: try forged.disk(), unlocking: AttackedStore.key)
    let words = "schemas: of collection 65534 lost; records of collection 0 that are no schemas: 1"
    #expect(found.findings.contains { $0.message.contains(words) }, "\(found.findings)")
    // The state's deletion.
    forged = store.now
    forged.put(
      ForgedStore.Frame(
        FrameHeader(.tombstone, sequence: store.all.nextSequence, id: FrameHeader.stateID), []))
    try AttackedStore.expect("the store's evidence is missing", of: forged)
  }
}
