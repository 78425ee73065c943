// The record that the threads of a concurrency test share, and what a version of it must look like.

import Notelog

/// A record whose fields tell of each other, so that a reader knows a version that never was.
struct Cell: Record, Equatable {
  var id = RecordID()
  var kind = 0
  /// How often it was written.
  var count = 0
  /// What it has been given; all accounts together have nothing.
  var balance = 0
  /// The count at which the sealed fields were written last: a locked store carries them over.
  var base = 0
  var secret = ""
  /// Now and then too long for the record.
  var scan: [UInt8] = []

  static let counter = 0
  static let account = 1
  /// Belongs to one writer.
  static let own = 2

  static let schema = Schema<Cell>("cell") {
    Plain("kind", \.kind, indexed: true)
    Plain("count", \.count, indexed: true)
    Plain("balance", \.balance)
    Plain("base", \.base)
    Sealed("secret", \.secret)
    Sealed("scan", \.scan, key: "personal")
  }

  init(id: RecordID = RecordID(), kind: Int = 0, count: Int = 0) {
    self.id = id
    self.kind = kind
    self.count = count
    base = count
    secret = Self.secret(id, count)
    scan = Self.scan(count)
  }

  init() { self.init(kind: 0) }

  static func secret(_ id: RecordID, _ base: Int) -> String { "\(id) at \(base)" }

  static func scan(_ base: Int) -> [UInt8] {
    let count = base % 7 == 3 ? 70_000 + base % 100 : base % 40
    return [UInt8](repeating: UInt8(truncatingIfNeeded: base), count: count)
  }
}
