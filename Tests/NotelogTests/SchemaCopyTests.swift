// The schemas' second copy: what it serves, what it never overrules, and how both places are mended
// (FORMAT.md 9.3).

@testable import NotelogFormat
@testable import NotelogStorage
import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct SchemaCopyTests {
  private static var options: Store.Options {
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    return options
  }

  /// A closed store with two collections, and where the frames of their schemas are.
  private struct Sample {
    let disk = SimulatedDisk()
    let note = Note(title: "title")
    let letter = Letter(subject: "subject")
    var frames: [(file: String, range: Range<Int>)] = []

    init() throws {
      let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: SchemaCopyTests.options)
      try store.createKey("personal", .afterFirstUnlock)
      try store.write { [note] tx in try tx.put(note) }
      try store.write { [letter] tx in try tx.put(letter) }
      // The segment that holds them has a footer and is covered by the checkpoint.
      for number in 0..<100 { try store.write { tx in try tx.put(Note(title: "other \(number)")) } }
      for number in [UInt16(1), 2] {
        let place = try #require(try store.journal.catalog.location(of: SchemaRecord.key(number)))
        let start = Int(place.offset)
        frames.append((FileName.segment(place.segment), start..<start + place.frameByteCount))
      }
      try store.journal.checkpoint()
      try store.close()
      try #require(disk.fileNames.filter { $0.hasSuffix(".journal") }.last != frames[0].file)
    }

    /// A copy in which the records of some schemas do not check; in their headers, or behind them.
    func withoutRecords(_ numbers: [Int], isHeader: Bool) throws -> SimulatedDisk {
      let copy = disk.copy()
      try damage(numbers, on: copy, isHeader: isHeader)
      return copy
    }

    func damage(_ numbers: [Int], on disk: SimulatedDisk, isHeader: Bool) throws {
      for number in numbers {
        let (file, range) = frames[number - 1]
        var bytes = try #require(disk.contents(file))
        bytes[range.lowerBound + (isHeader ? 20 : Layout.frameHeaderByteCount + 30)] ^= 1
        disk.replace(file, with: bytes)
      }
    }
  }

  private func open(_ disk: SimulatedDisk, isReadOnly: Bool = false, isLocked: Bool = false) throws -> Store {
    var options = Self.options
    options.isReadOnly = isReadOnly
    return try Store.open(in: disk, unlocking: isLocked ? nil : TemporaryFolder.key, options: options)
  }

  /// The bug: opening threw `damaged` where one schema's record did not check.
  @Test(arguments: [false, true])
  func `a schema that is damaged in the log is served by its second copy, and written again`(
    isHeader: Bool
  ) throws {
    let sample = try Sample()
    for isLocked in [false, true] {
      let disk = try sample.withoutRecords([1, 2], isHeader: isHeader)
      let reader = try open(disk, isReadOnly: true)
      #expect(try reader.get(Note.self, sample.note.id)?.title == "title")
      #expect(try reader.get(Letter.self, sample.letter.id)?.subject == "subject")
      #expect(reader.info().schemas == "of collections 1, 2 damaged in the log, schemas serves")
      try reader.close()
      let found = try Store.verify(in: disk, unlocking: TemporaryFolder.key)
      #expect(found.verdict.isDamaged)
      #expect(found.findings.contains { $0.message.hasPrefix("schemas: of collections 1, 2 damaged") })
      // Whoever writes mends the log, with a key or without one.
      try open(disk, isLocked: isLocked).close()
      disk.replace(SchemaFile.name, with: nil)
      let mended = try open(disk, isReadOnly: true)
      #expect(mended.info().schemas == "schemas is missing")
      #expect(try mended.get(Note.self, sample.note.id)?.title == "title")
      #expect(try mended.get(Letter.self, sample.letter.id)?.subject == "subject")
      try mended.close()
    }
  }

  /// The bug: the first refresh after somebody else's commit locked the keys that outlive `lock()`, as if the
  /// schemas had changed.
  @Test(arguments: [false, true])
  func `what the second copy serves stays while others commit`(isNewCollection: Bool) throws {
    let sample = try Sample()
    let disk = sample.disk.copy()
    let writer = try open(disk)
    try sample.damage([1, 2], on: disk, isHeader: false)
    let reader = try open(disk, isReadOnly: true)
    let note = try #require(try reader.get(Note.self, sample.note.id))
    if !isNewCollection { reader.lock() }
    if isNewCollection { try writer.createCollection("new", fields: [.plain("name", .text)]) }
    try writer.write { tx in try tx.put(Note(title: "another")) }
    #expect(try reader.refresh())
    #expect(reader.collections.map(\.name) == ["note", "letter"] + (isNewCollection ? ["new"] : []))
    #expect(try reader.get(Note.self, sample.note.id)?.body == "")
    #expect(try note.body == "")
    try reader.close()
    try writer.close()
  }

  @Test func `a second copy that is gone or damaged anywhere is made again, and no reader writes`() throws {
    let sample = try Sample()
    let whole = try #require(sample.disk.contents(SchemaFile.name))
    var damaged: [[UInt8]?] = [nil, []]
    for offset in whole.indices {
      var bytes = whole
      bytes[offset] ^= 1
      damaged.append(bytes)
      damaged.append(Array(whole[..<offset]))
    }
    damaged.append(whole + [0])
    for bytes in damaged {
      let disk = sample.disk.copy()
      disk.replace(SchemaFile.name, with: bytes)
      let reader = try open(disk, isReadOnly: true)
      #expect(reader.info().schemas == (bytes == nil ? "schemas is missing" : "schemas is unreadable"))
      #expect(reader.collections.map(\.name) == ["note", "letter"])
      try reader.close()
      #expect(disk.contents(SchemaFile.name) == bytes)
      try open(disk, isLocked: true).close()
      #expect(disk.contents(SchemaFile.name) == whole)
    }
    #expect(try Store.verify(in: sample.disk, unlocking: nil).verdict == .sound)
  }

  @Test func `where both copies are gone, that collection alone is out of reach, and its number is kept`()
    throws
  {
    let sample = try Sample()
    let disk = try sample.withoutRecords([2], isHeader: false)
    disk.replace(SchemaFile.name, with: nil)
    let store = try open(disk)
    #expect(store.info().schemas.hasPrefix("schemas is missing; of collection 2 lost; schemas are missing"))
    #expect(store.collections.map(\.name) == ["note"])
    #expect(try store.get(Note.self, sample.note.id)?.title == "title")
    try store.acceptSchemas()
    #expect(store.info().schemas == "schemas is missing; of collection 2 lost")
    try store.createCollection("new", fields: [.plain("name", .text)])
    #expect(try store.collection("new").number == 3)
    try store.close()
    #expect(try Store.verify(in: disk, unlocking: nil).verdict.isDamaged)
  }

  @Test func `a file with a fitting checksum never takes the place of a record that can be read`() throws {
    let sample = try Sample()
    let store = try open(sample.disk)
    let id = store.storeID
    let stored = store.registry.withLock { $0.byNumber }
    try store.close()
    let note = try #require(stored[1])
    var forged = note.plan.schema
    forged.name = "forged"
    for revision in [forged.revision, forged.revision + 1] {
      forged.revision = revision
      let entry = SchemaRegistry.Stored(
        plan: try CollectionPlan(forged, storeID: id), bytes: forged.encoded(), mac: note.mac)
      let bytes = try SchemaFile.encoded([entry, try #require(stored[2])], of: id)
      // The log's record counts.
      var disk = sample.disk.copy()
      disk.replace(SchemaFile.name, with: bytes)
      let whole = try open(disk)
      #expect(whole.collections.map(\.name) == ["note", "letter"])
      #expect(
        whole.info().schemas
          == (revision == note.plan.schema.revision ? "schemas and the log disagree" : "sound"))
      try whole.close()
      #expect(disk.contents(SchemaFile.name) == bytes)
      // Where only the file is left, its MAC fails, and nothing of it gets into the log.
      disk = try sample.withoutRecords([1], isHeader: false)
      disk.replace(SchemaFile.name, with: bytes)
      #expect(throws: NotelogError(.tampered, "")) { try open(disk) }
      #expect(throws: NotelogError(.tampered, "")) { try open(disk, isReadOnly: true) }
    }
    // Another store's file is no file of this one.
    let disk = sample.disk.copy()
    let other = RecordID().bytes
    disk.replace(SchemaFile.name, with: try SchemaFile.encoded(Array(stored.values), of: other))
    #expect(try open(disk, isReadOnly: true).info().schemas == "schemas is unreadable")
  }

  @Test func `salvage brings along the schemas that the frames lack`() throws {
    let sample = try Sample()
    let disk = try sample.withoutRecords([1, 2], isHeader: false)
    disk.replace(sample.frames[0].file, with: nil)
    let target = SimulatedDisk()
    let summary = try Store.salvage(from: disk, to: target)
    #expect(!summary.losses.contains { $0.message.contains("schema") })
    let store = try open(target, isReadOnly: true)
    #expect(store.collections.map(\.name) == ["note", "letter"])
    #expect(summary.recordCount > 20 && summary.recordCount == store.info().recordCount)
    #expect(try store.query(Note.self).count() == summary.recordCount)
    #expect(store.info().schemas == "sound")
    try store.close()
    target.replace(SchemaFile.name, with: nil)
    #expect(try open(target, isReadOnly: true).collections.count == 2)
  }

  @Test func `an archive has no second copy, and a restored store makes one`() throws {
    let sample = try Sample()
    let (archive, restored) = (SimulatedDisk(), SimulatedDisk())
    #expect(try Shipper(sample.disk, to: archive.archive).ship().findings.isEmpty)
    #expect(archive.contents(SchemaFile.name) == nil)
    #expect(try Store.restore(archive.archive, to: restored).findings.isEmpty)
    #expect(restored.contents(SchemaFile.name) == sample.disk.contents(SchemaFile.name))
  }

  @Test func `a schema that finds no room for its second copy is not stored at all`() throws {
    let sample = try Sample()
    let before = sample.disk.contents(SchemaFile.name)
    let store = try open(sample.disk)
    let revision = store.info().nextRevision
    sample.disk.plan(Fault(.error(SystemErrno.noSpace), of: [.write], passing: 0))
    #expect(throws: NotelogError(.full, "")) {
      try store.createCollection("new", fields: [.plain("name", .text)])
    }
    #expect(store.info().nextRevision == revision && store.collections.count == 2)
    #expect(sample.disk.contents(SchemaFile.name) == before)
    #expect(sample.disk.contents(SchemaFile.name + ".partial") == nil)
    sample.disk.forgetFaults()
    try store.createCollection("new", fields: [.plain("name", .text)])
    try store.close()
    #expect(try open(sample.disk).collections.map(\.name) == ["note", "letter", "new"])
  }
}
