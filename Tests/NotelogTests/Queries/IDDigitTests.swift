// Finding ids by their first digits, and how many of those are enough.

import Foundation
import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct IDDigitTests {
  private static func id(_ digits: String) -> RecordID {
    RecordID(digits + String(repeating: "7", count: 32 - digits.count)) ?? RecordID()
  }

  @Test func `ids are found by their digits in all collections, as records are now, and nothing is opened`()
    throws
  {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let names = ["abcd0", "abcd1", "abce", "a", "ffff"]
    try store.putAll(names.dropLast().map { Sample(id: Self.id($0)) })
    try store.putAll([Note(id: Self.id("ffff")), Note(id: Self.id("abcf"))])
    try store.write { tx in
      // An old version, and a removed record.
      try tx.put(Sample(id: Self.id("abcd0"), count: 2))
      try tx.delete(Note.self, Self.id("abcf"))
    }
    try store.close()
    store = try folder.open(nil)
    #expect(try store.ids(beginningWith: "abcd") == [Self.id("abcd0"), Self.id("abcd1")])
    #expect(try store.ids(beginningWith: "AB-CD-1") == [Self.id("abcd1")])
    #expect(try store.ids(beginningWith: "") == names.map(Self.id).sorted())
    #expect(try store.ids(beginningWith: Self.id("ffff").description) == [Self.id("ffff")])
    #expect(try store.ids(beginningWith: "abcf").isEmpty)
    #expect(try store.ids(beginningWith: "a", limit: 2).count == 2)
    for wrong in ["g", "+1", "１", String(repeating: "0", count: 33)] {
      #expect(throws: NotelogError(.invalidArgument, "")) { try store.ids(beginningWith: wrong) }
    }
  }

  @Test func `an id's digits are as few as no other record's begins with`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    #expect(try store.distinctDigitCounts()(RecordID()) == 1)
    try store.putAll(["abcd0", "abcd1", "abce", "f"].map { Sample(id: Self.id($0)) })
    try store.write { tx in try tx.put(Sample(id: Self.id("abcd0"), count: 2)) }
    let count = try store.distinctDigitCounts()
    #expect(["abcd0", "abcd1", "abce"].map { count(Self.id($0)) } == [5, 5, 4])
    #expect(count(Self.id("f")) == 1 && count(Self.id("abcd00001")) == 6)
  }

  @Test(arguments: TestEffort.sample(0..<(1000 as UInt64), 4))
  func `what is said to be enough finds one record, and one digit less finds more`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let ids = Set(
      (0..<200).map { _ in
        RecordID(high: 7 << 60 | random.next() % 3, low: random.next() % 1000 << UInt64(random.next() % 50))
      })
    try store.putAll(ids.map { Sample(id: $0) })
    let count = try store.distinctDigitCounts()
    for id in ids {
      let digits = id.description.prefix(count(id))
      #expect(try store.ids(beginningWith: String(digits)) == [id], "seed \(seed)")
      if digits.count > 1 {
        #expect(try store.ids(beginningWith: String(digits.dropLast())).count > 1, "seed \(seed)")
      }
    }
  }
}
