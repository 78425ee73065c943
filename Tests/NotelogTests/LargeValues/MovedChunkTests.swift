// A chunk opens in its own place of its own value, and nowhere else: FORMAT.md 8, INV-V2, INV-E1.

@testable import NotelogBase
@testable import NotelogFormat
import Foundation
import NotelogCrypto
@testable import Notelog
import Testing

@Suite struct MovedChunkTests {
  /// A record with an attachment of three chunks, beside all that a chunk might be moved from.
  private struct Bench {
    let folder: TemporaryFolder
    let store: Store
    let letter: Letter
    let entry: Entry<Letter>
    let old: Entry<Letter>
    let other: Entry<Letter>
    /// Keeps the older version's chunks.
    let snapshot: StoreSnapshot

    init() throws {
      folder = try TemporaryFolder()
      store = try folder.create()
      var letter = Letter(scan: noise(150_000, seed: 1), back: noise(150_000, seed: 2))
      let other = Letter(scan: noise(150_000, seed: 1))
      try store.putAll([letter, other])
      old = try #require(try store.get(Letter.self, letter.id))
      snapshot = store.snapshot()
      letter.scan = noise(150_000, seed: 3)
      try store.write { tx in try tx.put(letter) }
      entry = try #require(try store.get(Letter.self, letter.id))
      self.other = try #require(try store.get(Letter.self, other.id))
      self.letter = letter
    }

    func reference(_ entry: Entry<Letter>, _ field: UInt16) throws -> (ValueReference, Range<Int>) {
      let range = try #require(try entry.stored.find(field)).range
      let reference = ValueReference(entry.stored.body.rawSpan.extracting(range))
      return (try #require(reference), range)
    }

    /// The sealed chunks of a field, as they lie in the journal.
    func chunks(_ entry: Entry<Letter>, _ field: UInt16 = 3) throws -> [[UInt8]] {
      let reference = try reference(entry, field).0
      var buffer = ReadBuffer()
      return try (0..<reference.chunkCount).map { number in
        let mark = try store.journal.readChunk(UInt32(number), of: reference.value, into: &buffer)
        #expect(mark?.isLast == (number == reference.chunkCount - 1))
        return buffer.body.array()
      }
    }

    /// Reads the attachment as if these were its chunks, and a reference, sealed as it must be, said that it
    /// is so long.
    func read(_ chunks: [[UInt8]], byteCount: Int = 150_000) throws -> [UInt8] {
      let (reference, range) = try reference(entry, 3)
      var body = entry.stored.body
      let field = try #require(try entry.stored.find(3))
      let plan = entry.reader.plan.collection
      let key = try store.vault.sealingKey(KeyReference(rawValue: field.keyReference))
      let data = plan.chunkData(field, try plan.index(of: "scan"), entry.id, reference.value)
      var run = NonceRun()
      try body.withBytes(in: range) { target in
        try ValueReference(reference.value, byteCount: byteCount).write(
          data, under: key, nonces: &run, into: &target)
      }
      let opener = store.opener.reading([reference.value: chunks.flatMap(\.self)])
      let stored = try OwnedRecord(
        id: entry.id, revision: entry.revision, collection: entry.stored.record.collection,
        copying: body.rawSpan)
      return try Entry(stored: stored, reader: RecordReader(plan: entry.reader.plan, opener: opener)).scan
    }
  }

  @Test func `INV-V2 a chunk from another version, record, field or position is refused`() throws {
    let bench = try Bench()
    let own = try bench.chunks(bench.entry)
    #expect(try bench.read(own) == bench.letter.scan)
    let old = try bench.chunks(bench.old)
    let other = try bench.chunks(bench.other)
    let back = try bench.chunks(bench.entry, 4)
    let moved: [(String, [[UInt8]], Int)] = [
      ("positions swapped", [own[1], own[0], own[2]], 150_000),
      ("a position twice", [own[0], own[0], own[2]], 150_000),
      ("an older version's first", [old[0], own[1], own[2]], 150_000),
      ("an older version's last", [own[0], own[1], old[2]], 150_000),
      ("an older version whole", old, 150_000),
      ("another record's", [other[0], own[1], own[2]], 150_000),
      ("another record's whole", other, 150_000),
      ("another field's", [back[0], own[1], own[2]], 150_000),
      ("another field's whole", back, 150_000),
      ("the last left out", [own[0], own[1]], 131_072),
      ("the first left out", [own[1], own[2]], 150_000 - 65_536),
      ("one too many", [own[0], own[1], own[1], own[2]], 150_000 + 65_536),
      ("the last cut", [own[0], own[1], Array(own[2].dropLast())], 149_999),
    ]
    for (what, chunks, byteCount) in moved {
      #expect(throws: NotelogError(.tampered, ""), "\(what)") { try bench.read(chunks, byteCount: byteCount) }
    }
  }

  @Test func `every byte of a chunk is authenticated`() throws {
    let bench = try Bench()
    let own = try bench.chunks(bench.entry)
    for offset in Array(0..<64) + Array(stride(from: 64, to: own[2].count, by: 997)) + [own[2].count - 1] {
      var chunks = own
      chunks[2][offset] ^= 1 << UInt8(offset % 8)
      #expect(throws: NotelogError(.tampered, "")) { try bench.read(chunks) }
    }
  }

  /// No count is in a reference that could contradict its length, and no length that needs no chunk is one.
  @Test func `INV-V2 a reference that nobody could have written is none`() throws {
    var bytes = [UInt8](repeating: 0, count: ValueReference.storedByteCount)
    func reference(_ value: UInt64, _ length: UInt64) -> ValueReference? {
      bytes.withBytes(in: 0..<24) { span in
        span.store(value, at: 8)
        span.store(length, at: 16)
      }
      return ValueReference(bytes.rawSpan)
    }
    #expect(reference(1, 150_000)?.chunkCount == 3)
    #expect(reference(1, 65_537)?.chunkCount == 2)
    #expect(reference(1, 1 << 40)?.chunkCount == 1 << 24)
    for length in [0, 1, 65_536, 1 << 40 + 1, 1 << 63, .max] as [UInt64] {
      #expect(reference(1, length) == nil)
    }
    #expect(reference(0, 150_000) == nil)
    bytes.removeLast()
    #expect(reference(1, 150_000) == nil)
  }
}
