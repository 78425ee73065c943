// A chunk opens in its own place of its own value, and nowhere else: FORMAT.md 8, INV-V2, INV-E1.

import Foundation
import NotelogJournal
import Testing

@testable import Notelog

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

    /// Reads the attachment as if these were its chunks, and its reference said that it is so long.
    func read(_ chunks: [[UInt8]], byteCount: Int = 150_000) throws -> [UInt8] {
      let (reference, range) = try reference(entry, 3)
      var body = entry.stored.body
      body.withBytes(in: range) { ValueReference(reference.value, byteCount: byteCount).write(into: &$0) }
      let pending = try #require(PendingChunks([reference.value: chunks.flatMap(\.self)]))
      let opener = store.opener.reading(pending)
      let stored = try OwnedRecord(
        id: entry.id, revision: entry.revision, collection: entry.stored.collection, copying: body.rawSpan)
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

  @Test
  func `a record that refers to another record's value, or to an older one under another id, gets neither`()
    throws
  {
    let bench = try Bench()
    let (own, range) = try bench.reference(bench.entry, 3)
    let strangers = [
      try bench.reference(bench.other, 3).0, try bench.reference(bench.entry, 4).0,
      ValueReference(.randomValue, byteCount: own.byteCount),
    ]
    for stranger in strangers {
      var body = bench.entry.stored.body
      body.withBytes(in: range) { stranger.write(into: &$0) }
      let stored = try OwnedRecord(
        id: bench.entry.id, revision: bench.entry.revision, collection: bench.entry.stored.collection,
        copying: body.rawSpan)
      let forged = Entry(stored: stored, reader: bench.entry.reader)
      #expect(throws: NotelogError.self) { try forged.scan }
      #expect(throws: NotelogError.self) { try forged.content(of: \.scan)?.read(0..<1) }
    }
  }

  @Test func `INV-V2 a reference that contradicts itself is refused`() throws {
    let sound = ValueReference(RecordKey(low: 1, high: 2), byteCount: 150_000)
    var bytes = [UInt8](repeating: 0, count: 32)
    bytes.withBytes(in: 0..<32) { sound.write(into: &$0) }
    let back = ValueReference(bytes.rawSpan)
    #expect(back == sound && sound.chunkCount == 3)
    func altered(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
      var copy = bytes
      change(&copy)
      return copy
    }
    let broken = [
      altered { $0[24] = 2 }, altered { $0[24] = 4 }, altered { $0[28] = 1 }, altered { $0[23] = 1 },
      altered { for index in 0..<16 { $0[index] = 0 } },
      // A length that needs no chunk.
      altered { bytes in
        for index in 16..<24 { bytes[index] = 0 }
        bytes[18] = 1
        bytes[24] = 1
      },
    ]
    for bytes in broken {
      let reference = ValueReference(bytes.rawSpan)
      #expect(reference == nil)
    }
  }
}
