// Thirteen versions of the vault: what each one changed, and how older stores follow.
//
//  1  accounts have notes                      a line in the schema
//  2  logins are called accounts               `formerly`, of the collection and of a field
//  3  addresses become domains                 `Migrated`
//  4  items are cards or notes                 a change of one transaction: one collection becomes two
//  5  accounts keep when they were last used   a line in the schema
//  6  accounts may be favourites               a line in the schema
//  7  accounts are found by domain             another rule in the schema, and a change in steps
//  8  there are folders                        a change of one transaction, across collections
//  9  cards expire in a month of a year        `Migrated`: one field becomes two
// 10  passwords from before are kept           a type of record
// 11  items are synchronized                   a change of one transaction
// 12  numbers of cards have no blanks          a change in steps, of a field in its place
// 13  what is deleted is told to the server    another rule in the schema

import Foundation
import Notelog

extension Vault {
  /// Brings a store up to date: first the fields and rules of each type, then what has a name.
  @discardableResult
  static func migrate(_ store: Store, _ changes: [Migration] = changes) throws -> MigrationSummary {
    for type in types { try store.migrate(type) }
    return try store.migrate(changes)
  }

  /// What has a name, in the order in which it came. Closures see today's types, whatever version they are of.
  static let changes = [
    Migration("4: items are cards or notes") { tx in
      for item in try tx.query(OldItem.self).entries().map({ try $0.record() }) {
        let (month, year) = Card.expiry(item.expiry)
        if item.kind == "card" {
          try tx.put(Card(title: item.title, number: item.number, month: month, year: year))
        } else {
          try tx.put(Note(title: item.title, text: item.text))
        }
      }
      try tx.deleteAll(OldItem.self)
    },
    // What is set anew has a digest, which look-ups go by.
    Migration("7: accounts are found by domain", of: Account.self) { $0.set(\.domain, try $0.domain) },
    Migration("8: there are folders") { tx in
      let folder = Folder(name: "Personal")
      var count = try tx.updateAll(Account.self) { $0.set(\.folder, folder.id) }
      count += try tx.updateAll(Card.self) { $0.set(\.folder, folder.id) }
      count += try tx.updateAll(Note.self) { $0.set(\.folder, folder.id) }
      if count > 0 { try tx.put(folder) }
    },
    Migration("11: items are synchronized") { tx in
      for account in try tx.query(Account.self).entries() { try tx.touch(Account.self, account.id) }
      for card in try tx.query(Card.self).entries() { try tx.touch(Card.self, card.id) }
      for note in try tx.query(Note.self).entries() { try tx.touch(Note.self, note.id) }
    },
    Migration("12: numbers of cards have no blanks", of: Card.self) { card in
      card.set(\.number, try card.number.filter { !$0.isWhitespace })
    },
  ]
}

/// What cards and notes were until version 4.
private struct OldItem: Record {
  var id = RecordID()
  var kind = ""
  var title = ""
  var text = ""
  var number = ""
  var expiry = ""
  static let schema = Schema<OldItem>("item") {
    Plain("kind", \.kind)
    Sealed("title", \.title)
    Sealed("text", \.text)
    Sealed("number", \.number)
    Sealed("expiry", \.expiry)
  }
}
