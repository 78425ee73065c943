// What somebody without the key does to the state, the keyring and the schemas, and what an audit says of it.

import NotelogBase
import NotelogFormat
import NotelogTestSupport
import Testing

@testable import Notelog
@testable import NotelogCrypto

/// A note with one more field.
private struct Tagged: Record {
  var id = RecordID()
  var tag = ""
  static let schema = Schema<Tagged>("note") {
    Kept("time")
    Kept("title")
    Kept("body")
    Plain("tag", \.tag)
  }
}

@Suite struct AttackOnKeysTests {
  private static let missing = "the store's evidence is missing"
  private static let support = Notelog.Credential.key([UInt8](repeating: 77, count: 32))
  private static let keyrings = ["keyring", "keyring.copy"]

  /// The files of a store at a moment: the parts that another moment may get.
  private static func files(_ disk: SimulatedDisk) throws -> ForgedStore { try ForgedStore(disk).moment() }

  private static func putKeyring(_ from: ForgedStore, into store: inout ForgedStore) {
    for name in keyrings { store.files[name] = from.files[name] }
  }

  private static func change(_ disk: SimulatedDisk, _ body: (Store) throws -> Void) throws {
    let store = try Store.open(in: disk, unlocking: AttackedStore.key, options: EvidenceTests.options)
    try body(store)
    try store.close()
  }

  // MARK: - The state.

  @Test func `a state that is missing, older, or of another revision is noticed`() throws {
    let store = try AttackedStore()
    let states = store.all.versions(of: FrameHeader.stateID)
    let last = try #require(states.last)
    var forged = store.now
    forged.drop(FrameHeader.stateID)
    try AttackedStore.expect(Self.missing, of: forged)
    for frame in [
      last.at(last.revision + 1), last.at(last.revision - 1), states[states.count - 2].at(last.revision),
    ] {
      forged = store.now
      forged.put(frame)
      try AttackedStore.expect(Self.missing, of: forged)
    }
    // An older one, as it was.
    for old in states.dropLast() {
      forged = store.now
      forged.put(old)
      #expect(try !AttackedStore.findings(forged).isEmpty)
    }
    // Its bytes: each is sealed.
    for place in last.payload.indices {
      forged = store.now
      forged.change(FrameHeader.stateID) { $0.payload[place] ^= 1 }
      #expect(try AttackedStore.findings(forged).count == 1, "byte \(place)")
    }
    // Too short for one, and of a record in another collection.
    for count in [0, 8, 47, 48, last.payload.count - 1] {
      forged = store.now
      forged.change(FrameHeader.stateID) { $0.payload.removeLast($0.payload.count - count) }
      #expect(try AttackedStore.findings(forged).count == 1)
    }
  }

  @Test func `writing ends at once where the state is not the store's, and reading does not`() throws {
    let store = try AttackedStore()
    var forged = store.now
    forged.drop(FrameHeader.stateID)
    let opened = try AttackedStore.open(try forged.disk())
    let refusal = #expect(throws: NotelogError(.tampered, "")) { try opened.putAll([Note(title: "new")]) }
    #expect(refusal?.message.contains("accept what is there, or restore the store") == true)
    #expect(throws: NotelogError(.tampered, "")) { try opened.head() }
    #expect(try opened.query(Note.self).entries().count == 4)
    try opened.compact()
    // Somebody who knows why takes what is there.
    try opened.acceptEvidence()
    #expect(try opened.audit().isSound)
    try opened.putAll([Note(title: "new")])
    #expect(try opened.audit().isSound && opened.audit().recordCount == 5)
    try opened.close()
  }

