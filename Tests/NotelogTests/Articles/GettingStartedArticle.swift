// The examples of the article "Getting started", line for line.

import Foundation
import Notelog
import Testing

struct Recipe: Record {
  var id = RecordID()
  var added = Date()
  var title = ""
  var steps = Steps()
  var rating: Int?
  static let schema = Schema<Recipe>("recipe") {
    Plain("added", \.added, indexed: true)
    Plain("rating", \.rating)
    Sealed("title", \.title)
    Sealed("steps", \.steps, compressed: true)
  }
}

enum Course: String, FieldValue { case starter, main, dessert }

struct Steps: Codable, FieldValue {
  var lines: [String] = []
}

struct Cooked: Record {
  var id = RecordID()
  var time = Date()
  var recipe: RecordID?
  static let schema = Schema<Cooked>("cooked") {
    Plain("time", \.time, indexed: true)
    Plain("recipe", \.recipe, indexed: true)
  }
}

struct Shelf: Record {
  var id = RecordID()
  var room = ""
  var number = 0
  static let schema = Schema<Shelf>("shelf") {
    Plain("room", \.room, indexed: true)
    Plain("number", \.number, indexed: true)
    Unique(\.room, \.number)
  }
}

@Suite struct GettingStartedArticle {
  @Test func `the article's examples do what it says`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path
    let password = "correct horse battery staple"
    do {
      let store = try Store.openOrCreate(at: path, unlocking: .password(password))
      try store.close()
    }
    let store = try Store.openOrCreate(at: path, unlocking: .password(password))
    let soup = Recipe(title: "Soup", steps: Steps(lines: ["Boil water.", "Add the rest."]))
    try store.write { tx in
      try tx.put(soup)
      try tx.update(Recipe.self, soup.id) { $0.set(\.rating, 5) }
    }
    let newest = try store.query(Recipe.self).sorted(by: \.added, .descending).limit(20).entries()
    for recipe in newest { print(try recipe.title) }
    #expect(try newest.map { try $0.rating } == [5])
    let lastWeek = Date(timeIntervalSinceNow: -7 * 86_400)
    let recent = store.query(Recipe.self)
      .where(\.added, in: lastWeek...)
      .filter(\.title) { $0.hasPrefix("S") }
    print(try recent.explain())
    print(try recent.count())
    #expect(try recent.count() == 1)
    if let entry = try store.get(Recipe.self, soup.id) {
      let recipe = try entry.record()
      print(recipe.steps.lines.count)
    }
    #expect(try store.get(Recipe.self, soup.id)?.record().steps.lines.count == 2)
    try store.write { tx in try tx.put(Cooked(recipe: soup.id)) }
    let last = try store.query(Cooked.self).where(\.recipe, is: soup.id).max(of: \.time)
    #expect(last != nil)
    let url = try store.reference(to: Recipe.self, soup.id)
    print(try store.get(Recipe.self, url)?.title ?? "it is gone")
    try store.write { tx in try tx.put(Shelf(room: "cellar", number: 1)) }
    #expect(throws: NotelogError(.notUnique, "")) {
      try store.write { tx in try tx.put(Shelf(room: "cellar", number: 1)) }
    }
    try store.write { tx in try tx.delete(Recipe.self, soup.id) }
    #expect(try store.get(Recipe.self, soup.id) == nil)
    try store.close()
  }

  @Test func `the example of errors uses a store, or asks for another password, or says who has it`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path
    var stores: [Store] = []
    func use(_ store: Store) { stores.append(store) }
    var questionCount = 0
    func askAgain() { questionCount += 1 }
    try Store.create(at: path, unlocking: .password("one")).close()
    for (password, expected) in [("another", 0), ("one", 1), ("one", 1)] {
      do {
        let store = try Store.openOrCreate(at: path, unlocking: .password(password))
        use(store)
      } catch let error as NotelogError where error.code == .wrongPassword {
        askAgain()
      } catch let error as NotelogError where error.code == .busy {
        print(error.localizedDescription)  // for the user
        print(error.message)  // for you: which folder, and which process has it
      }
      #expect(stores.count == expected && questionCount == 1)
    }
    for store in stores { try store.close() }
  }
}
