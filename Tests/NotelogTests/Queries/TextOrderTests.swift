// Text in queries: one order and one equality, with an index and without.

@testable import Notelog
import Foundation
import NotelogTestSupport
import Testing

/// The same text in two fields, of which one is indexed.
private struct Word: Record {
  var id = RecordID()
  var indexed = ""
  var unindexed = ""
  static let schema = Schema<Word>("word") {
    Plain("indexed", \.indexed, indexed: true)
    Plain("unindexed", \.unindexed)
  }
}

@Suite struct TextOrderTests {
  private func store(in folder: TemporaryFolder) throws -> Store {
    var random = SeededGenerator(seed: 7)
    let store = try folder.create()
    let names = (Sample.names + Sample.names).shuffled(using: &random)
    try store.putAll(names.map { Word(indexed: $0, unindexed: $0) })
    return store
  }

  /// The bug: an index compared bytes, and a sort in memory compared as Swift does, where a letter that is
  /// composed and one that isn't are equal.
  @Test(arguments: [SortDirection.ascending, .descending])
  func `text is in the same order with an index and without`(direction: SortDirection) throws {
    let folder = try TemporaryFolder()
    let query = try store(in: folder).query(Word.self)
    let byIndex = query.sorted(by: \.indexed, direction).limit(.max)
    let inMemory = query.sorted(by: \.unindexed, direction)
    #expect(try byIndex.explain().indexes.first?.fields == ["indexed"])
    #expect(try inMemory.explain().sortsInMemory)
    let found = try inMemory.entries()
    #expect(try byIndex.entries().map(\.id) == found.map(\.id))
    let bytes = try found.map { Array(try $0.indexed.utf8) }
    let sorted = bytes.sorted { $0.lexicographicallyPrecedes($1) }
    #expect(bytes == (direction == .ascending ? sorted : sorted.reversed()))
  }

  @Test func `conditions on text find the same with an index and without`() throws {
    let folder = try TemporaryFolder()
    let query = try store(in: folder).query(Word.self)
    for name in Sample.names {
      let shown = name.debugDescription
      #expect(try query.where(\.indexed, is: name).count() == 2, "\(shown)")
      #expect(try query.where(\.unindexed, is: name).count() == 2, "\(shown)")
      let from = try query.where(\.unindexed, in: name...).count()
      #expect(try query.where(\.indexed, in: name...).count() == from, "\(shown)")
      #expect(try query.where(\.indexed, in: ..<name).count() == 2 * Sample.names.count - from, "\(shown)")
    }
  }

  @Test func `pages that go on behind the last text show every record once`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let names = Set(Sample.names.map { Array($0.utf8) })
    try store.putAll(names.map { Word(indexed: String(decoding: $0, as: UTF8.self)) })
    var seen: [[UInt8]] = []
    var page = store.query(Word.self)
    while let last = try page.sorted(by: \.indexed).limit(4).entries().map({ try $0.indexed }).last,
      seen.count < 99
    {
      seen += try page.sorted(by: \.indexed).limit(4).entries().map { Array(try $0.indexed.utf8) }
      page = store.query(Word.self).where(\.indexed, in: (last + "\0")...)
    }
    #expect(Set(seen) == names && seen.count == names.count)
  }

  /// The bug: an index has types of an app's own in the order of what they are stored as, and not in theirs.
  @Test func `a type that orders by rank is sorted by rank, index or not`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll((0..<9).map { Sample(count: $0, priority: Priority.allCases[$0 % 3]) })
    let query = store.query(Sample.self)
    let first = try query.sorted(by: \.priority, .descending).limit(4).entries().map { try $0.priority }
    #expect(first == [.urgent, .urgent, .urgent, .high])
    #expect(try query.where(\.priority, in: Priority.high...).count() == 6)
    #expect(try query.where(\.priority, is: .high).count() == 3)
  }

  /// The bug: NaN compares with nothing, and a sort that meets it leaves anything anywhere.
  @Test func `NaN comes last, index or not`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll((0..<60).map { Sample(ratio: $0 % 3 == 1 ? .nan : Double($0)) })
    for direction in [SortDirection.ascending, .descending] {
      let sorted = store.query(Sample.self).sorted(by: \.ratio, direction)
      let inMemory = try sorted.entries()
      #expect(try sorted.limit(60).entries().map(\.id) == inMemory.map(\.id))
      let numbers = try inMemory.map { try $0.ratio }
      #expect(numbers.filter { !$0.isNaN }.count == 40)
      let last = direction == .ascending ? numbers.suffix(20) : numbers.prefix(20)
      #expect(last.filter(\.isNaN).count == 20)
      let rest = direction == .ascending ? numbers.prefix(40) : numbers.suffix(40)
      #expect(Array(rest) == rest.sorted { direction == .ascending ? $0 < $1 : $0 > $1 })
    }
  }
}