  /// Damage may have taken it, or somebody.
  @Test func `a state that can't be read refuses what is written, until it is accepted`() throws {
    let store = try AttackedStore()
    let disk = try store.now.disk()
    let name = try #require(disk.fileNames.first { FileName.segmentNumber($0) != nil })
    var bytes = try #require(disk.contents(name))
    let payload = try #require(store.all.versions(of: FrameHeader.stateID).last).payload
    bytes[try #require(bytes.firstRange(of: payload)).lowerBound + 20] ^= 1
    disk.replace(name, with: bytes)
    let opened = try AttackedStore.open(disk)
    #expect(try opened.audit().findings.count == 1)
    let refusal = #expect(throws: NotelogError(.tampered, "")) { try opened.putAll([Note(title: "new")]) }
    #expect(refusal?.message.contains("accept what is there") == true)
    try opened.acceptEvidence()
    try opened.putAll([Note(title: "new")])
    #expect(try opened.audit().isSound)
    try opened.close()
  }

  /// Not one that another process may have put there: what the index of an open store says.
  @Test func `a state that gets older while the store is open is noticed at the next write`() throws {
    let store = try AttackedStore()
    let opened = try AttackedStore.open(store.disk)
    for _ in 0..<2 { try opened.putAll([store.notes[5]]) }
    let (catalog, id) = (opened.journal.catalog, FrameHeader.stateID)
    let place = try #require(try catalog.location(of: id)?.place)
    var older: FrameAddress?
    for segment in catalog.segments.all {
      _ = try segment.forEachEntry(upTo: segment.visibleEnd) { entry, _ in
        let found = FrameAddress(segment: segment.number, offset: entry.offset)
        if entry.id == id, found != place, older == nil { older = found }
      }
    }
    #expect(
      try catalog.index.replace(catalog.index.fingerprint(of: id), at: place, with: try #require(older)))
    let refusal = #expect(throws: NotelogError(.tampered, "")) { try opened.putAll([store.notes[5]]) }
    #expect(refusal?.message.contains("the store is older than it was") == true)
    // Nor is that a moment to keep a head of.
    #expect(throws: NotelogError(.tampered, "")) { try opened.head() }
    try opened.close()
  }

  /// What was sealed ahead has no seal, or one under a generation that is not in force.
  @Test func `a batch from before evidence was kept, or its key was rotated, is to be made again`() throws {
    let disk = SimulatedDisk()
    var options = EvidenceTests.options
    options.keepsEvidence = false
    let store = try Store.create(in: disk, unlocking: AttackedStore.key, options: options)
    try store.putAll([Note(title: "first")])
    for change in [{ try store.makeEvidence() }, { try store.beginRotation(of: Store.evidenceKeyName) }] {
      var batch = try store.batch(of: Note.self)
      try batch.put(Note(title: "ahead"))
      try change()
      #expect(throws: NotelogError(.conflict, "")) { try batch.commit() }
      #expect(try store.audit().isSound)
    }
    try store.close()
  }

  /// Nobody sealed them: until they are put anew, their number alone tells of them.
  @Test func `of records from before evidence was kept, one that is gone is noticed, and another one is not`()
    throws
  {
    let disk = SimulatedDisk()
    var options = EvidenceTests.options
    options.keepsEvidence = false
    let store = try Store.create(in: disk, unlocking: AttackedStore.key, options: options)
    let notes = (0..<3).map { Note(title: "note \($0)") }
    for note in notes { try store.putAll([note]) }
    try store.makeEvidence()
    try store.close()
    var forged = try Self.files(disk)
    try AttackedStore.expect(of: forged)
    var other = try #require(forged.versions(of: notes[0].id.bytes).first)
    forged.drop(other.id)
    try AttackedStore.expect("2 are there, and 3 were", of: forged)
    other.header.id = RecordID().bytes
    forged.put(other)
    try AttackedStore.expect(of: forged)
    try Self.change(disk) { try $0.keepEvidence() }
    forged = try Self.files(disk)
    try AttackedStore.expect(of: forged)
    forged.put(other)
    #expect(try AttackedStore.findings(forged).count == 2)
  }

  @Test func `evidence that was stripped, seals and all, is missed: the keyring says that it is kept`() throws
  {
    let store = try AttackedStore()
    var forged = store.now
    forged.drop(FrameHeader.stateID)
    for id in forged.frames.map(\.id) { forged.change(id) { $0 = $0.sealed(nil) } }
    try AttackedStore.expect(Self.missing, of: forged)
  }

  /// Whoever was granted a key can seal what they like under it.
  @Test func `a state under another key than that of the evidence is none`() throws {
    let store = try AttackedStore()
    let opened = try AttackedStore.open(store.disk)
    let other = try opened.namedKey("personal").current.rawValue
    let keys = try EvidenceKeys.of(other, opened.vault)
    let (genuine, revision) = try #require(opened.evidence.withLock { $0 }).load()
    var state = genuine
    // A record is dropped, and the others get seals that fit.
    var forged = store.now
    forged.drop(store.id(2))
    state.recordCount -= 1
    var elements: [EvidenceTally.Element] = []
    for frame in forged.frames where frame.header.collection != 0 && frame.header.kind == .record {
      let seal = try keys.seal(
        frame.id, frame.header.collection, hasEnvelope: frame.header.hasEnvelope,
        Array(frame.payload[..<frame.body.upperBound]).rawSpan)
      forged.change(frame.id) { $0 = $0.sealed(seal.array) }
      elements.append((frame.id, frame.revision, seal))
    }
    state.generations = [.init(reference: other, start: 0, sums: try EvidenceTally.sums(of: elements, keys))]
    var plain = Buffer()
    state.append(to: &plain)
    var payload = Buffer()
    payload.append(UInt64(other))
    payload.appendZeros(plain.count + 40)
    var nonces = NonceRun()
    do {
      var bytes = payload.mutableBytes
      var target = bytes.part(from: 8)
      let data = EvidenceKeys.additionalData(opened.storeID, revision, other)
      try keys.data.seal(plain.bytes, additionalData: data.bytes, nonces: &nonces, into: &target)
    }
    let made = payload.bytes.array()
    forged.change(FrameHeader.stateID) { $0.payload = made }
    try AttackedStore.expect("the keyring is older than the state of the store", of: forged)
  }

  // MARK: - The keyring.

  @Test func `an older keyring is noticed, and a newer one is not where a crash came before its state`()
    throws
  {
    let store = try AttackedStore()
    let before = try Self.files(store.disk)
    try Self.change(store.disk) { try $0.createKey("work", .whenUnlocked) }
    let after = try Self.files(store.disk)
    #expect(try AttackedStore.findings(after) == [])
    var forged = after
    Self.putKeyring(before, into: &forged)
    try AttackedStore.expect("the keyring is an older one than the store had", of: forged)
    forged = before
    Self.putKeyring(after, into: &forged)
    #expect(try AttackedStore.findings(forged) == [])
  }

  @Test func `a grant that was taken away, and a credential, don't come back unnoticed`() throws {
    let store = try AttackedStore()
    try Self.change(store.disk) { try $0.grant(["personal"], to: Self.support) }
    let granted = try Self.files(store.disk)
    try Self.change(store.disk) { try $0.removeCredential(Self.support) }
    let revoked = try Self.files(store.disk)
    var forged = revoked
    Self.putKeyring(granted, into: &forged)
    try AttackedStore.expect("the keyring is an older one than the store had", of: forged)
    // Whoever has it opens what it opens: that is no matter of evidence.
    let opened = try Store.open(
      in: try forged.disk(), unlocking: Self.support, options: EvidenceTests.options)
    #expect(!opened.isUnlocked && opened.keepsEvidence)
    #expect(throws: NotelogError(.locked, "")) { try opened.audit() }
  }

  @Test func `another copy's keyring of the same generation is noticed`() throws {
    let store = try AttackedStore()
    let copy = store.disk.copy()
    try Self.change(store.disk) { try $0.createKey("work", .whenUnlocked) }
    try Self.change(copy) { try $0.grant(["personal"], to: Self.support) }
    let (mine, theirs) = (try Self.files(store.disk), try Self.files(copy))
    #expect(try AttackedStore.findings(mine) == [] && AttackedStore.findings(theirs) == [])
    var forged = mine
    Self.putKeyring(theirs, into: &forged)
    try AttackedStore.expect("the keyring is another copy's than the store had", of: forged)
  }

  /// A keyring with a higher generation passes, as after a crash: also another copy's.
  @Test func `another copy's keyring that was changed more often is not noticed`() throws {
    let store = try AttackedStore()
    let copy = store.disk.copy()
    try Self.change(copy) { try $0.grant(["personal"], to: Self.support) }
    var forged = try Self.files(store.disk)
    Self.putKeyring(try Self.files(copy), into: &forged)
    #expect(try AttackedStore.findings(forged) == [])
  }

  @Test func `a keyring from before evidence was kept is noticed beside a state, and beside a head`() throws {
    // Evidence is asked for later.
    let disk = SimulatedDisk()
    var options = EvidenceTests.options
    options.keepsEvidence = false
    let store = try Store.create(in: disk, unlocking: AttackedStore.key, options: options)
    try store.putAll([Note(title: "first")])
    try store.close()
    let before = try Self.files(disk)
    try Self.change(disk) { try $0.makeEvidence() }
    try Self.change(disk) { try $0.putAll([Note(title: "second")]) }
    var head: StoreHead?
    try Self.change(disk) { head = try $0.head() }
    let now = try Self.files(disk)
    #expect(try AttackedStore.findings(now, head) == [])
    var forged = now
    Self.putKeyring(before, into: &forged)
    try AttackedStore.expect("the keyring is older than the state of the store", of: forged)
    forged.drop(FrameHeader.stateID)
    for id in forged.frames.map(\.id) { forged.change(id) { $0 = $0.sealed(nil) } }
    // Nothing says any longer that there was evidence, but for a head.
    let opened = try AttackedStore.open(try forged.disk())
    #expect(!opened.keepsEvidence)
    #expect(throws: NotelogError(.notFound, "")) { try opened.audit() }
    let known = try AttackedStore.open(try forged.disk(), head)
    #expect(
      try known.audit().findings.map(\.message) == [
        "evidence: \(Self.missing), or not of this store and revision"
      ])
    #expect(throws: NotelogError(.tampered, "")) { try known.putAll([Note(title: "third")]) }
    #expect(try known.query(Note.self).entries().count == 2)
    // Locked, too.
    let locked = try AttackedStore.open(try forged.disk(), head, nil)
    let id = try #require(forged.frames.last { $0.header.collection == 1 }).id
    #expect(throws: NotelogError(.tampered, "")) {
      try locked.write { tx in try tx.delete(Note.self, RecordID(id)) }
    }
    try known.acceptEvidence()
    #expect(try known.audit().isSound && known.keepsEvidence)
  }

