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
    let text = reference.absoluteString
    #expect(text == "notelog://\(store.info().id)/note/\(note.id)")
    try store.write { tx in try tx.update(Note.self, note.id) { $0.set(\.time, .distantPast) } }
    try store.compact()
    try store.close()
    let copy = try TemporaryFolder()
    try FileManager.default.copyItem(atPath: folder.path, toPath: copy.path)
    store = try copy.open()
    let again = try #require(URL(string: text))
    #expect(try store.get(Note.self, again)?.title == "pointed at")
    #expect(throws: NotelogError(.invalidArgument, "")) { try store.get(Everything.self, again) }
    let other = try TemporaryFolder()
    #expect(throws: NotelogError(.invalidArgument, "")) { try other.create().get(Note.self, again) }
    try store.write { tx in try tx.delete(Note.self, note.id) }
    #expect(try store.get(Note.self, again) == nil)
  }

  private struct Odd: Record {
    var id = RecordID()
    static let schema = Schema<Odd>("ä/ö?#% 日記/..") {}
  }

  /// The bug: references were compared letter by letter, and a scheme in capitals made another one of it.
  @Test
  func
    `a collection's name may hold anything, a reference be written as RFC 3986 has it, and what is none is refused`()
    throws
  {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let (odd, note) = (Odd(), Note(title: "plain"))
    try store.putAll([odd])
    try store.putAll([note])
    let reference = try #require(try URL(string: store.reference(to: Odd.self, odd.id).absoluteString))
    #expect(try store.get(Odd.self, reference)?.id == odd.id)
    let (place, id) = ("\(store.info().id)", note.id)
    let escaped = try #require(URL(string: reference.absoluteString.lowercased()))
    #expect(try escaped != reference && store.get(Odd.self, escaped)?.id == odd.id)
    for text in [
      "NOTELOG://\(place)/note/\(id)", "notelog://\(place.uppercased())/note/\(id)",
      "notelog://\(place)/%6eot%65/\(id)",
    ] {
      let url = try #require(URL(string: text))
      #expect(try store.get(Note.self, url)?.id == id, "\(text)")
    }
    for text in [
      "notelog://\(place)/note", "notelog://\(place)/note/\(id)/x", "http://\(place)/note/\(id)",
      "notelog://\(place)//\(id)", "notelog://12/note/\(id)", "notelog://\(place)/note/12",
      "notelog://\(place)/NOTE/\(id)", "notelog://\(place)/note%2F\(id)", "notelog://a@\(place)/note/\(id)",
      "notelog://\(place):1/note/\(id)",
      "notelog://\(place)/note/\(id)?x", "notelog://\(place)/note/\(id)#x", "notelog://\(place)/note/\(id)/",
    ] {
      let url = try #require(URL(string: text))
      #expect(throws: NotelogError(.invalidArgument, ""), "\(text)") { try store.get(Note.self, url) }
    }
  }
}
