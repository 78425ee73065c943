// What the vault keeps. What people type is sealed; dates, folders and what refers to what are in the clear.

import Foundation
import Notelog

/// A folder, which takes what is in it with it.
struct Folder: Record {
  var id = RecordID()
  var name = ""
  static let schema = Schema<Folder>("folder") { Sealed("name", \.name, padded: true) }
}

/// What is in a folder, and synchronized.
protocol Item: Record {
  var folder: RecordID? { get set }
  /// Where its synchronization state names it.
  static var statePath: FieldPath<SyncState, RecordID?> { get }
}

struct Account: Item {
  var id = RecordID()
  var created = Date(timeIntervalSince1970: 0)
  var isFavourite = false
  var folder: RecordID?
  var title = ""
  var domain = ""
  var userName = ""
  var password = ""
  var notes = ""
  var lastUsed: Date?

  static let schema = Schema<Account>("account", formerly: "login") {
    Plain("created", \.created, indexed: true)
    Plain("isFavourite", \.isFavourite, indexed: true)
    Plain("folder", \.folder, indexed: true).referring(to: Folder.self, whenDeleted: .cascade)
    Sealed("title", \.title, padded: true)
    Sealed("domain", \.domain, padded: true).revealingEquality(ignoringCase: true)
    Sealed("userName", \.userName, padded: true, formerly: "user")
    Sealed("password", \.password, padded: true)
    Sealed("notes", \.notes, compressed: true)
    Plain("lastUsed", \.lastUsed)
    Migrated("url") { old, account in
      if case .text(let url) = try old.value("url") { account.set(\.domain, URL(string: url)?.host() ?? url) }
    }
  }
  static var statePath: FieldPath<SyncState, RecordID?> { \.account }
}

/// A password that an account had.
struct FormerPassword: Record {
  var id = RecordID()
  var account = RecordID()
  var until = Date(timeIntervalSince1970: 0)
  var password = ""

  static let schema = Schema<FormerPassword>("formerPassword") {
    Plain("account", \.account, indexed: true).referring(to: Account.self, whenDeleted: .cascade)
    Plain("until", \.until)
    Sealed("password", \.password, padded: true)
  }
}

struct Card: Item {
  var id = RecordID()
  var folder: RecordID?
  var title = ""
  var number = ""
  var month = 0
  var year = 0

  static let schema = Schema<Card>("card") {
    Plain("folder", \.folder, indexed: true).referring(to: Folder.self, whenDeleted: .cascade)
    Sealed("title", \.title, padded: true)
    Sealed("number", \.number, padded: true)
    Sealed("month", \.month)
    Sealed("year", \.year)
    Migrated("expiry") { old, card in
      guard case .text(let text) = try old.value("expiry") else { return }
      let (month, year) = Card.expiry(text)
      card.set(\.month, month)
      card.set(\.year, year)
    }
  }
  static var statePath: FieldPath<SyncState, RecordID?> { \.card }

  /// A month and a year as they stand on cards, `07/29`. What is no date is 0 of 0: the user is asked for it.
  static func expiry(_ text: String) -> (month: Int, year: Int) {
    let parts = text.split(separator: "/").compactMap { Int($0) }
    return parts.count == 2 ? (parts[0], 2000 + parts[1]) : (0, 0)
  }
}

struct Note: Item {
  var id = RecordID()
  var folder: RecordID?
  var title = ""
  var text = ""

  static let schema = Schema<Note>("note") {
    Plain("folder", \.folder, indexed: true).referring(to: Folder.self, whenDeleted: .cascade)
    Sealed("title", \.title, padded: true)
    Sealed("text", \.text, compressed: true)
  }
  static var statePath: FieldPath<SyncState, RecordID?> { \.note }
}

/// What the server has to be told of an item. It outlives the item, and then refers to none: whoever deletes
/// it, a folder among them, need not think of the server.
struct SyncState: Record, Equatable {
  var id = RecordID()
  var changed = Date(timeIntervalSince1970: 0)
  var isSent = false
  var account: RecordID?
  var card: RecordID?
  var note: RecordID?

  static let schema = Schema<SyncState>("syncState") {
    Plain("changed", \.changed, indexed: true)
    Plain("isSent", \.isSent, indexed: true)
    Plain("account", \.account, indexed: true).referring(to: Account.self, whenDeleted: .nullify)
    Plain("card", \.card, indexed: true).referring(to: Card.self, whenDeleted: .nullify)
    Plain("note", \.note, indexed: true).referring(to: Note.self, whenDeleted: .nullify)
  }

  var isGone: Bool { (account ?? card ?? note) == nil }

  /// What is to be sent: items that have changed, and those that are gone.
  static var unsent: QueryCondition<SyncState> {
    .field(\.isSent, is: false)
      || .field(\.account, is: nil) && .field(\.card, is: nil) && .field(\.note, is: nil)
  }

  /// The id of an item's state follows from the item's.
  static func id(of item: RecordID) throws -> RecordID { try RecordID(of: "\(item)", in: schema.name) }
}
