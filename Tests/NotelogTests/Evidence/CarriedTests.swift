// What somebody without the key changed does not get a genuine seal by being changed once more: INV-W5.

import NotelogBase
import NotelogFormat
import NotelogTestSupport
import Testing

@testable import Notelog

/// A record whose only value is sealed.
private struct Secret: Record {
  var id = RecordID()
  var text = ""
  static let schema = Schema<Secret>("secret") { Sealed("text", \.text, key: "secret") }
}

/// A record with one plain value, and its next version, which makes another of it.
private struct Old: Record {
  var id = RecordID()
  var name = ""
  static let schema = Schema<Old>("person") { Plain("name", \.name) }
}

private struct New: Record {
  var id = RecordID()
  var title = ""
  static let schema = Schema<New>("person") {
    Plain("title", \.title)
    Migrated("name") { old, new in
      if case .text(let name) = try old.value("name") { new.set(\.title, name) }
    }
  }
}

@Suite struct CarriedTests {
  private static let refusal = NotelogError(.tampered, "")

  /// A note whose plain field was edited, another that was not.
  private static func edited() throws -> (Store, RecordID, RecordID) {
    let store = try AttackedStore()
    var forged = store.now
    try forged.change(store.id(2)) { frame in frame.payload[try frame.value(1).lowerBound] ^= 1 }
    return (try AttackedStore.open(try forged.disk()), store.notes[2].id, store.notes[3].id)
  }

  @Test func `an update of a record that was edited is refused, and names it`() throws {
    let (store, id, other) = try Self.edited()
    let update = { (id: RecordID) in
      try store.write { tx in try tx.update(Note.self, id) { $0.set(\.title, "new") } }
    }
    let error = #expect(throws: Self.refusal) { try update(id) }
    #expect(error?.record == id && error?.message.contains("\(id)") == true)
    // All of its fields, too: they may be made of what was there.
    #expect(throws: Self.refusal) {
      try store.write { tx in
        try tx.update(Note.self, id) { draft in
          draft.set(\.time, try draft.time)
          draft.set(\.title, "new")
          draft.set(\.body, "new")
        }
      }
    }
    #expect(throws: Self.refusal) {
      try store.write { tx in try tx.updateAll(Note.self) { $0.set(\.title, "new") } }
    }
    let notes = try #require(store.collections.first { $0.name == "note" })
    #expect(throws: Self.refusal) { try notes.update(id, ["title": .text("new")]) }
    // The others are served, and it is, once it was put anew or deleted.
    try update(other)
    #expect(try store.audit().findings.count == 1)
    try store.putAll([Note(id: id, title: "anew")])
    try update(id)
    #expect(try store.audit().isSound)
    try store.close()
  }

  @Test func `a record that was edited may be deleted`() throws {
    let (store, id, _) = try Self.edited()
    try store.write { tx in try tx.delete(Note.self, id) }
    // Its seal was taken off the sums as it stood there: that was left as it was.
    #expect(try store.audit().isSound)
    try store.close()
  }

  @Test func `a rotation does not carry a value on that was put back`() throws {
    let store = try AttackedStore { store, _ in try store.putAll([Secret(text: "older")]) }
    let disk = store.disk.copy()
    let id = try #require(store.now.frames.first { $0.header.collection == 2 }).id
    let opened = try Store.open(in: disk, unlocking: AttackedStore.key, options: EvidenceTests.options)
    try opened.write { tx in try tx.update(Secret.self, RecordID(id)) { $0.set(\.text, "newer") } }
    try opened.close()
    var forged = try ForgedStore(disk).moment()
    let before = try #require(store.now.versions(of: id).last)
    try forged.change(id) { frame in
      frame.payload.replaceSubrange(try frame.value(1), with: before.payload[try before.value(1)])
    }
    let attacked = try AttackedStore.open(try forged.disk())
    #expect(try attacked.get(Secret.self, RecordID(id))?.text == "older")
    #expect(throws: Self.refusal) { try attacked.rotate("secret") }
    #expect(try attacked.audit().findings.first?.message.contains("changed without the key") == true)
    try attacked.close()
  }

  @Test func `a migration does not make a value of one that was edited`() throws {
    let store = try AttackedStore { store, _ in try store.putAll([Old(name: "Ann")]) }
    let id = try #require(store.now.frames.first { $0.header.collection == 2 }).id
    var forged = store.now
    try forged.change(id) { frame in frame.payload[try frame.value(1).lowerBound] ^= 1 }
    for (made, isSound) in [(store.now, true), (forged, false)] {
      let opened = try AttackedStore.open(try made.disk())
      let outcome = Result { try opened.migrate(New.self) }
      #expect(((try? outcome.get()) != nil) == isSound, "\(outcome)")
      if !isSound { #expect(throws: Self.refusal) { try outcome.get() } }
      try opened.close()
    }
  }

  @Test func `undo does not bring back a version that was edited`() throws {
    let store = try AttackedStore()
    // An update is the last thing.
    let disk = store.disk.copy()
    let opened = try Store.open(in: disk, unlocking: AttackedStore.key, options: EvidenceTests.options)
    try opened.write { tx in try tx.update(Note.self, store.notes[2].id) { $0.set(\.title, "last") } }
    try opened.close()
    let name = try #require(disk.fileNames.last { FileName.segmentNumber($0) != nil })
    for isEdited in [false, true] {
      let attacked = disk.copy()
      if isEdited {
        // The version before lies in the log.
        let id = store.id(2)
        try attacked.edit(name) { frame in
          guard frame.id == id, frame.header.kind == .record, frame.revision < 5 else { return }
          frame.payload[try frame.value(1).lowerBound] ^= 1
        }
      }
      let again = try Store.open(in: attacked, unlocking: AttackedStore.key, options: EvidenceTests.options)
      #expect(try again.audit().isSound)
      if isEdited {
        #expect(throws: Self.refusal) { try again.undoLast() }
      } else {
        try again.undoLast()
      }
      try again.close()
    }
  }
}
