// The examples of the article "Queries", line for line.

import Foundation
import Notelog
import Testing

struct Message: Record {
  var id = RecordID()
  var folder = 0
  var received = Date()
  var answered: Date?
  var sender = ""
  var text = ""
  static let schema = Schema<Message>("message") {
    Plain("folder", \.folder, indexed: true)
    Plain("received", \.received, indexed: true)
    Plain("answered", \.answered, indexed: true)
    Plain("sender", \.sender)
    Sealed("text", \.text)
  }
}

struct Attachment: Record {
  var id = RecordID()
  var message = RecordID()
  static let schema = Schema<Attachment>("attachment") {
    Plain("message", \.message, indexed: true).referring(to: Message.self, whenDeleted: .cascade)
  }
}

protocol Received: Record {
  static var receivedPath: FieldKeyPath<Self, Date> { get }
}

extension Message: Received {
  static var receivedPath: FieldKeyPath<Message, Date> { \.received }
}

func newest<R: Received>(_ type: R.Type, in store: Store) throws -> Entry<R>? {
  try store.query(type).sorted(by: R.receivedPath, .descending).first()
}

private protocol HasReceived { var received: Date { get } }

extension Message: HasReceived {}

struct Subscription: Record {
  var id = RecordID()
  var domain = ""
  var password = ""
  static let schema = Schema<Subscription>("subscription") {
    Sealed("domain", \.domain, padded: true).revealingEquality(ignoringCase: true)
    Sealed("password", \.password)
  }
}

struct Contact: Record {
  var id = RecordID()
  var email = ""
  static let schema = Schema<Contact>("contact") {
    Sealed("email", \.email, key: "contacts", padded: true).revealingEquality()
    Unique(\.email)
  }
}

func unreadCount(in source: borrowing some RecordSource & ~Copyable) throws -> Int {
  try source.query(Message.self).where(\.folder, is: 0).count()
}

