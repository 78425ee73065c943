// What stands in a record for a large value is authenticated: FORMAT.md 8.

@testable import NotelogBase
import Foundation
@testable import Notelog
import Testing

@Suite struct ForgedReferenceTests {
  /// An entry of a record whose body was altered.
  private func altered(
    _ entry: Entry<Letter>, _ change: (inout [UInt8], Range<Int>) -> Void
  ) throws -> Entry<Letter> {
    var body = entry.stored.body
    change(&body, try #require(try entry.stored.find(3)).range)
    let stored = try OwnedRecord(
      id: entry.id, revision: entry.revision, collection: entry.stored.record.collection,
      copying: body.rawSpan)
    return Entry(stored: stored, reader: entry.reader)
  }

  private func expectTampered(_ entry: () throws -> Entry<Letter>, _ what: String) throws {
    #expect(throws: NotelogError(.tampered, ""), "\(what)") { _ = try entry().scan }
    #expect(throws: NotelogError(.tampered, ""), "\(what), by range") {
      _ = try entry().content(of: \.scan)?.read(0..<1)
    }
    #expect(throws: NotelogError(.tampered, ""), "\(what), behind the end") {
      _ = try entry().content(of: \.scan)?.read(300_000..<300_001)
    }
  }

  /// The bug: the reference was not authenticated. With a length forged from 405,264 to 70,000, reading what
  /// lies behind gave nothing, and no error.
  @Test func `every bit of a reference is authenticated, whatever is read by it`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let letter = Letter(subject: "kept", scan: noise(405_264))
    try store.write { tx in try tx.put(letter) }
    let entry = try #require(try store.get(Letter.self, letter.id))
    let byteCount = try #require(try entry.stored.find(3)).range.count
    for bit in 0..<(8 * byteCount) {
      let forged = { try self.altered(entry) { $0[$1.lowerBound + bit / 8] ^= 1 << UInt8(bit % 8) } }
      try expectTampered(forged, "bit \(bit)")
      #expect(try forged().subject == "kept", "bit \(bit)")
    }
    #expect(try entry.scan == letter.scan)
  }

  @Test func `a forged length is tampering, be it longer or shorter`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let letter = Letter(scan: noise(405_264))
    try store.write { tx in try tx.put(letter) }
    let entry = try #require(try store.get(Letter.self, letter.id))
    for length in [70_000, 65_537, 405_263, 405_265, 393_216, 458_752, 1 << 40] as [UInt64] {
      try expectTampered(
        {
          try self.altered(entry) { body, range in
            body.withBytes(in: range) { $0.store(length, at: 16) }
          }
        }, "length \(length)")
    }
  }

  /// Without a key, only what nobody could have written is found.
  @Test(arguments: [
    (length: 70_000 as UInt64, key: TemporaryFolder.key), (70_000, nil), (65_536, nil), (.max, nil),
  ])
  func `a reference forged in the store, under checksums that fit, is found by verify`(
    length: UInt64, key: Credential?
  ) throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let letter = Letter(scan: noise(405_264))
    try store.write { tx in try tx.put(letter) }
    let entry = try #require(try store.get(Letter.self, letter.id))
    let forged = try altered(entry) { body, range in body.withBytes(in: range) { $0.store(length, at: 16) } }
    var buffer = ReadBuffer()
    _ = try store.journal.records.read(letter.id.bytes, into: &buffer)
    let (envelope, body) = (buffer.envelope.array(), forged.stored.body)
    var batch = Batch()
    batch.put(
      letter.id.bytes, collection: entry.stored.record.collection, envelopeByteCount: envelope.count,
      bodyByteCount: body.count
    ) { bytes in
      bytes.copy(envelope.rawSpan, at: 0)
      bytes.copy(body.rawSpan, at: envelope.count)
    }
    _ = try store.journal.commit(&batch, .durable)
    try store.close()
    let found = try Store.verify(at: folder.path, unlocking: key)
    #expect(found.isSound(.tags) == (key == nil && length == 70_000))
    #expect(found.isSound(.structure) && found.isSound(.records))
  }

  @Test func `a reference of another record, field or version is tampering`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var letter = Letter(scan: noise(150_000, seed: 1), back: noise(150_000, seed: 2))
    let other = Letter(scan: noise(150_000, seed: 1))
    try store.putAll([letter, other])
    let old = try #require(try store.get(Letter.self, letter.id))
    letter.scan = noise(150_000, seed: 3)
    try store.write { tx in try tx.put(letter) }
    let entry = try #require(try store.get(Letter.self, letter.id))
    func reference(_ entry: Entry<Letter>, _ number: UInt16) throws -> [UInt8] {
      entry.stored.body.rawSpan.extracting(try #require(try entry.stored.find(number)).range).array()
    }
    let own = try reference(entry, 3)
    // An older version's reference in one piece is an older value, which nothing tells (SECURITY.md A2): its
    // halves are not.
    let older = try reference(old, 3)
    let strangers = [
      try reference(#require(try store.get(Letter.self, other.id)), 3), try reference(entry, 4),
      Array(older.prefix(24) + own.dropFirst(24)), Array(own.prefix(24) + older.dropFirst(24)),
    ]
    for (place, stranger) in strangers.enumerated() {
      try expectTampered(
        { try self.altered(entry) { $0.replaceSubrange($1, with: stranger) } }, "stranger \(place)")
    }
  }

  /// The bug: a locked dump showed a large value with the 32 bytes of its reference.
  @Test func `without a key a large value is shown with its size`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let letter = Letter(subject: "short", scan: noise(405_264))
    try store.write { tx in try tx.put(letter) }
    store.lock(.everything)
    let entry = try #require(try store.collection("letter").get(letter.id))
    let sizes = Dictionary(uniqueKeysWithValues: entry.fields.map { ($0.name, $0.storedByteCount) })
    #expect(sizes["subject"] == 45)
    // Seven chunks, each with its seal.
    #expect(try #require(sizes["scan"]) - 405_264 - 7 * 40 == 64)
  }
}
