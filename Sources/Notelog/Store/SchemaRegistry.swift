// The schemas of an open store: as stored, and as code declares them.

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
  /// What the revisions of all schemas add up to.
  private(set) var revisions: UInt64 = 0
  /// The collections whose schemas can't be read: their numbers are taken all the same.
  var lost: Set<UInt16> = []
  /// Readers whose plans agree with what is stored.
  let readers: RecordReaders

  init(_ readers: RecordReaders) { self.readers = readers }

  /// The collection that a declaration means, by its name or a former one.
  func find(_ declared: CollectionDescription) -> Stored? {
    declared.allNames.lazy.compactMap { find($0) }.first
  }

  /// The collection of a name.
  func find(_ name: String) -> Stored? {
    byNumber.values.first { $0.plan.schema.name == name }
      ?? byNumber.values.first { $0.plan.schema.firstName == name }
  }

  /// Keeps the reader of a record type, unless the schema it was made of has been replaced meanwhile.
  func keep<R: Record>(_ reader: RecordReader<R>) {
    let collection = reader.plan.collection
    guard byNumber[collection.number]?.plan === collection else { return }
    readers.keep(reader)
  }

  /// Makes a stored schema known; readers made of an older version no longer hold.
  mutating func register(_ stored: Stored) {
    lost.remove(stored.plan.number)
    if let former = byNumber.updateValue(stored, forKey: stored.plan.number) {
      revisions -= UInt64(former.plan.schema.revision)
    }
    revisions += UInt64(stored.plan.schema.revision)
    readers.removeAll()
  }

  /// All schemas, in order of their collections, for their MACs to be checked.
  var sealed: [SealedSchema] {
    byNumber.sorted { $0.key < $1.key }.map { SealedSchema(bytes: $0.value.bytes, mac: $0.value.mac) }
  }

  /// The number that the next collection gets: higher than that of any schema and than `pending`, and none that others have.
  func nextNumber(after pending: UInt16 = 0, besides taken: Set<UInt16> = []) throws(NotelogError) -> UInt16 {
    var next = Int(max(byNumber.keys.max() ?? 0, lost.max() ?? 0, pending)) + 1
    while next <= Limits.collections, taken.contains(UInt16(next)) { next += 1 }
    guard next <= Limits.collections else {
      throw NotelogError(.limitExceeded, "the store has \(Limits.collections) collections already")
    }
    return UInt16(next)
  }
}