@Suite struct QueriesArticle {
  private func date(_ day: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(day) * 86_400) }

  @Test func `the article's examples do what it says`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let lastWeek = date(93)
    let lastYear = date(10)
    for number in 0..<100 {
      var message = Message(folder: number % 3, received: date(number))
      if number % 2 == 1 { message.answered = date(number + 1) }
      message.sender = number % 5 == 0 ? "Lewis & Clark" : "somebody"
      message.text = number == 7 ? "Come at once." : ""
      try store.putAll([message], .buffered)
    }
    let messages = store.query(Message.self)
    let open = messages.where(\.answered, is: nil).where(\.folder, in: [1, 2])
    let recent = messages.where(\.received, in: lastWeek...).where(\.sender, hasPrefix: "Lewis")
    #expect(try open.count() == (0..<100).count { $0 % 2 == 0 && $0 % 3 != 0 })
    #expect(try recent.entries().map { try $0.received } == [date(95)])
    let urgent = messages.where(
      .field(\.folder, is: 1) && .field(\.answered, is: nil)
        || !.field(\.received, in: lastWeek...) && .field(\.text, contains: "at once"))
    #expect(try urgent.count() == (0..<100).count { $0 == 7 || $0 % 3 == 1 && $0 % 2 == 0 })
    try store.putAll([
      Message(folder: 1, received: date(50), answered: date(50), text: "Meet me at the Café.")
    ])
    let typed = messages.where(\.text, contains: "cafe", ignoringCaseAndAccents: true)
    let ids = try typed.entries().map(\.id) + [RecordID()]
    let some = messages.where(\.id, in: ids).sorted(by: \.id)
    #expect(try some.entries().map(\.id) == ids.dropLast())
    try store.write { tx in _ = try tx.delete(Message.self, ids[0]) }
    let list = messages.sorted(by: \.folder).sorted(by: \.received, .descending)
    var shown: [RecordID] = []
    func show(_ page: [Entry<Message>]) { shown += page.map(\.id) }
    let query = list.limit(50)
    var page = try query.entries()
    while let last = page.last {
      show(page)
      page = try query.after(query.cursor(at: last)).entries()
    }
    #expect(try shown == list.entries().map(\.id))
    let count = try messages.where(\.folder, is: 1).count()
    let newest = try messages.max(of: \.received)
    let sum = try messages.sum(of: \.folder)
    #expect(count == 33 && newest == date(99) && sum == 99)
    let before = store.snapshot()
    let unread = try store.write { tx in
      try tx.put(Message(folder: 0))
      return try unreadCount(in: tx)
    }
    #expect(try unread == 1 + unreadCount(in: before))
    let deleted = try store.write { tx in
      try tx.updateAll(Message.self, where: .field(\.folder, is: 1)) { $0.set(\.folder, 2) }
      return try tx.deleteAll(Message.self, where: .field(\.received, in: ..<lastYear))
    }
    #expect(deleted == 10)
  }

  @Test func `a sealed domain is found in any case, and no other one is opened`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll((0..<50).map { Subscription(domain: "\($0 / 2).example.org") })
    try store.putAll([Subscription(domain: "example.org"), Subscription(domain: "Example.ORG")])
    let subscriptions = store.query(Subscription.self)
    let shown = try subscriptions.where(\.domain, is: "Example.org", ignoringCase: true).entries()
    let exact = try subscriptions.where(\.domain, is: "example.org").count()
    #expect(shown.count == 2 && exact == 1 && store.metrics.fieldsOpened == 4)
  }

  @Test func `a sealed address is one contact's, and is found without opening the others`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll((0..<50).map { Contact(email: "\($0)@example.org") })
    var printed: [String] = []
    func print(_ message: String) { printed.append(message) }
    let first = Contact(email: "ada@example.org")
    try store.putAll([first])
    do {
      try store.putAll([Contact(email: "ada@example.org")])
    } catch let error as NotelogError where error.code == .notUnique {
      print(error.message)  // It names the record that has the address.
    }
    let ada = try store.query(Contact.self).where(\.email, is: "ada@example.org").first()
    #expect(printed.count == 1 && printed.first?.contains("\(first.id)") == true)
    #expect(ada?.id == first.id && store.metrics.fieldsOpened == 1)
  }

  @Test func `a protocol that asks for the path has one that is a field's, and one that doesn't is told so`()
    throws
  {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll((0..<9).map { Message(folder: $0, received: date($0)) })
    #expect(try newest(Message.self, in: store)?.folder == 8)
    func oldest<R: HasReceived & Record>(_ type: R.Type) throws -> Entry<R>? {
      try store.query(type).sorted(by: \.received).first()
    }
    do {
      _ = try oldest(Message.self)
      Issue.record("a protocol's path is no field's")
    } catch let error as NotelogError {
      #expect(error.code == .invalidArgument && error.message.contains("a protocol's key path"))
    }
  }

  @Test func `attachments go with their message, and are observed with it`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let id = RecordID()
    try await store.write { tx in
      try tx.put(Message(id: id))
      try tx.put(Attachment(message: id))
    }
    let updates = store.updates { moment in
      let message = try moment.get(Message.self, id)
      return (message, try moment.query(Attachment.self).where(\.message, is: id).entries())
    }
    var iterator = updates.makeAsyncIterator()
    var seen = try await iterator.next()
    #expect(seen?.0?.id == id && seen?.1.count == 1)
    try await store.write { tx in try tx.delete(Message.self, id) }
    seen = try await iterator.next()
    #expect(seen?.0 == nil && seen?.1.isEmpty == true)
    var shown = 0
    func show(_ message: Entry<Message>?, _ attachments: [Entry<Attachment>]) {
      shown += attachments.count + 1
      try? store.close()
    }
    for try await (message, attachments) in updates { show(message, attachments) }
    #expect(shown == 1)
  }
}
