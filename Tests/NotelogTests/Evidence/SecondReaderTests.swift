// Another program, written from FORMAT.md alone, audits stores: it finds what `Store.audit` finds. FORMAT.md §27,
// INV-W1, INV-W2, INV-W5.

import Foundation
import NotelogBase
import NotelogFormat
import NotelogStorage
import Testing

@testable import Notelog

/// The other program.
private enum SecondReader {
  /// What it says of a store.
  struct Answer: Codable {
    let records: Int
    let revision: UInt64
    let restored: Bool
    let findings: [String]
  }

  private static let program = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "SecondReader/audit")
  static let canRun = (try? run([]))?.err.hasPrefix("Audits a store") == true

  static func run(_ arguments: [String]) throws -> (out: Data, err: String) {
    let process = Process()
    let (out, err) = (Pipe(), Pipe())
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", program.path()] + arguments
    (process.standardOutput, process.standardError) = (out, err)
    try process.run()
    let bytes = try out.fileHandleForReading.readToEnd() ?? Data()
    let words = try err.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (bytes, String(decoding: words, as: UTF8.self))
  }
}

@Suite(.enabled(if: SecondReader.canRun, "python3 or libcrypto are not installed"))
struct SecondReaderTests {
  /// What the program finds, in a closed store of which `Store.audit` finds the same.
  private func audit(_ folder: TemporaryFolder) throws -> SecondReader.Answer {
    let (out, err) = try SecondReader.run([folder.path, String(repeating: "2a", count: 32)])
    #expect(err == "")
    let answer = try JSONDecoder().decode(SecondReader.Answer.self, from: out)
    let store = try folder.open()
    let audit = try store.audit()
    #expect(audit.isSound == answer.findings.isEmpty, "\(audit.findings) \(answer.findings)")
    #expect(audit.recordCount == answer.records && audit.revision == answer.revision)
    for finding in answer.findings {
      guard let colon = finding.firstIndex(of: ":") else { continue }
      let id = try #require(UInt128(finding[finding.index(colon, offsetBy: 2)...], radix: 16))
      let named = RecordID(
        ID16(low: UInt64(id >> 64).byteSwapped, high: UInt64(truncatingIfNeeded: id).byteSwapped))
      #expect(audit.findings.contains { $0.message.contains(named.description) }, "\(finding)")
    }
    try store.close()
    return answer
  }

  /// A store in several segments, some of them compacted, whose first record was written twice; closed.
  private func make(
    _ folder: TemporaryFolder, _ options: Store.Options = EvidenceTests.options, count: Int = 60
  ) throws -> [Note] {
    let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    var notes = (0..<count).map { Note(title: "n\($0)", body: String(repeating: "b", count: 9 * $0)) }
    for note in notes { try store.write(.buffered) { tx in try tx.put(note) } }
    for number in stride(from: 1, to: count, by: 3) {
      try store.write(.buffered) { tx in _ = try tx.delete(Note.self, notes[number].id) }
    }
    try store.compact()
    for title in ["m0", "o0"] {
      notes[0].title = title
      try store.write { tx in try tx.put(notes[0]) }
    }
    if !options.keepsEvidence { try store.makeEvidence() }
    try store.write { tx in try tx.put(notes[3]) }
    try store.close()
    return notes
  }

  @Test func `both find nothing in what was put, deleted, compacted and replaced`() throws {
    let folder = try TemporaryFolder()
    _ = try make(folder)
    let answer = try audit(folder)
    #expect(answer.findings == [] && answer.records == 40 && !answer.restored)
  }

  @Test func `both pass over records from before evidence was kept`() throws {
    let folder = try TemporaryFolder()
    var options = EvidenceTests.options
    options.keepsEvidence = false
    let notes = try make(folder, options)
    #expect(try audit(folder).findings == [])
    try Self.forge(folder, notes[3].id) { $0.deletesRecord = true }
    #expect(try audit(folder).findings == ["40 records were there", "the roll differs", "the seals differ"])
  }

  /// What somebody without the key writes in a record's place.
  private struct Forgery {
    var body: [UInt8]
    var hasSeal = true
    var deletesRecord = false
  }

