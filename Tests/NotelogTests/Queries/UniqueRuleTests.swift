// Rules of what no two records share: of two fields of which some are sealed, and as schemas change.

import Foundation
@testable import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Testing

private struct Seat: Record {
  var id = RecordID()
  var hall = ""
  var row = ""
  var number: Int? = nil
  static let schema = Schema<Seat>("seat") {
    Sealed("hall", \.hall, key: "halls").revealingEquality(ignoringCase: true)
    Sealed("row", \.row, key: "rows").revealingEquality()
    Plain("number", \.number, indexed: true)
    Unique(\.hall, \.row)
    Unique(\.row, \.number)
  }
}

/// What is in the clear.
private struct SeatNumber: Record {
  var id = RecordID()
  var number: Int? = nil
  static let schema = Schema<SeatNumber>("seat") { Plain("number", \.number, indexed: true) }
}

@Suite struct UniqueRuleTests {
  private static func seat(_ number: Int) -> Seat {
    Seat(hall: "Hall \(number % 10)", row: "row \(number / 10)", number: number)
  }

  private func isRefused(
    _ names: String, naming id: RecordID, location: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
  ) {
    let error = #expect(throws: NotelogError.self, sourceLocation: location) { try body() }
    #expect(
      error?.code == .notUnique && error?.record == id && error?.message.contains("same \(names) ") == true,
      "\(error?.message ?? "")", sourceLocation: location)
  }

  /// Refused is each seat that has another one's hall and row, or row and number, and none that has one only.
  private func check(_ store: Store, _ seats: [Seat]) throws {
    for seat in seats {
      isRefused("hall and row", naming: seat.id) {
        try store.putAll([Seat(hall: seat.hall.uppercased(), row: seat.row)])
      }
      isRefused("row and number", naming: seat.id) {
        try store.write { tx in _ = try tx.put(Seat(hall: "new", row: seat.row, number: seat.number)) }
      }
    }
    let other = Seat(hall: seats[0].hall, row: seats[11].row.uppercased(), number: seats[22].number)
    try store.putAll([other])
    try store.write { tx in _ = try tx.delete(Seat.self, other.id) }
  }

  @Test func `two values are refused together, sealed or not, whatever generation each is under`() throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let seats = (0..<100).map { Self.seat($0) }
    try store.putAll(seats)
    try check(store, seats)
    #expect(throws: NotelogError(.notUnique, "")) {
      try store.putAll([Seat(hall: "x", row: "y"), Seat(hall: "X", row: "y")])
    }
    var steps = try [store.rotate("halls", .bytes(1)), store.rotate("rows", .bytes(1))]
    #expect(steps.allSatisfy { !$0.isFinished })
    try check(store, seats)
    // Some are written with both values under the new generations, some with one.
    try store.write { tx in
      for index in 20..<25 { try tx.put(seats[index]) }
      for index in 30..<35 { try tx.update(Seat.self, seats[index].id) { $0.set(\.row, seats[index].row) } }
    }
    try check(store, seats)
    for (index, name) in ["halls", "rows"].enumerated() {
      while !steps[index].isFinished { steps[index] = try store.rotate(name) }
    }
    try check(store, seats)
    // A type that leaves the fields out leaves the rules.
    try store.putAll([SeatNumber(id: seats[5].id, number: 5)])
    try store.close()
    store = try folder.open()
    isRefused("hall and row", naming: seats[7].id) {
      try store.write { tx in
        let collection = try store.collection("seat")
        _ = try tx.put(in: collection, RecordID(), ["hall": .text("hall 7"), "row": .text("row 0")])
      }
    }
    try check(store, seats)
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  /// A rule was kept by the name that the app declares. Where the field had another one in force, the rule was
  /// stored without it: about the other field alone, or about none, which nobody could read any more.
  @Test func `an older version of an app keeps its rules on fields that were renamed or retired`() throws {
    struct Older: Record {
      var id = RecordID()
      var mail = ""
      var site = ""
      var user = ""
      static let schema = Schema<Older>("account") {
        Plain("mail", \.mail, indexed: true)
        Plain("site", \.site, indexed: true)
        Plain("user", \.user, indexed: true)
        Unique(\.mail)
        Unique(\.site, \.user)
      }
    }
    struct Newer: Record {
      var id = RecordID()
      var email = ""
      var site = ""
      static let schema = Schema<Newer>("account") {
        Plain("email", \.email, indexed: true, formerly: "mail")
        Plain("site", \.site, indexed: true)
        Retired("user")
        Unique(\.email)
      }
    }
    let folder = try TemporaryFolder()
    var store = try folder.create()
    try store.putAll([Older(mail: "a", site: "s", user: "u")])
    try store.putAll([Newer(email: "b", site: "s")])
    try store.putAll([Older(mail: "c", site: "s")])
    #expect(throws: NotelogError(.notUnique, "")) { try store.putAll([Older(mail: "a", site: "t")]) }
    try store.close()
    store = try folder.open()
    let collection = try store.collection("account")
    #expect(throws: NotelogError(.notUnique, "")) { try collection.add(["email": .text("b")]) }
    try collection.add(["email": .text("d"), "site": .text("s")])
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  /// The sort key of an optional value says that there is one. Of a field that became optional, those of
  /// before don't, so that the index didn't lead from a new value to an old one.
  @Test func `a rule on a field that became optional sees the values of before`() throws {
    struct Before: Record {
      var id = RecordID()
      var mail = ""
      static let schema = Schema<Before>("account") {
        Plain("mail", \.mail, indexed: true)
        Unique(\.mail)
      }
    }
    struct After: Record {
      var id = RecordID()
      var mail: String?
      static let schema = Schema<After>("account") {
        Plain("mail", \.mail, indexed: true)
        Unique(\.mail)
      }
    }
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll([Before(mail: "a"), Before(mail: "b")])
    #expect(throws: NotelogError(.notUnique, "")) { try store.putAll([After(mail: "a")]) }
    try store.putAll([After(mail: "c"), After(), After()])
    #expect(throws: NotelogError(.notUnique, "")) { try store.putAll([After(mail: "c")]) }
  }
}
