// Sorting by several fields, and by what may be nil.

import Foundation
import Testing

@testable import Notelog

/// A place in a list: sorted by fields of all kinds.
private struct Place: Record {
  var id = RecordID()
  var street = ""
  var number = 0
  var priority = Priority.low
  var floor: Int?
  var note = ""
  static let schema = Schema<Place>("place") {
    Plain("street", \.street, indexed: true)
    Plain("number", \.number, indexed: true)
    Plain("priority", \.priority)
    Plain("floor", \.floor)
    Sealed("note", \.note)
  }
}

@Suite struct SortedQueryTests {
  private func filled(_ folder: TemporaryFolder) throws -> Store {
    let store = try folder.create()
    try store.putAll([
      Place(street: "b", number: 2, priority: .urgent, floor: 1, note: "1"),
      Place(street: "a", number: 3, priority: .high, floor: nil, note: "2"),
      Place(street: "b", number: 1, priority: .low, floor: 0, note: "3"),
      Place(street: "a", number: 5, priority: .urgent, floor: -4, note: "4"),
      Place(street: "a", number: 4, priority: .low, floor: nil, note: "4"),
    ])
    return store
  }

  /// The second `sorted(by:)` took the first one's place, and nothing said so.
  @Test func `a query sorted twice is sorted by the second field where the first leaves records equal`()
    throws
  {
    let folder = try TemporaryFolder()
    let places = try filled(folder).query(Place.self)
    func names(_ query: Query<Place>) throws -> [String] {
      try query.entries().map { "\(try $0.street)\(try $0.number)" }
    }
    #expect(try names(places.sorted(by: \.street).sorted(by: \.number)) == ["a3", "a4", "a5", "b1", "b2"])
    #expect(
      try names(places.sorted(by: \.street, .descending).sorted(by: \.number))
        == ["b1", "b2", "a3", "a4", "a5"])
    #expect(
      try names(places.sorted(by: \.street).sorted(by: \.number, .descending))
        == ["a5", "a4", "a3", "b2", "b1"])
    for limit in 1...5 {
      #expect(
        try names(places.sorted(by: \.street).sorted(by: \.number, .descending).limit(limit))
          == Array(["a5", "a4", "a3", "b2", "b1"].prefix(limit)))
    }
    // By what no index has: a rank of the app's own, and a sealed field.
    #expect(
      try names(places.sorted(by: \.priority, .descending).sorted(by: \.street).sorted(by: \.number))
        == ["a5", "b2", "a3", "a4", "b1"])
    #expect(
      try names(places.sorted(by: \.note, .descending).sorted(by: \.number)) == [
        "a4", "a5", "b1", "a3", "b2",
      ])
    // Sorted once more by the same field, nothing is left to be sorted.
    #expect(
      try names(places.sorted(by: \.number).sorted(by: \.number, .descending)) == [
        "b1", "b2", "a3", "a4", "a5",
      ])
  }

  @Test func `nil comes before all values`() throws {
    let folder = try TemporaryFolder()
    let places = try filled(folder).query(Place.self)
    let up = try places.sorted(by: \.floor).sorted(by: \.number).entries().map { try $0.number }
    #expect(up == [3, 4, 5, 1, 2])
    let down = try places.sorted(by: \.floor, .descending).sorted(by: \.number).entries().map {
      try $0.number
    }
    #expect(down == [2, 1, 5, 3, 4])
  }
}
