// A store with evidence whose files somebody has who has no key.

import NotelogBase
import NotelogFormat
import NotelogTestSupport
import Testing

@testable import Notelog

/// A store with a history, and what lies on its disk.
struct AttackedStore {
  static let key = TemporaryFolder.key
  /// `first` and `other` are of one length.
  let notes: [Note]
  let disk = SimulatedDisk()
  /// Every version of everything.
  let all: ForgedStore
  /// What is in force.
  let now: ForgedStore

  /// Five notes: the first was changed twice, the fifth deleted, the second put twice in one transaction.
  init(_ more: (Store, [Note]) throws -> Void = { _, _ in }) throws {
    var notes = (0..<6).map { Note(title: "first", body: "body \($0)") }
    let store = try Store.create(in: disk, unlocking: Self.key, options: EvidenceTests.options)
    try store.putAll(notes[..<5])
    for title in ["other", "third"] {
      try store.write { tx in try tx.update(Note.self, notes[0].id) { $0.set(\.title, title) } }
    }
    try store.write { tx in try tx.delete(Note.self, notes[4].id) }
    try store.write { tx in
      for title in ["other", "third"] {
        notes[1].title = title
        try tx.put(notes[1])
      }
    }
    try more(store, notes)
    try store.close()
    self.notes = notes
    all = try ForgedStore(disk)
    now = all.moment()
  }

  func id(_ number: Int) -> ID16 { notes[number].id.bytes }
  func versions(_ number: Int) -> [ForgedStore.Frame] { all.versions(of: id(number)) }

  /// A copy of the disk, opened.
  static func open(
    _ disk: SimulatedDisk, _ head: StoreHead? = nil, _ credential: Credential? = key
  ) throws -> Store {
    var options = EvidenceTests.options
    options.head = head
    return try Store.open(in: disk.copy(), unlocking: credential, options: options)
  }

  /// What an audit finds in a store that was put together; reading goes on whatever it is.
  static func findings(_ store: ForgedStore, _ head: StoreHead? = nil) throws -> [String] {
    let opened = try open(try store.disk(), head)
    defer { try? opened.close() }
    for frame in store.frames where frame.header.kind == .record && frame.header.collection == 1 {
      // One whose body is broken is there, too.
      let isThere = try? opened.get(Note.self, RecordID(frame.id)) != nil
      #expect(isThere != false)
    }
    let audit = try opened.audit()
    #expect(audit.isSound == audit.findings.isEmpty)
    return audit.findings.map(\.message)
  }

  /// Expects that an audit finds one thing, in these words.
  static func expect(
    _ words: String..., of store: ForgedStore, at place: SourceLocation = #_sourceLocation
  ) throws {
    let found = try findings(store)
    #expect(
      found.count == words.count && zip(found, words).allSatisfy { $0.contains($1) }, "\(found)",
      sourceLocation: place)
  }

  /// The title that a store shows of a note.
  static func title(_ store: ForgedStore, _ id: ID16) throws -> String? {
    let opened = try open(try store.disk())
    defer { try? opened.close() }
    return try opened.get(Note.self, RecordID(id))?.title
  }
}

extension ForgedStore.Frame {
  /// Where the body lies in the payload.
  var body: Range<Int> { header.bodyRange(in: payload.rawSpan) ?? 0..<0 }

  /// Where a field's value lies in the payload.
  func value(_ field: UInt16) throws -> Range<Int> {
    let (body, bytes) = (body, Array(payload[body]))
    let entries = try RecordBody(checking: bytes.rawSpan).entries()
    let range = try #require(entries.first { $0.number == field }?.range)
    return body.lowerBound + range.lowerBound..<body.lowerBound + range.upperBound
  }

  /// The same with another revision.
  func at(_ revision: UInt64) -> Self {
    var frame = self
    frame.header.sequence = revision
    return frame
  }

  /// The same without its seal, or with another one.
  func sealed(_ seal: [UInt8]?) -> Self {
    var frame = self
    if header.hasSeal { frame.payload.removeLast(16) }
    frame.payload += seal ?? []
    frame.header.hasSeal = seal != nil
    return frame
  }
}
