// Fields of a record that the disk has damaged: what is handed out is what was written, and damage is called
// damage.

@testable import NotelogBase
@testable import NotelogFormat
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct DamagedFieldTests {
  /// A closed store, a record in a finished segment of it, and where its frame is.
  private struct Bench {
    let disk = SimulatedDisk()
    let note: Note
    let others = (0..<100).map { Note(title: "other \($0)") }
    let segment: String
    let frame: Range<Int>
    let payloadEnd: Int

    static var options: Store.Options {
      var options = Store.Options()
      options.segmentByteCount = 16 << 10
      return options
    }

    init(_ body: String) throws {
      note = Note(title: "title", body: body)
      let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.options)
      try store.write { [note] tx in try tx.put(note) }
      try store.putAll(others)
      let location = try #require(try store.journal.catalog.location(of: note.id.bytes))
      try store.journal.checkpoint()
      try store.close()
      segment = FileName.segment(location.segment)
      frame = Int(location.offset)..<Int(location.offset) + location.frameByteCount
      payloadEnd = frame.lowerBound + Layout.frameHeaderByteCount + Int(location.payloadByteCount)
      try #require(disk.fileNames.filter { $0.hasSuffix(".journal") }.last != segment)
    }

    /// A store opened on a copy in which a byte is another.
    func open(flipping offset: Int) throws -> Store {
      let copy = disk.copy()
      var bytes = try #require(copy.contents(segment))
      bytes[offset] ^= 0x10
      copy.replace(segment, with: bytes)
      return try Store.open(in: copy, unlocking: TemporaryFolder.key, options: Self.options)
    }
  }

  /// The value, or nothing where it is damaged; any other error is one that a reader must not see.
  private func unlessDamaged<Value>(_ read: () throws -> Value) throws -> Value? {
    do { return try read() } catch let error as NotelogError {
      guard error.code == .damaged else { throw error }
      return nil
    }
  }

  /// A body that is longer than what is read of a record for one field, also when it is compressed.
  private static let longBody: String = {
    var random = SeededGenerator(seed: 1)
    return String(decoding: (0..<6000).map { _ in UInt8.random(in: 97...122, using: &random) }, as: UTF8.self)
  }()

  @Test(arguments: [false, true], ["body", longBody])
  func `a byte that is another costs what it is part of, and is never taken for tampering`(
    isCached: Bool, content: String
  ) throws {
    let bench = try Bench(content)
    let id = bench.note.id
    var opened = (titles: 0, bodies: 0)
    // Of a long body, every seventieth byte.
    let start = bench.frame.lowerBound
    for offset in bench.frame where offset - start < 300 || offset % 70 == 0 || offset >= bench.payloadEnd {
      let store = try bench.open(flipping: offset)
      if isCached {
        // Blocks are kept once a few were missed.
        for other in bench.others { _ = try? store.get(Note.self, other.id) }
      }
      let isPadding = offset >= bench.payloadEnd
      let (time, title, body) = (
        try store.field(\Note.time), try store.field(\Note.title), try store.field(\Note.body)
      )
      var buffer = ValueBuffer()
      // A sound record first: what was found out about that one does not hold for the next.
      #expect(try store.get(title, of: bench.others[0].id, using: &buffer) == "other 0")
      let found = try unlessDamaged { try store.get(title, of: id, using: &buffer) }
      #expect(found == nil || found == "title")
      if found != nil {
        opened.titles += 1
        // Another field of the record that is in the buffer already.
        let bytes = try unlessDamaged {
          try buffer.open(body)
          return buffer.bytes.array()
        }
        #expect(bytes == nil || bytes == Array(content.utf8))
        if bytes != nil { opened.bodies += 1 }
        #expect((try unlessDamaged { try buffer.open(time) } != nil) == isPadding)
      }
      var many: [String?] = []
      _ = try unlessDamaged { try store.getMany(title, of: [id], using: &buffer) { many.append($1) } }
      #expect(many == (found == nil ? [] : [found]))
      // What no tag vouches for, the checksum does.
      #expect((try unlessDamaged { try store.get(time, of: id, using: &buffer) } != nil) == isPadding)
      #expect((try unlessDamaged { try store.get(Note.self, id) } != nil) == isPadding)
    }
    // The sealed title alone has 45 bytes, the header 40.
    #expect(opened.titles > 50 && opened.titles <= bench.frame.count - 85)
    // Both open where the byte is of the time, the envelope or the padding.
    #expect(opened.bodies > 20 && opened.bodies < opened.titles)
  }

  @Test func `a sealed value that is another is tampering where the checksum holds`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let note = Note(title: "title", body: "body")
    try store.write { tx in try tx.put(note) }
    var stored = ReadBuffer()
    let found = try #require(try store.journal.records.read(note.id.bytes, into: &stored))
    var forged = stored.body.array()
    // Of the body's tag, which is the last of it.
    forged[forged.count - 1] ^= 1
    var batch = Batch()
    batch.put(note.id.bytes, collection: found.collection, bodyByteCount: forged.count) { target in
      for (offset, byte) in forged.enumerated() {
        target.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
      }
    }
    try store.journal.commit(&batch, .buffered)
    var buffer = ValueBuffer()
    #expect(try store.get(try store.field(\Note.title), of: note.id, using: &buffer) == "title")
    #expect(throws: NotelogError(.tampered, "")) {
      try store.read(try store.field(\Note.body), of: note.id, into: &buffer)
    }
    let isEmpty = buffer.bytes.isEmpty
    #expect(isEmpty)
  }
}
