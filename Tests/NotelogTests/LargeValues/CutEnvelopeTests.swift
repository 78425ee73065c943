// A record's envelope that no longer names what its body refers to: whoever has the files can cut it
// (FORMAT.md 8, INV-V1, INV-V3).

import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct CutEnvelopeTests {
  /// A store with an attachment, whose record was written again without its envelope, by somebody without a
  /// key; and one that was removed.
  private static func attacked() throws -> (disk: SimulatedDisk, letter: Letter) {
    let disk = SimulatedDisk()
    let letter = Letter(scan: noise(405_264, seed: 1), back: noise(100_000, seed: 2))
    let removed = Letter(scan: noise(300_000, seed: 3))
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    try store.write { tx in try tx.put(letter) }
    try store.write { tx in try tx.put(removed) }
    try store.write { tx in try tx.delete(Letter.self, removed.id) }
    var buffer = ReadBuffer()
    let collection = try #require(try store.journal.records.read(letter.id.bytes, into: &buffer)).collection
    let body = buffer.body.array()
    try store.close()
    let journal = try Journal.open(in: disk)
    var batch = Batch()
    batch.put(letter.id.bytes, collection: collection, bodyByteCount: body.count) {
      $0.copy(body.rawSpan, at: 0)
    }
    _ = try journal.commit(&batch, .durable)
    try journal.close()
    return (disk, letter)
  }

  private static func open(_ disk: SimulatedDisk) throws -> Store {
    try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
  }

  /// The bug: the chunks that no envelope names were dead, and a compaction destroyed them.
  @Test func `INV-V1 a chunk that only a body names lives, and is read`() throws {
    let (disk, letter) = try Self.attacked()
    let found = try Store.verify(in: disk, unlocking: nil)
    #expect(found.findings.contains { $0.isDamage && $0.message.contains("other large values") })
    var store = try Self.open(disk)
    try store.purge()
    #expect(try #require(try store.get(Letter.self, letter.id)).scan == letter.scan)
    try store.close()
    // What nobody names is gone.
    let segments = disk.fileNames.filter { $0.hasSuffix(".journal") }
    #expect(segments.reduce(0) { $0 + (disk.contents($1)?.count ?? 0) } < 600_000)
    store = try Self.open(disk)
    #expect(try #require(try store.get(Letter.self, letter.id)).back == letter.back)
    // The next update writes an envelope that says what the body does.
    try store.write { tx in try tx.put(letter) }
    try store.close()
    #expect(try Store.verify(in: disk, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  /// The same where what is written is taken in as it is committed.
  @Test func `INV-V1 it lives too where the record came while the store was open`() throws {
    let disk = SimulatedDisk()
    let letter = Letter(scan: noise(405_264, seed: 1))
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    try store.write { tx in try tx.put(letter) }
    var buffer = ReadBuffer()
    let collection = try #require(try store.journal.records.read(letter.id.bytes, into: &buffer)).collection
    let body = buffer.body.array()
    // From here on it is known which chunks live.
    _ = store.info()
    var batch = Batch()
    batch.put(letter.id.bytes, collection: collection, bodyByteCount: body.count) {
      $0.copy(body.rawSpan, at: 0)
    }
    _ = try store.journal.commit(&batch, .durable)
    try store.purge()
    #expect(try #require(try store.get(Letter.self, letter.id)).scan == letter.scan)
    try store.close()
  }

  @Test func `salvage brings along what only a body names`() throws {
    let (disk, letter) = try Self.attacked()
    let target = SimulatedDisk()
    let summary = try Store.salvage(from: disk, to: target)
    #expect(summary.losses.isEmpty && summary.chunkCount == 9)
    let store = try Self.open(target)
    #expect(try #require(try store.get(Letter.self, letter.id)).scan == letter.scan)
    try store.close()
  }
}
