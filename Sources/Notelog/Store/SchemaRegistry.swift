// The schemas of an open store: as stored, as code declares them, and whether they were checked.

import NotelogCrypto
import Synchronization

/// The collections of an open store.
struct SchemaRegistry: Sendable {
  /// A collection as it is stored.
  struct Stored: Sendable {
    let plan: CollectionPlan
    let bytes: [UInt8]
    let mac: [UInt8]
  }

  private(set) var byNumber: [UInt16: Stored] = [:]
  /// Record plans that agree with what is stored.
  private var typed: [ObjectIdentifier: any Sendable] = [:]
  /// Whether every schema's MAC has been verified since the store was opened.
  var isVerified = false

  /// The collection that a declaration means, by its name or a former one.
  func find(_ declared: CollectionDescription) -> Stored? {
    for name in [declared.name] + declared.formerNames {
      if let found = find(name) { return found }
    }
    return nil
  }

  /// The collection of a name.
  func find(_ name: String) -> Stored? {
    byNumber.values.first { $0.plan.schema.name == name }
      ?? byNumber.values.first { $0.plan.schema.firstName == name }
  }

  /// The plan of a record type, if it was made before and still holds.
  func plan<R: Record>(for type: R.Type) -> RecordPlan<R>? { typed[ObjectIdentifier(type)] as? RecordPlan<R> }

  /// Keeps the plan of a record type, unless the schema it was made of has been replaced meanwhile.
  mutating func keep<R: Record>(_ plan: RecordPlan<R>) {
    guard byNumber[plan.collection.schema.collection]?.plan === plan.collection else { return }
    typed[ObjectIdentifier(R.self)] = plan
  }

  /// Takes in a stored schema; plans made of an older version no longer hold.
  mutating func take(_ stored: Stored) {
    byNumber[stored.plan.schema.collection] = stored
    typed.removeAll()
  }

  /// The number that the next collection gets.
  func nextNumber() throws(NotelogError) -> UInt16 {
    let highest = byNumber.keys.max() ?? 0
    guard highest < Limits.collections else {
      throw NotelogError(.limitExceeded, "the store has \(Limits.collections) collections already")
    }
    return highest + 1
  }
}