  @Test func `a keyring of noise with a later generation opens nothing, and the copy beside it serves`()
    throws
  {
    let store = try AttackedStore()
    let genuine = try #require(store.now.files["keyring"])
    var bytes = genuine
    bytes[34] = 1
    let end = bytes.count - 64
    for index in 112..<216 { bytes[index] = UInt8(truncatingIfNeeded: index &* 151) }
    for index in end..<end + 32 { bytes[index] = 7 }
    bytes.replaceSubrange(end + 32..<end + 64, with: try OpenSSL.sha256(Array(bytes[..<(end + 32)])))
    var forged = store.now
    for name in Self.keyrings { forged.files[name] = bytes }
    #expect(throws: NotelogError.self) { try AttackedStore.open(try forged.disk()) }
    // The plain fields are there.
    let locked = try AttackedStore.open(try forged.disk(), nil, nil)
    #expect(try locked.query(Note.self).entries().count == 4)
  }

  // MARK: - Schemas.

  @Test func `a schema that was dropped, or put back to an older one, is noticed`() throws {
    let store = try AttackedStore()
    let before = try Self.files(store.disk)
    try Self.change(store.disk) { try $0.putAll([Tagged(tag: "new")]) }
    let after = try Self.files(store.disk)
    #expect(try AttackedStore.findings(after) == [])
    let id = SchemaRecord.key(1)
    let words = "the schemas are others than the store had"
    var forged = after
    forged.put(before.versions(of: id)[0])
    forged.files["schemas"] = before.files["schemas"]
    try AttackedStore.expect(words, of: forged)
    // The log alone; then the file alone, which serves no longer.
    forged.files["schemas"] = after.files["schemas"]
    #expect(try AttackedStore.findings(forged).first?.contains(words) ?? true)
    forged = after
    forged.files["schemas"] = before.files["schemas"]
    #expect(try AttackedStore.findings(forged) == [])
    // Dropped from both.
    forged = after
    forged.drop(id)
    forged.files["schemas"] = nil
    let opened = try AttackedStore.open(try forged.disk())
    #expect(try opened.audit().findings.map(\.message) == ["evidence: " + words])
    // Dropped from the log: the file has it.
    forged.files["schemas"] = after.files["schemas"]
    #expect(try AttackedStore.findings(forged) == [])
    // The file has a newer one than the log had.
    forged = before
    forged.drop(id)
    forged.files["schemas"] = after.files["schemas"]
    try AttackedStore.expect(words, of: forged)
  }

