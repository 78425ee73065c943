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

  private func put(_ card: Card, _ store: Store, isBatched: Bool) throws {
    if isBatched { try store.putAll([card]) } else { try store.write { tx in try tx.put(card) } }
  }

  /// The trap: nil and initial values kept what was stored while its key was locked, and took its place else.
  @Test(arguments: [false, true])
  func `a record with a value under a locked key is not put over, whatever takes its place`(
    isBatched: Bool
  ) throws {
    let folder = try TemporaryFolder()
    let card = Card(name: "a", place: "here", number: String(repeating: "4", count: 100_000), code: 7)
    let store = try store(folder, card)
    let before = try sealed(store, card.id)
    for other in [
      Card(id: card.id, name: "b", place: "there"), Card(id: card.id), Card(id: card.id, number: ""),
      Card(id: card.id, code: 8), Card(id: card.id, number: "5", code: 8),
    ] {
      let error = #expect(throws: NotelogError(.locked, "")) {
        try put(other, store, isBatched: isBatched)
      }
      let message = error?.message ?? ""
      #expect(message.contains("card.number of record \(card.id)") && message.contains("use update"))
    }
    #expect(try sealed(store, card.id) == before)
    #expect(try store.get(Card.self, card.id)?.name == "a")
    // What the message says to do.
    try store.write { tx in
      try tx.update(Card.self, card.id) { draft in
        draft.set(\.name, "b")
        draft.set(\.place, "there")
      }
    }
    try store.unlock(TemporaryFolder.key)
    var whole = card
    (whole.name, whole.place) = ("b", "there")
    #expect(try store.get(Card.self, card.id)?.record() == whole)
    try put(Card(id: card.id), store, isBatched: isBatched)
    try store.close()
    #expect(try folder.open().get(Card.self, card.id)?.record() == Card(id: card.id))
  }

  @Test(arguments: [false, true])
  func `nil that no version has another value for needs no key`(isBatched: Bool) throws {
    let folder = try TemporaryFolder()
    let store = try store(folder, Card())
    try store.unlock(TemporaryFolder.key)
    let known = Loose(name: "known", number: "1")
    try store.putAll([known])
    store.lock()
    func put(_ loose: Loose) throws {
      if isBatched { try store.putAll([loose]) } else { try store.write { tx in try tx.put(loose) } }
    }
    var new = Loose(name: "new")
    try put(new)
    new.name = "newer"
    try put(new)
    // Empty text is stored as nil is, with a byte that says that it is there.
    for number in ["", "1"] {
      #expect(throws: NotelogError(.locked, "")) { try put(Loose(number: number)) }
      #expect(throws: NotelogError(.locked, "")) { try put(Loose(id: new.id, number: number)) }
    }
    #expect(throws: NotelogError(.locked, "")) { try put(Loose(id: known.id)) }
    #expect(throws: NotelogError(.locked, "")) {
      try self.put(Card(name: "new"), store, isBatched: isBatched)
    }
    try store.unlock(TemporaryFolder.key)
    #expect(try store.get(Loose.self, new.id)?.record() == new)
    #expect(try store.get(Loose.self, known.id)?.record() == known)
    new.number = "2"
    try put(new)
    store.lock()
    #expect(throws: NotelogError(.locked, "")) { try put(Loose(id: new.id)) }
    try store.unlock(TemporaryFolder.key)
    #expect(try store.get(Loose.self, new.id)?.record() == new)
  }

  @Test func `a closure goes on after a put that was refused, and its index stays right`() throws {
    let folder = try TemporaryFolder()
    let card = Card(name: "a", number: "1", code: 7)
    let store = try store(folder, card)
    #expect(try store.query(Card.self).where(\.name, is: "a").count() == 1)
    try store.write { tx in
      #expect(throws: NotelogError(.locked, "")) { try tx.put(Card(name: "phantom", code: 8)) }
      try tx.update(Card.self, card.id) { $0.set(\.name, "c") }
    }
    #expect(try store.query(Card.self).where(\.name, is: "phantom").count() == 0)
    #expect(try store.query(Card.self).where(\.name, is: "c").count() == 1)
  }

  @Test func `a batch whose record was refused has the others`() throws {
    let folder = try TemporaryFolder()
    let store = try store(folder, Card())
    try store.unlock(TemporaryFolder.key)
    try store.putAll([Loose()])
    store.lock()
    var batch = try store.batch(of: Loose.self)
    let loose = Loose(name: "a")
    try batch.put(loose)
    #expect(throws: NotelogError(.locked, "")) { try batch.put(Loose(number: "1")) }
    #expect(batch.count == 1)
    try batch.commit()
    #expect(try store.get(Loose.self, loose.id)?.name == "a")
    #expect(try store.query(Loose.self).count() == 2)
  }
}
