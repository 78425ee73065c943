// The examples of the article "Coming from Core Data or SQLCipher", line for line.

import Foundation
import Notelog
import Testing

private enum Before {
  struct Contact: Record {
    var id = RecordID()
    var name = ""
    var nickname = ""
    static let schema = Schema<Contact>("person") {
      Sealed("name", \.name)
      Plain("nickname", \.nickname)
    }
  }
}

private enum After {
  struct Colour: FieldValue {
    var red: UInt8 = 0
    var green: UInt8 = 0
    var blue: UInt8 = 0
    var stored: [UInt8] { [red, green, blue] }
    init(stored: [UInt8]) throws {
      guard stored.count == 3 else { throw NotelogError(.typeMismatch, "a colour has three bytes") }
      (red, green, blue) = (stored[0], stored[1], stored[2])
    }
    init() {}
  }

  struct Contact: Record {
    var id = RecordID()
    var fullName = ""
    var colour = Colour()
    static let schema = Schema<Contact>("contact", formerly: "person") {
      Sealed("fullName", \.fullName, formerly: "name")
      Plain("colour", \.colour)
      Retired("nickname")
    }
  }
}

@Suite struct ComingFromArticle {
  @Test func `the article's examples do what it says`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll([Before.Contact(name: "Ada", nickname: "A"), Before.Contact(name: "Bob")])
    typealias Contact = After.Contact
    let recent = try store.query(Contact.self)
      .filter(\.fullName) { $0.hasPrefix("A") }
      .limit(10)
      .entries()
    #expect(try recent.map { try $0.fullName } == ["Ada"])
    let id = try #require(recent.first).id
    try store.write { tx in
      try tx.update(Contact.self, id) { draft in
        var colour = After.Colour()
        colour.red = 255
        draft.set(\.colour, colour)
      }
    }
    #expect(try store.get(Contact.self, id)?.colour.red == 255)
    #expect(try store.get(Contact.self, id)?.fullName == "Ada")
  }
}