  @Test func `schemas that were swapped open nothing`() throws {
    let store = try AttackedStore { store, _ in try store.putAll([Place(name: "s")]) }
    let (one, two) = (SchemaRecord.key(1), SchemaRecord.key(2))
    var forged = store.now
    let (first, second) = (store.now.versions(of: one)[0], store.now.versions(of: two)[0])
    forged.change(one) { $0.payload = second.payload }
    forged.change(two) { $0.payload = first.payload }
    forged.files["schemas"] = nil
    let opened = try? AttackedStore.open(try forged.disk())
    #expect(try opened.map { try !$0.audit().isSound } ?? true)
  }

  /// After a change of the root, schemas bear MACs under the new one.
  @Test func `a former schema key that is put back is noticed`() throws {
    let store = try AttackedStore()
    let before = try Self.files(store.disk)
    try Self.change(store.disk) { try $0.rekey(AttackedStore.key, to: AttackedStore.key) }
    let after = try Self.files(store.disk)
    #expect(try AttackedStore.findings(after) == [])
    var forged = after
    forged.put(before.versions(of: SchemaRecord.key(1))[0])
    forged.files["schemas"] = before.files["schemas"]
    let opened = try? AttackedStore.open(try forged.disk())
    #expect(try opened.map { try !$0.audit().isSound } ?? true)
    // With its keyring.
    Self.putKeyring(before, into: &forged)
    #expect(try !AttackedStore.findings(forged).isEmpty)
  }

