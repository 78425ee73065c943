// Records of collection 0 that no schema can be: whoever has the files can append one, without a key
// (FORMAT.md 9).

import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct ForgedSchemaTests {
  /// What is appended: under which id, and which bytes.
  enum Forgery: String, CaseIterable {
    case foreignID, newNumber, takenNumber, anothersSchema, otherLayout

    var id: ID16 {
      switch self {
      case .foreignID: ID16(low: 7, high: 7)
      case .newNumber, .otherLayout: SchemaRecord.key(9)
      case .takenNumber: SchemaRecord.key(1)
      case .anothersSchema: SchemaRecord.key(2)
      }
    }

    /// What `info` says of the schemas.
    var words: String {
      switch self {
      case .foreignID: "records of collection 0 that are no schemas: 1"
      case .newNumber, .otherLayout: "of collection 9 lost"
      case .takenNumber: "of collection 1 damaged in the log, schemas serves"
      case .anothersSchema: "of collection 2 damaged in the log, schemas serves"
      }
    }

    func body(_ genuine: [UInt8]) -> [UInt8] {
      switch self {
      case .foreignID, .newNumber, .takenNumber: [1, 2, 3]
      case .anothersSchema: genuine
      // The schema's first byte is behind the body's header and its only entry.
      case .otherLayout: Array(genuine[..<16]) + [2] + Array(genuine[17...])
      }
    }
  }

  /// The bug: of each store with such a record, opening threw `damaged` or `tampered`: list, info, dump,
  /// compact and salvage all refused, with the key and without.
  @Test(arguments: Forgery.allCases)
  func `what can't be a schema is a finding, and everything else is served`(forgery: Forgery) throws {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    let (note, letter) = (Note(title: "title"), Letter(subject: "subject"))
    try store.write { tx in try tx.put(note) }
    try store.write { tx in try tx.put(letter) }
    var genuine = ReadBuffer()
    _ = try store.journal.records.read(SchemaRecord.key(1), into: &genuine)
    let body = forgery.body(genuine.body.array())
    try store.close()
    let journal = try Journal.open(in: disk)
    var batch = Batch()
    batch.put(forgery.id, collection: 0, bodyByteCount: body.count) { $0.copy(body.rawSpan, at: 0) }
    _ = try journal.commit(&batch, .durable)
    try journal.close()

    for credential in [nil, TemporaryFolder.key] {
      var options = Store.Options()
      options.isReadOnly = true
      let reader = try Store.open(in: disk, unlocking: credential, options: options)
      #expect(reader.info().schemas == forgery.words && reader.info().verdict.isDamaged)
      #expect(reader.collections.map(\.name) == ["note", "letter"])
      if credential != nil { #expect(try reader.get(Note.self, note.id)?.title == "title") }
      try reader.close()
      let found = try Store.verify(in: disk, unlocking: credential)
      #expect(found.findings.filter(\.isDamage).map(\.message) == ["schemas: \(forgery.words)"])
    }
    let target = SimulatedDisk()
    #expect(try Store.salvage(from: disk, to: target).recordCount == 2)
    let saved = try Store.open(in: target, unlocking: TemporaryFolder.key, options: Store.Options())
    #expect(try saved.get(Letter.self, letter.id)?.subject == "subject")
    try saved.close()
    // Whoever writes goes on, and mends what the second copy has.
    let writer = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    try writer.compact()
    try writer.write { tx in try tx.put(Note(title: "another")) }
    #expect(try writer.query(Note.self).count() == 2)
    try writer.close()
    let isMended = forgery == .takenNumber || forgery == .anothersSchema
    #expect(
      try Store.verify(in: disk, unlocking: TemporaryFolder.key).verdict == (isMended ? .sound : .contained))
  }
}
