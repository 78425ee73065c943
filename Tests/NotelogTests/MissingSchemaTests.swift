// Schemas that somebody without a key took away, or put earlier ones in the place of: INV-M7.

import Foundation
import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct MissingSchemaTests {
  private static let plain = [FieldDescription.plain("text", .text)]

  /// A disk with a store of two states, and the files of the first, without its keyring.
  private struct Sample {
    let disk = SimulatedDisk()
    let note = Note(title: "title")
    let earlier: [String: [UInt8]]

    /// - Parameter later: What the second state has more.
    /// - Throws: What making it throws.
    init(_ later: (Store) throws -> Void) throws {
      let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
      try store.write { [note] tx in try tx.put(note) }
      try store.close()
      var files: [String: [UInt8]] = [:]
      for name in disk.fileNames { files[name] = disk.contents(name) }
      earlier = files
      let again = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
      try later(again)
      try again.close()
    }

    /// The log and the second copy of the first state, beside the keyring of the second.
    func rolledBack(with keyring: [String] = []) -> SimulatedDisk {
      let copy = disk.copy()
      for name in copy.fileNames where !name.hasPrefix("keyring") { copy.replace(name, with: nil) }
      for (name, bytes) in earlier where !name.hasPrefix("keyring") || keyring.contains(name) {
        copy.replace(name, with: bytes)
      }
      return copy
    }
  }

  private func open(_ disk: SimulatedDisk) throws -> Store {
    try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
  }

  private func expectRefused(_ disk: SimulatedDisk, missing count: Int) throws {
    let revisions = count == 1 ? "a revision" : "\(count) revisions"
    let words =
      "schemas are missing, or are earlier ones: the keyring counts \(revisions) more; restore the store, or accept its schemas"
    for credential in [nil, TemporaryFolder.key] {
      let found = try Store.verify(in: disk, unlocking: credential)
      #expect(found.findings.filter(\.isDamage).map(\.message) == [words])
    }
    let store = try open(disk)
    #expect(store.missingSchemaRevisions == count)
    #expect(store.info.schemas == words && store.info.condition == .damaged)
    // What is there is served, and written.
    let id = try #require(try store.query(Note.self).entries().first).id
    try store.write { tx in try tx.update(Note.self, id) { $0.set(\.title, "changed") } }
    #expect(try store.get(Note.self, id)?.title == "changed")
    let refusals: [(Store) throws -> Void] = [
      { _ = try $0.createCollection("secret", fields: Self.plain) },
      { _ = try $0.write { tx in try tx.put(Letter(subject: "subject")) } },
      { _ = try $0.rotate("default") },
      { try $0.rekey(TemporaryFolder.key, to: .key([UInt8](repeating: 7, count: 32))) },
    ]
    for refusal in refusals {
      let error = #expect(throws: NotelogError.self) { try refusal(store) }
      #expect(error?.code == .tampered && error?.message.hasSuffix(words) == true)
    }
    try store.close()
    // Neither is the count forgotten by whoever opens the store, nor by another change of the keyring.
    let again = try open(disk)
    try again.addCredential(.key([UInt8](repeating: 9, count: 32)))
    #expect(again.missingSchemaRevisions == count)
    try again.acceptSchemas()
    #expect(again.missingSchemaRevisions == 0)
    try again.createCollection("secret", fields: Self.plain)
    try again.close()
    #expect(try Store.verify(in: disk, unlocking: TemporaryFolder.key).condition == .sound)
  }

  /// The bug: a collection whose schema was dropped was made anew by the next import, plain.
  @Test func `INV-M7 where a schema was taken away no collection is made`() throws {
    let sample = try Sample { store in
      try store.createCollection("secret", fields: [.sealed("text", .text)])
    }
    try expectRefused(sample.rolledBack(), missing: 1)
  }

  @Test func `INV-M7 where an earlier schema stands in another's place none is stored`() throws {
    let sample = try Sample { store in
      try store.write { tx in try tx.put(LongerNote(one: "one")) }
      try store.write { tx in try tx.put(LongestNote(one: "one", two: "two")) }
    }
    try expectRefused(sample.rolledBack(), missing: 2)
  }

  /// A crash between the transaction and the keyring.
  @Test func `INV-M7 who unlocks the store next has the keyring count what was stored`() throws {
    let sample = try Sample { store in try store.createCollection("secret", fields: Self.plain) }
    let disk = sample.disk.copy()
    for name in ["keyring", "keyring.copy"] { disk.replace(name, with: sample.earlier[name]) }
    try open(disk).close()
    for (name, bytes) in sample.earlier where !name.hasPrefix("keyring") { disk.replace(name, with: bytes) }
    for name in disk.fileNames where !name.hasPrefix("keyring") && sample.earlier[name] == nil {
      disk.replace(name, with: nil)
    }
    try expectRefused(disk, missing: 1)
  }
}

/// The same collection with a field more.
private struct LongerNote: Record {
  var id = RecordID()
  var time = Date()
  var title = ""
  var body = ""
  var one: String?
  static let schema = Schema<LongerNote>("note") {
    Plain("time", \.time, indexed: true)
    Sealed("title", \.title)
    Sealed("body", \.body, key: "personal", compressed: true)
    Plain("one", \.one)
  }
}

/// And with another one.
private struct LongestNote: Record {
  var id = RecordID()
  var time = Date()
  var title = ""
  var body = ""
  var one: String?
  var two: String?
  static let schema = Schema<LongestNote>("note") {
    Plain("time", \.time, indexed: true)
    Sealed("title", \.title)
    Sealed("body", \.body, key: "personal", compressed: true)
    Plain("one", \.one)
    Plain("two", \.two)
  }
}