  @Test func `another effaceable secret opens no value, and is no matter of evidence`() throws {
    let secret = Shreddable(text: "s")
    let store = try AttackedStore { store, _ in
      try store.createKey("gone", .whenUnlocked, isShreddable: true)
      try store.putAll([secret])
    }
    let name = try #require(store.now.files.keys.first { $0.hasSuffix(".effaceable") })
    var forged = store.now
    var bytes = try #require(forged.files[name])
    bytes[40] ^= 1
    let checksum = Checksum.of(Array(bytes[..<64]).rawSpan)
    for index in 0..<4 { bytes[64 + index] = UInt8(truncatingIfNeeded: checksum >> UInt32(8 * index)) }
    forged.files[name] = bytes
    #expect(try AttackedStore.findings(forged) == [])
    for (moment, text) in [(store.now, "s"), (forged, nil)] {
      let opened = try AttackedStore.open(moment.disk())
      let entry = try #require(try opened.get(Shreddable.self, secret.id))
      #expect((try? entry.text) == text)
      try opened.close()
    }
  }
}

/// A record type with a key of its own.
private struct Shreddable: Record {
  var id = RecordID()
  var text = ""
  static let schema = Schema<Shreddable>("shreddable") { Sealed("text", \.text, key: "gone") }
}

/// A record type beside notes.
private struct Place: Record {
  var id = RecordID()
  var name = ""
  static let schema = Schema<Place>("place") { Plain("name", \.name) }
}
