// Pages of a query, by offset and by what came before.

import Foundation
import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog

/// A letter in a folder: folders have many, and days too.
private struct Mail: Record {
  var id = RecordID()
  var folder = 0
  var day = Date(timeIntervalSinceReferenceDate: 0)
  var sender = ""
  var number = 0
  var read: Date?
  var subject = ""
  static let schema = Schema<Mail>("letter") {
    Plain("folder", \.folder, indexed: true)
    Plain("day", \.day, indexed: true)
    Plain("sender", \.sender, indexed: true)
    Plain("number", \.number)
    Plain("read", \.read, indexed: true)
    Sealed("subject", \.subject)
  }
}

@Suite struct PageTests {
  private static func letter(_ number: Int) -> Mail {
    Mail(
      folder: number * 7 % 5, day: Date(timeIntervalSinceReferenceDate: Double(number * 13 % 40)),
      sender: "somebody with a long name \(number % 3)", number: number,
      read: number % 4 == 0 ? nil : Date(timeIntervalSinceReferenceDate: Double(number % 6)),
      subject: "subject \(number % 11)")
  }

  private func store(in folder: TemporaryFolder, _ count: Int = 500) throws -> Store {
    let store = try folder.create()
    try store.putAll((0..<count).map { Self.letter($0) })
    return store
  }

  /// The ids on all pages of a query.
  private func pages(_ query: Query<Mail>, of count: Int) throws -> [RecordID] {
    var ids: [RecordID] = []
    var page = try query.limit(count).entries()
    while let last = page.last {
      ids += page.map(\.id)
      page = try query.limit(count).after(query.cursor(at: last)).entries()
    }
    return ids
  }

  private func orders(_ letters: Query<Mail>) -> [Query<Mail>] {
    [
      letters.sorted(by: \.folder).sorted(by: \.day, .descending),
      letters.sorted(by: \.folder, .descending).sorted(by: \.day),
      letters.sorted(by: \.folder, .descending).sorted(by: \.day, .descending).sorted(by: \.number),
      letters.sorted(by: \.sender).sorted(by: \.day),
      letters.sorted(by: \.sender, .descending).sorted(by: \.read),
      letters.sorted(by: \.read).sorted(by: \.sender, .descending), letters.sorted(by: \.read, .descending),
      letters.sorted(by: \.folder), letters.sorted(by: \.number, .descending),
      letters.sorted(by: \.subject).sorted(by: \.folder),
    ]
  }

  @Test func `pages behind a cursor hold every record once, in order`() throws {
    let folder = try TemporaryFolder()
    let letters = try store(in: folder).query(Mail.self)
    for query in orders(letters) + orders(letters.where(\.folder, in: 1..<4))
      + orders(letters.where(\.number, in: 400...))
    {
      let all = try query.entries().map(\.id)
      #expect(try pages(query, of: 7) == all)
      #expect(try pages(query, of: 250) == all)
    }
  }

  /// Pages by offset shift, and these don't.
  @Test func `a page behind a cursor is right whatever was inserted and deleted before it`() throws {
    let folder = try TemporaryFolder()
    let store = try store(in: folder)
    for query in orders(store.query(Mail.self)) {
      var random = SeededGenerator(seed: 7)
      let before = try query.entries().map(\.id)
      var seen: [RecordID] = []
      var deleted: Set<RecordID> = []
      var page = try query.limit(20).entries()
      while let last = page.last {
        seen += page.map(\.id)
        let cursor = try query.cursor(at: last)
        try store.write { tx in
          // The record that the cursor is behind, one that was seen, one that may come; and others in
          // between.
          for id in [last.id, seen[random.pick(0..<seen.count)], before[random.pick(0..<before.count)]] {
            if try tx.delete(Mail.self, id) { deleted.insert(id) }
          }
          for _ in 0..<3 { try tx.put(Self.letter(random.pick(1_000..<2_000))) }
        }
        page = try query.limit(20).after(cursor).entries()
      }
      let stayed = before.filter { !deleted.contains($0) }
      #expect(seen.filter { stayed.contains($0) } == stayed)
      #expect(Set(seen).count == seen.count)
    }
  }

  @Test func `an offset passes over the first records`() throws {
    let folder = try TemporaryFolder()
    let letters = try store(in: folder).query(Mail.self)
    for query in orders(letters) {
      let all = try query.entries().map(\.id)
      for offset in [0, 1, 50, 499, 500, 501] {
        let page = query.limit(20, offset: offset)
        let found = try page.entries().map(\.id)
        #expect(found == Array(all.dropFirst(offset).prefix(20)))
        let count: Int = max(0, min(20, 500 - offset))
        #expect(try page.count() == count)
      }
    }
    #expect(try letters.limit(20, offset: 490).entries().count == 10)
    #expect(try letters.limit(.max, offset: .max).entries().isEmpty)
    #expect(try letters.sorted(by: \.number).limit(20, offset: 3).first()?.number == 3)
  }

