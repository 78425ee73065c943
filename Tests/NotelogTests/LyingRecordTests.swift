// Records that check, and whose envelopes or collections say what is not so: FORMAT.md §5,
// docs/format-derived.md §33, INV-V3.

@testable import NotelogBase
import NotelogFormat
import NotelogStorage
import Foundation
@testable import Notelog
import NotelogTestSupport
import Testing

/// The bug: `verify` looked at neither, and called the store sound.
@Suite struct `Records that lie` {
  /// A store with a note, whose record is written again as it is, but for what is changed of its envelope.
  private func found(
    _ change: (inout WrittenEnvelope) -> Void, body: String = "short"
  ) throws -> Verification {
    let folder = try TemporaryFolder()
    let note = Note(title: "a title", body: body)
    let store = try folder.create()
    try store.write { tx in try tx.put(note) }
    try store.close()
    let journal = try Journal.open(in: SystemStorage(path: folder.path))
    var buffer = ReadBuffer()
    let record = try #require(try journal.records.read(note.id.bytes, into: &buffer))
    let stored = WrittenEnvelope(buffer.envelope)
    var envelope = try #require(stored)
    change(&envelope)
    var batch = Batch()
    let body = buffer.body.array()
    batch.put(
      note.id.bytes, collection: record.collection, envelopeByteCount: envelope.bytes.count,
      bodyByteCount: body.count
    ) { $0.copy((envelope.bytes + body).rawSpan, at: 0) }
    try journal.commit(&batch, .durable)
    try journal.close()
    return try Store.verify(at: folder.path)
  }

  /// Too much to stand in the record, and nothing that compression makes shorter.
  private var large: String {
    var generator = SystemRandomNumberGenerator()
    return (0..<20_000).map { _ in String(generator.next(), radix: 36) }.joined()
  }

  @Test func `a record written again as it was is sound`() throws {
    #expect(try found { _ in }.verdict == .sound)
    #expect(try found({ _ in }, body: large).verdict == .sound)
  }

  @Test func `a sort key that is not the value's is damage`() throws {
    for change: (inout WrittenEnvelope) -> Void in [
      { $0.sortKeys[0].bytes[7] ^= 1 }, { $0.sortKeys[0].bytes.removeLast() },
      { $0.sortKeys.append(.init(field: 99, bytes: [1])) },
    ] {
      let verification = try found(change)
      #expect(verification.verdict.isDamaged)
      #expect(
        !verification.isSound(.records) && verification.isSound(.structure) && verification.isSound(.index))
      #expect(verification.findings.allSatisfy { $0.record != nil })
    }
  }

  @Test func `a record from before its field was indexed has no key, and is sound`() throws {
    #expect(try found { $0.sortKeys = [] }.verdict == .sound)
  }

  @Test func `an envelope that names other large values than the record refers to is damage`() throws {
    #expect(try !found { $0.values = [ID16(low: 1, high: 2)] }.isSound(.records))
    #expect(try !found({ $0.values = [] }, body: large).isSound(.records))
    #expect(try !found({ $0.values.append(ID16(low: 1, high: 2)) }, body: large).isSound(.records))
  }

  @Test func `records of a collection without a schema are damage, and counted`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll((0..<5).map { Note(title: "title \($0)") })
    #expect(try store.collectionsWithoutSchema() == [:])
    try store.close()
    let journal = try Journal.open(in: SystemStorage(path: folder.path))
    var batch = Batch()
    batch.delete(SchemaRecord.key(1), collection: 0)
    for number in 0..<3 {
      batch.put(ID16(low: 7, high: UInt64(number)), collection: 7, bodyByteCount: 4) {
        $0.store(1 as UInt32, at: 0)
      }
    }
    try journal.commit(&batch, .durable)
    batch = Batch()
    batch.delete(ID16(low: 7, high: 0), collection: 7)
    try journal.commit(&batch, .durable)
    try journal.close()
    try SystemStorage(path: folder.path).unlink("schemas")
    let reopened = try folder.open(nil)
    #expect(try reopened.collectionsWithoutSchema() == [1: 5, 7: 2])
    try reopened.close()
    let verification = try Store.verify(at: folder.path)
    #expect(verification.verdict.isDamaged && !verification.isSound(.records))
    #expect(
      verification.findings.map(\.message) == [
        "5 records of collection 1 have no schema", "2 records of collection 7 have no schema",
        "schemas are missing, or are earlier ones: the keyring counts a revision more; restore the store, or accept its schemas",
      ])
  }
}
