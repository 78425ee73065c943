// References to records, as text, through all that may happen to a store.

import Foundation
import Testing

@testable import Notelog

@Suite struct RecordReferenceTests {
  @Test func `a reference survives text, compaction, another name and a copy of the store`() throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let note = Note(title: "pointed at")
    try store.putAll([note])
    let reference = try store.reference(to: Note.self, note.id)
    #expect("\(reference)" == "notelog://\(store.info().id)/note/\(note.id)")
    let text = "\(reference)"
    try store.write { tx in try tx.update(Note.self, note.id) { $0.set(\.time, .distantPast) } }
    try store.compact()
    try store.close()
    let copy = try TemporaryFolder()
    try FileManager.default.copyItem(atPath: folder.path, toPath: copy.path)
    store = try copy.open()
    let again = try #require(RecordReference(text))
    #expect(again == reference && RecordReference(again.url) == again)
    #expect(try store.get(Note.self, again)?.title == "pointed at")
    #expect(try JSONDecoder().decode([RecordReference].self, from: JSONEncoder().encode([again])) == [again])
    #expect(throws: NotelogError(.invalidArgument, "")) { try store.get(Everything.self, again) }
    let other = try TemporaryFolder()
    #expect(throws: NotelogError(.invalidArgument, "")) { try other.create().get(Note.self, again) }
    try store.write { tx in try tx.delete(Note.self, note.id) }
    #expect(try store.get(Note.self, again) == nil)
  }

  @Test func `a collection's name may hold anything`() throws {
    let id = RecordID()
    let store = "\(RecordID())"
    for name in ["note", "a b", "ä/ö?#%", "..", "日記", "%2F"] {
      let reference = RecordReference(store: store, collection: name, id: id)
      #expect(RecordReference("\(reference)") == reference, "\(name): \(reference)")
    }
    for text in [
      "", "notelog://", "notelog://\(store)/note", "notelog://\(store)/note/\(id)/x",
      "http://\(store)/note/\(id)",
      "notelog://\(store)//\(id)", "notelog://12/note/\(id)", "notelog://\(store)/note/12",
      "notelog://\(store)/note/\(id)?x",
    ] {
      #expect(RecordReference(text) == nil, "\(text)")
    }
  }
}