  /// Writes a record anew as whoever has no key can.
  private static func forge(
    _ folder: TemporaryFolder, _ id: RecordID, _ change: (inout Forgery) -> Void
  ) throws {
    let journal = try Journal.open(in: SystemStorage(path: folder.path))
    var buffer = ReadBuffer()
    let record = try #require(try journal.records.read(id.bytes, into: &buffer))
    let (envelope, seal) = (buffer.envelope.array(), buffer.seal)
    var forgery = Forgery(body: buffer.body.array())
    change(&forgery)
    var batch = Batch()
    if forgery.deletesRecord {
      batch.delete(id.bytes, collection: record.collection)
    } else {
      let payload = envelope + forgery.body + (forgery.hasSeal ? try #require(seal).array : [])
      batch.put(
        id.bytes, collection: record.collection, envelopeByteCount: envelope.count,
        bodyByteCount: forgery.body.count, hasSeal: forgery.hasSeal
      ) { $0.copy(payload.rawSpan, at: 0) }
    }
    try journal.commit(&batch, .durable)
    try journal.close()
  }

  @Test func `both find a record that was written anew, changed, without its seal, or deleted`() throws {
    for (change, found): ((inout Forgery) -> Void, [String]) in [
      ({ _ in }, ["the roll differs"]),
      ({ $0.body[$0.body.count - 1] ^= 1 }, ["another seal", "the roll differs"]),
      ({ $0.hasSeal = false }, ["no seal", "the roll differs", "the seals differ"]),
      ({ $0.deletesRecord = true }, ["40 records were there", "the roll differs", "the seals differ"]),
    ] {
      let folder = try TemporaryFolder()
      let notes = try make(folder)
      try Self.forge(folder, notes[6].id, change)
      let answer = try audit(folder)
      #expect(answer.findings.map { String($0.prefix { $0 != ":" }) } == found)
    }
  }

  @Test func `nothing is carried over from a forged record, and what is put in its place is right`() throws {
    let folder = try TemporaryFolder()
    let notes = try make(folder)
    try Self.forge(folder, notes[6].id) { $0.body[$0.body.count - 1] ^= 1 }
    let store = try folder.open()
    #expect(throws: NotelogError.self) {
      try store.write { tx in try tx.update(Note.self, notes[6].id) { $0.set(\.title, "other") } }
    }
    try store.write { tx in try tx.put(notes[6]) }
    try store.acceptEvidence()
    try store.close()
    #expect(try audit(folder).findings == [])
  }

  /// The last two frames of a record, in a segment that has two of it.
  private static func frames(
    _ folder: TemporaryFolder, _ id: RecordID
  ) throws -> (url: URL, bytes: [UInt8], older: Int, newer: Int) {
    let urls = try FileManager.default.contentsOfDirectory(
      at: URL(filePath: folder.path), includingPropertiesForKeys: nil)
    for url in urls where url.pathExtension == "journal" {
      let bytes = Array(try Data(contentsOf: url))
      let places = stride(from: 4608, to: bytes.count - 40, by: 8).filter {
        bytes[$0] == 1 && Array(bytes[$0 + 16..<$0 + 32]) == id.bytes.array
      }
      if places.count > 1 { return (url, bytes, places[places.count - 2], places[places.count - 1]) }
    }
    throw NotelogError(.notFound, "no segment has two versions of it")
  }

  /// Puts an older version in the newest one's place, under its revision.
  private static func putBack(_ folder: TemporaryFolder, _ id: RecordID) throws {
    let found = try frames(folder, id)
    var (bytes, place) = (found.bytes, found.newer)
    let count = Int(bytes[place + 4]) | Int(bytes[place + 5]) << 8
    bytes.replaceSubrange(
      place + 40..<place + 40 + count, with: bytes[found.older + 40..<found.older + 40 + count])
    func set(_ checked: [UInt8], at place: Int) {
      let checksum = Checksum.of(checked.rawSpan)
      for byte in 0..<4 { bytes[place + byte] = UInt8(truncatingIfNeeded: checksum >> (8 * UInt32(byte))) }
    }
    set(Array(bytes[place + 40..<place + 40 + count]), at: place + 32)
    let offset = (0..<4).map { UInt8(truncatingIfNeeded: place >> (8 * $0)) }
    set(Array(bytes[40..<48] + offset + bytes[place..<place + 36]), at: place + 36)
    try Data(bytes).write(to: found.url)
  }

  /// Id, revision and seal of what stands there are right, each by itself: only the sum of the seals tells.
  @Test func `both find an older version under the newest one's revision`() throws {
    let folder = try TemporaryFolder()
    let notes = try make(folder)
    try Self.putBack(folder, notes[0].id)
    #expect(try audit(folder).findings == ["the seals differ"])
  }

  /// The bug: where a version that could not be read had been replaced, the sum of the seals was not compared. So
  /// whoever damaged one record could put all others back to older versions, under their newest revisions.
  @Test func `damage that was written over hides nothing that was put back`() throws {
    let folder = try TemporaryFolder()
    let notes = try make(folder)
    var damaged = try Self.frames(folder, notes[0].id)
    damaged.bytes[damaged.newer + 60] ^= 1
    try Data(damaged.bytes).write(to: damaged.url)
    var store = try folder.open()
    try store.write { tx in try tx.put(notes[0]) }
    for title in ["p3", "q3"] {
      var note = notes[3]
      note.title = title
      try store.write { tx in try tx.put(note) }
    }
    try store.close()
    // What the seals would add up to is not known any longer, until somebody says that all is well.
    #expect(
      try audit(folder).findings == ["a version that could not be read was replaced", "the seals differ"])
    try Self.putBack(folder, notes[3].id)
    #expect(
      try audit(folder).findings == ["a version that could not be read was replaced", "the seals differ"])
    store = try folder.open()
    try store.acceptEvidence()
    try store.close()
    #expect(try audit(folder).findings == [])
  }
}
