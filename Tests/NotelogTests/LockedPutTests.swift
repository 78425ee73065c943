// Whole records put while some of their keys are locked.

import Foundation
import Testing

@testable import Notelog

private struct Card: Record, Equatable {
  var id = RecordID()
  var name = ""
  var place = "home"
  var number: String?
  var code = 0
  static let schema = Schema<Card>("card") {
    Plain("name", \.name, indexed: true)
    Sealed("place", \.place, key: "open")
    Sealed("number", \.number, key: "closed")
    Sealed("code", \.code, key: "closed", padded: true)
  }
}

private struct Loose: Record, Equatable {
  var id = RecordID()
  var name = ""
  var number: String?
  static let schema = Schema<Loose>("loose") {
    Plain("name", \.name)
    Sealed("number", \.number, key: "closed")
  }
}

@Suite struct LockedPutTests {
  private func store(_ folder: TemporaryFolder, _ card: Card) throws -> Store {
    let store = try folder.create()
    try store.createKey("open", .afterFirstUnlock)
    try store.createKey("closed", .whenUnlocked)
    try store.write { tx in try tx.put(card) }
    store.lock()
    return store
  }

  private func sealed(_ store: Store, _ id: RecordID) throws -> [[UInt8]] {
    let stored = try #require(try store.get(Card.self, id)).stored
    return try stored.entries().filter { $0.number > 2 }.map { Array(stored.body[$0.range]) }
  }

  @Test(arguments: [false, true])
  func `fields under a locked key that are nil or as they were initially are carried over byte for byte`(
    isBatched: Bool
  ) throws {
    let folder = try TemporaryFolder()
    let card = Card(name: "a", place: "here", number: String(repeating: "4", count: 100_000), code: 7)
    let store = try store(folder, card)
    let before = try sealed(store, card.id)
    let changed = Card(id: card.id, name: "b", place: "there")
    if isBatched {
      let revision = try store.putAll([changed])
      #expect(try store.get(Card.self, card.id)?.revision == revision)
    } else {
      try store.write { tx in try tx.put(changed) }
    }
    #expect(try sealed(store, card.id) == before)
    let entry = try #require(try store.get(Card.self, card.id))
    #expect(try entry.name == "b" && entry.place == "there")
    #expect(try store.query(Card.self).where(\.name, is: "b").count() == 1)
    #expect(try store.query(Card.self).where(\.name, is: "a").count() == 0)
    try store.unlock(TemporaryFolder.key)
    var whole = card
    (whole.name, whole.place) = ("b", "there")
    #expect(try store.get(Card.self, card.id)?.record() == whole)
    try store.close()
    #expect(try folder.open().get(Card.self, card.id)?.record() == whole)
  }

  @Test func `a new record is put while a key is locked where its fields are nil, and only there`() throws {
    let folder = try TemporaryFolder()
    let store = try store(folder, Card())
    try store.unlock(TemporaryFolder.key)
    try store.putAll([Loose(name: "known")])
    store.lock()
    let new = Loose(name: "new")
    try store.write { tx in try tx.put(new) }
    #expect(throws: NotelogError(.locked, "")) { try store.write { tx in try tx.put(Card(name: "new")) } }
    #expect(throws: NotelogError(.locked, "")) { try store.putAll([Loose(number: "1")]) }
    try store.unlock(TemporaryFolder.key)
    #expect(try store.get(Loose.self, new.id)?.record() == new)
  }

  @Test func `a value under a locked key is refused, and nothing is written`() throws {
    let folder = try TemporaryFolder()
    let card = Card(name: "a", number: "1", code: 7)
    let store = try store(folder, card)
    #expect(throws: NotelogError(.locked, "")) {
      try store.write { tx in try tx.put(Card(id: card.id, name: "b", code: 8)) }
    }
    #expect(throws: NotelogError(.locked, "")) { try store.putAll([Card(id: card.id, number: "2")]) }
    #expect(try store.get(Card.self, card.id)?.name == "a")
  }

  @Test func `a closure goes on after a put that was refused, and its index stays right`() throws {
    let folder = try TemporaryFolder()
    let card = Card(name: "a", number: "1", code: 7)
    let store = try store(folder, card)
    #expect(try store.query(Card.self).where(\.name, is: "a").count() == 1)
    try store.write { tx in
      #expect(throws: NotelogError(.locked, "")) { try tx.put(Card(name: "phantom", code: 8)) }
      try tx.put(Card(id: card.id, name: "c"))
    }
    #expect(try store.query(Card.self).where(\.name, is: "phantom").count() == 0)
    #expect(try store.query(Card.self).where(\.name, is: "c").count() == 1)
  }

  @Test func `with its key unlocked, nil is written`() throws {
    let folder = try TemporaryFolder()
    let card = Card(name: "a", number: "1", code: 7)
    let store = try store(folder, card)
    try store.unlock(TemporaryFolder.key)
    try store.write { tx in try tx.put(Card(id: card.id)) }
    #expect(try store.get(Card.self, card.id)?.record() == Card(id: card.id))
  }
}
