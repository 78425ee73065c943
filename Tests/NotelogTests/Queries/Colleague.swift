// Records with sealed values that no two share: a sample for tests.

import Foundation
@testable import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Testing

struct Colleague: Record, Equatable {
  var id = RecordID()
  var name = ""
  var email: String?
  var phone = 0
  static let schema = Schema<Colleague>("person") {
    Plain("name", \.name, indexed: true)
    Sealed("email", \.email, key: "contacts", compressed: true).revealingEquality()
    Sealed("phone", \.phone, key: "contacts").revealingEquality()
    Unique(\.email)
    Unique(\.phone)
  }
}

/// The same address book, without rules.
struct LooseColleague: Record {
  var id = RecordID()
  var name = ""
  var email: String?
  var phone = 0
  static let schema = Schema<LooseColleague>("person") {
    Plain("name", \.name, indexed: true)
    Sealed("email", \.email, key: "contacts", compressed: true)
    Sealed("phone", \.phone, key: "contacts")
  }
}

/// What is in the clear.
struct ColleagueName: Record {
  var id = RecordID()
  var name = ""
  static let schema = Schema<ColleagueName>("person") { Plain("name", \.name, indexed: true) }
}

/// Values of the same text in another field and another collection.
struct Company: Record {
  var id = RecordID()
  var email = ""
  var phone = 0
  var other = ""
  static let schema = Schema<Company>("company") {
    Sealed("email", \.email, key: "contacts").revealingEquality()
    Sealed("other", \.other, key: "contacts").revealingEquality()
    Unique(\.email)
    Unique(\.other)
  }
}

func colleague(_ number: Int) -> Colleague {
  Colleague(name: "n\(number)", email: "somebody\(number)@example.org", phone: 1_000 + number)
}

/// The digests that lie in a record, by field number.
func storedDigests(_ store: Store, _ collection: String, _ id: RecordID) throws -> [UInt16: [UInt8]] {
  let entry = try #require(try store.collection(collection).get(id))
  var found: [UInt16: [UInt8]] = [:]
  for line in try entry.stored.entries() where entry.plan.schema.field(line.number)?.isDigest == true {
    found[line.number] = Array(entry.stored.body[line.range])
  }
  return found
}

/// Gives a record other digests, by field number, as somebody with the files does.
func forgeDigests(
  _ store: Store, _ collection: String, _ id: RecordID, _ digests: [UInt16: [UInt8]]
) throws {
  let entry = try #require(try store.collection(collection).get(id))
  var body = entry.stored.body
  for line in try entry.stored.entries() {
    if let digest = digests[line.number] { body.replaceSubrange(line.range, with: digest) }
  }
  try store.write { tx in
    let forged = try OwnedRecord(
      id: id, revision: 0, collection: entry.plan.number, copying: body.rawSpan)
    tx.checksRules = false
    tx.prepare(entry.plan)
    try tx.merge(id, over: forged, entry.plan, changed: []) { _, _ in }
  }
}
