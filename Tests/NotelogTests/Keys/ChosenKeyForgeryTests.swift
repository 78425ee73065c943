// Records whose key was renamed on the disk (SECURITY.md, A2).

import Foundation
@testable import NotelogBase
import NotelogCrypto
@testable import Notelog
import NotelogTestSupport
import Testing

private let tampered = NotelogError(.tampered, "")

@Suite struct ChosenKeyForgeryTests {
  /// Writes a record anew under checksums that fit, as somebody does who has the files.
  private func forge(
    _ store: Store, _ id: RecordID, _ change: (inout [UInt8], OwnedRecord) throws -> Void
  ) throws {
    let stored = try #require(try store.get(Belonging.self, id)).stored
    var body = stored.body
    try change(&body, stored)
    var buffer = ReadBuffer()
    _ = try store.journal.records.read(id.bytes, into: &buffer)
    let envelope = buffer.envelope.array()
    var batch = Batch()
    let (collection, bytes) = (stored.record.collection, body)
    batch.put(
      id.bytes, collection: collection, envelopeByteCount: envelope.count, bodyByteCount: bytes.count
    ) { target in
      target.copy(envelope.rawSpan, at: 0)
      target.copy(bytes.rawSpan, at: envelope.count)
    }
    try store.journal.commit(&batch, .durable)
  }

  private func field(_ name: String, _ store: Store) throws -> UInt16 {
    UInt16(try #require(try store.collection("item").fields.first { $0.name == name }).number)
  }

  private func setShelter(_ body: inout [UInt8], _ stored: OwnedRecord, _ store: Store, _ shelter: Shelter)
    throws
  {
    let range = try #require(try stored.find(field("shelter", store))).range
    body.replaceSubrange(range, with: Array(shelter.rawValue.utf8))
  }

  /// Has the directory say that a field's value is under another key.
  private func setKey(_ body: inout [UInt8], _ number: UInt16, _ key: UInt32) {
    for offset in stride(from: 4, to: 4 + 12 * Int(body[2]), by: 12) where body[offset] == UInt8(number) {
      for byte in 0..<4 { body[offset + 4 + byte] = UInt8(truncatingIfNeeded: key >> (8 * UInt32(byte))) }
    }
  }

  @Test func `INV-M6 a record whose key was renamed on the disk gives none of what is sealed under it`()
    throws
  {
    let folder = try TemporaryFolder()
    let store = try Shelter.makeStore(folder)
    let item = Belonging(title: "t", name: "n", secret: "s", scan: noise(100_000), remark: "r")
    try store.putAll([item, Belonging(shelter: .work)])
    try forge(store, item.id) { body, stored in try setShelter(&body, stored, store, .work) }
    let entry = try #require(try store.get(Belonging.self, item.id))
    #expect(try entry.shelter == .work && entry.remark == "r")
    #expect(throws: tampered) { try entry.secret }
    #expect(throws: tampered) { try entry.name }
    #expect(throws: tampered) { try entry.scan }
    #expect(throws: tampered) { try entry.content(of: \.scan) }
    var buffer = ValueBuffer()
    #expect(throws: tampered) {
      try store.get(try store.field(\Belonging.secret), of: item.id, using: &buffer)
    }
    #expect(try store.query(Belonging.self).where(\.secret, is: "s").count() == 0)
    // Nothing is sealed anew by its word.
    let changes: [(inout Draft<Belonging>) -> Void] = [
      { $0.set(\.secret, "new") }, { $0.set(\.shelter, .away) },
    ]
    for change in changes {
      #expect(throws: tampered) { try store.write { tx in try tx.update(Belonging.self, item.id, change) } }
    }
    // What isn't sealed by its word is changed as ever.
    try store.write { tx in try tx.update(Belonging.self, item.id) { $0.set(\.title, "u") } }
    #expect(throws: tampered) { try store.get(Belonging.self, item.id)?.secret }
    #expect(throws: tampered) {
      try store.upload(to: \Belonging.scan, of: item.id) { _ in 0 }
    }
    #expect(try store.rotate("home").failedCount == 1)
    try store.close()
    for key in [TemporaryFolder.key, nil] {
      let verification = try Store.verify(at: folder.path, unlocking: key)
      #expect(verification.findings.count >= 3 && verification.findings.allSatisfy { $0.record == item.id })
      #expect(!verification.isSound(.tags))
    }
    // Put whole, it is as the app says.
    let again = try folder.open()
    try again.write { tx in try tx.put(item) }
    #expect(try again.get(Belonging.self, item.id)?.record() == item)
  }

  /// The attacker has `work`, and alters the directory as well: what is written from then on is to be under
  /// it.
  @Test
  func
    `a record whose key was renamed in all of its places is tampered, and nothing new is sealed by its word`()
    throws
  {
    let folder = try TemporaryFolder()
    let store = try Shelter.makeStore(folder)
    let item = Belonging(title: "t", name: "n", secret: "s", scan: noise(100_000), remark: "r")
    try store.putAll([item, Belonging(shelter: .work)])
    let key = try Shelter.number("work", store)
    try forge(store, item.id) { body, stored in
      try setShelter(&body, stored, store, .work)
      for name in ["name", "secret", "scan"] { setKey(&body, try field(name, store), key) }
    }
    let entry = try #require(try store.get(Belonging.self, item.id))
    for read in [{ _ = try entry.secret }, { _ = try entry.name }, { _ = try entry.scan }] {
      #expect(throws: tampered) { try read() }
    }
    let before = try Shelter.counts(store)
    #expect(throws: tampered) {
      try store.write { tx in try tx.update(Belonging.self, item.id) { $0.set(\.secret, "new") } }
    }
    #expect(throws: tampered) {
      let collection = try store.collection("item")
      try collection.update(item.id, ["secret": .text("new")])
    }
    #expect(throws: tampered) { try store.upload(to: \Belonging.scan, of: item.id) { _ in 0 } }
    #expect(throws: tampered) {
      try store.write { tx in try tx.update(Belonging.self, item.id) { $0.set(\.shelter, .away) } }
    }
    #expect(try Shelter.counts(store) == before)
    // What isn't sealed under it is changed as ever.
    try store.write { tx in try tx.update(Belonging.self, item.id) { $0.set(\.title, "u") } }
    #expect(try store.get(Belonging.self, item.id)?.title == "u")
  }

  @Test func `a record that names no key any more, or one that there isn't, gives nothing`() throws {
    let folder = try TemporaryFolder()
    let store = try Shelter.makeStore(folder)
    let item = Belonging(secret: "s")
    try store.putAll([item])
    let number = try field("shelter", store)
    try forge(store, item.id) { body, stored in
      let range = try #require(try stored.find(number)).range
      body.replaceSubrange(range, with: Array("hole".utf8))
    }
    #expect(throws: tampered) { try store.get(Belonging.self, item.id)?.secret }
    try store.write { tx in try tx.put(item) }
    // Without it: renumbered to a field that the schema doesn't know, as the last of the directory.
    try forge(store, item.id) { body, stored in
      let entries = try stored.entries()
      let gone = try #require(entries.firstIndex { $0.number == number })
      let start = 4 + 12 * gone
      let removed = entries[gone].range
      body.removeSubrange(removed)
      body.removeSubrange(start..<start + 12)
      body[2] -= 1
    }
    #expect(try store.get(Belonging.self, item.id)?.shelter == .home)
    #expect(throws: tampered) { try store.get(Belonging.self, item.id)?.secret }
  }
}