  @Test func `a page out of the middle reads its own records and few more`() throws {
    let folder = try TemporaryFolder()
    let store = try store(in: folder, 3_000)
    let seen = Lock(0)
    let query = store.query(Mail.self).filter(\.number) { _ in
      seen.withLock { $0 += 1 }
      return true
    }.sorted(by: \.folder).sorted(by: \.day, .descending).limit(50)
    #expect(
      try query.explain().description
        == "index on folder, then day, ascending; 3000 candidates; 1 condition; opens nothing; at most 50")
    var page = try query.entries()
    for _ in 0..<20 {
      let cursor = try query.cursor(at: try #require(page.last))
      seen.withLock { $0 = 0 }
      page = try query.after(cursor).entries()
      // Beside its own, those of the cursor's day and folder: 75 of each.
      #expect(page.count == 50 && seen.withLock { $0 } <= 50 + 75)
    }
    // An index of both fields serves orders that go the other way, and conditions on the first.
    #expect(
      try store.query(Mail.self).where(\.folder, is: 3).sorted(by: \.folder, .descending).sorted(by: \.day)
        .limit(5)
        .explain().description
        == "index on folder, then day from 3, descending; 600 candidates; 1 condition; opens nothing; at most 5"
    )
  }

  @Test func `an index of two fields keeps up with writes, and is stored`() throws {
    let folder = try TemporaryFolder()
    var store = try store(in: folder)
    var random = SeededGenerator(seed: 3)
    func check() throws {
      for query in orders(store.query(Mail.self)) {
        let all = try query.entries().map(\.id)
        #expect(try query.limit(all.count).entries().map(\.id) == all)
        #expect(try query.limit(30).entries().map(\.id) == Array(all.prefix(30)))
      }
    }
    for round in 0..<6 {
      try check()
      let ids = try store.query(Mail.self).entries().map(\.id)
      try store.write { tx in
        for _ in 0..<30 {
          let new = Self.letter(random.pick(0..<5_000))
          let id = ids[random.pick(0..<ids.count)]
          if try tx.get(Mail.self, id) == nil { continue }
          try tx.update(Mail.self, id) { draft in
            draft.set(\.folder, new.folder)
            draft.set(\.read, new.read)
          }
          // Written twice in a transaction.
          try tx.update(Mail.self, id) { draft in draft.set(\.sender, new.sender) }
        }
        for _ in 0..<10 { try tx.delete(Mail.self, ids[random.pick(0..<ids.count)]) }
      }
      try store.putAll((0..<20).map { _ in Self.letter(random.pick(0..<5_000)) })
      if round == 2 { try store.compact() }
      try check()
      if round % 2 == 1 {
        try store.close()
        store = try folder.open(round == 3 ? nil : TemporaryFolder.key)
        if round == 3 { try store.unlock(TemporaryFolder.key) }
        let query = store.query(Mail.self).sorted(by: \.folder).sorted(by: \.day, .descending).limit(1)
        _ = try query.entries()
        let search = try query.search()
        let name = try #require(search.plan.indexName(of: search.order.parts[0], search.order.parts[1]))
        #expect(store.indexes.index(name)?.isStored == true)
      }
    }
    try store.close()
    let verification = try Store.verify(at: folder.path)
    #expect(verification.verdict == .sound)
  }

  @Test func `a snapshot's pages are those of its moment`() throws {
    let folder = try TemporaryFolder()
    let store = try store(in: folder)
    _ = try orders(store.query(Mail.self)).map { try $0.limit(1).entries() }
    let before = store.snapshot()
    let expected = try orders(before.query(Mail.self)).map { try $0.entries().map(\.id) }
    try store.write { tx in _ = try tx.deleteAll(Mail.self, where: .field(\.folder, in: 1..<3)) }
    try store.putAll((0..<100).map { Self.letter(3_000 + $0) })
    for (query, all) in zip(orders(before.query(Mail.self)), expected) {
      #expect(try pages(query, of: 30) == all)
    }
  }

  @Test func `a cursor is kept as text, and serves another opening`() throws {
    let folder = try TemporaryFolder()
    var store = try store(in: folder)
    for number in orders(store.query(Mail.self)).indices {
      var query = orders(store.query(Mail.self))[number]
      let all = try query.entries()
      let cursor = try query.cursor(at: all[99])
      #expect("\(cursor)" == "behind \(all[99].id)" && !String(reflecting: cursor).contains("somebody"))
      guard number < 9 else {
        // What a sealed field holds must not stand in the clear anywhere.
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(cursor) }
        #expect(try query.after(cursor).entries().map(\.id) == all.dropFirst(100).map(\.id))
        continue
      }
      let text = try JSONEncoder().encode(cursor)
      try store.close()
      store = try folder.open()
      query = orders(store.query(Mail.self))[number]
      let again = try JSONDecoder().decode(QueryCursor.self, from: text)
      #expect(again == cursor)
      #expect(try query.after(again).entries().map(\.id) == all.dropFirst(100).map(\.id))
    }
  }

  /// A limit may come from whoever uses the app: it was a trap.
  @Test func `a limit or offset below zero is refused when the query is asked`() throws {
    let folder = try TemporaryFolder()
    let letters = try store(in: folder).query(Mail.self)
    for query in [letters, letters.sorted(by: \.folder), letters.sorted(by: \.number).parallel(2)] {
      for wrong in [
        query.limit(-1), query.limit(.min), query.limit(3, offset: -1), query.limit(-1, offset: 5),
      ] {
        #expect(throws: NotelogError(.invalidArgument, "")) { try wrong.entries() }
        #expect(throws: NotelogError(.invalidArgument, "")) { try wrong.count() }
        #expect(throws: NotelogError(.invalidArgument, "")) { try wrong.min(of: \.number) }
      }
      #expect(try query.limit(0).entries().isEmpty)
    }
    #expect(throws: NotelogError(.invalidArgument, "")) { try letters.limit(3, offset: -1).first() }
  }

  @Test func `a cursor of another order is refused, and so is one without an order, or that is none`() throws
  {
    let folder = try TemporaryFolder()
    let store = try store(in: folder)
    let letters = store.query(Mail.self)
    let query = letters.sorted(by: \.folder).sorted(by: \.day)
    let entry = try #require(try query.first())
    let cursor = try query.cursor(at: entry)
    for other in [
      letters, letters.sorted(by: \.folder), letters.sorted(by: \.folder, .descending).sorted(by: \.day),
      letters.sorted(by: \.day).sorted(by: \.folder), query.sorted(by: \.number),
    ] {
      for limit in [3, .max] {
        #expect(throws: NotelogError(.invalidArgument, "")) { try other.limit(limit).after(cursor).entries() }
      }
      #expect(throws: NotelogError(.invalidArgument, "")) { try other.after(cursor).count() }
    }
    #expect(throws: NotelogError(.invalidArgument, "")) { try letters.cursor(at: entry) }
    // By field names, keys are others: taken for these, they would give pages that were seen, or none.
    let byName = try #require(store.collections.first).query().sorted(by: "folder").sorted(by: "day")
    let named = try byName.cursor(at: try #require(try byName.first()))
    #expect(throws: NotelogError(.invalidArgument, "")) { try byName.after(cursor).entries() }
    #expect(throws: NotelogError(.invalidArgument, "")) { try query.after(named).entries() }
    // Of a text nothing but that tells them apart.
    let bySender = store.query(Mail.self).sorted(by: \.sender)
    let senders = try #require(store.collections.first).query().sorted(by: "sender")
    let sender = try senders.cursor(at: try #require(try senders.first()))
    #expect(throws: NotelogError(.invalidArgument, "")) { try bySender.after(sender).entries() }
    let longer = cursor.keys.map { key in
      QueryCursor.Key(
        field: key.field, isDescending: key.isDescending, isSealed: key.isSealed, isOptional: key.isOptional,
        isByName: key.isByName, value: key.value + [0])
    }
    let forged = QueryCursor(collection: cursor.collection, keys: longer, id: cursor.id)
    #expect(throws: NotelogError(.invalidArgument, "")) { try query.after(forged).entries() }
    // Whatever an app was handed, it is no trap.
    let text = try JSONEncoder().encode(cursor)
    for length in 0..<text.count {
      #expect(throws: DecodingError.self) {
        try JSONDecoder().decode(QueryCursor.self, from: text.prefix(length))
      }
    }
    for index in text.indices {
      for bit in 0..<8 {
        var altered = text
        altered[index] ^= 1 << bit
        guard let other = try? JSONDecoder().decode(QueryCursor.self, from: altered) else { continue }
        do { _ = try query.limit(5).after(other).entries() } catch let error as NotelogError {
          #expect(error.code == .invalidArgument)
        }
      }
    }
  }

  @Test func `a damaged record is left out of its page, and the next page goes on`() throws {
    let folder = try TemporaryFolder()
    var store = try store(in: folder)
    _ = try orders(store.query(Mail.self)).map { try $0.limit(1).entries() }
    try store.close()
    try folder.alter("000000000001.journal") { $0[30_000] ^= 4 }
    store = try folder.open()
    for query in orders(store.query(Mail.self)) { #expect(Set(try pages(query, of: 30)).count == 499) }
  }
}
