// Records that name the key of their values: a sample for tests.

import Foundation
@testable import NotelogBase
import NotelogCrypto
@testable import Notelog
import NotelogTestSupport
import Testing

/// Names of one length: on the disk one is put in the place of another.
enum Shelter: String, FieldValue, CaseIterable {
  case home, work, away
}

struct Belonging: Record, Equatable {
  var id = RecordID()
  var title = ""
  var name: String?
  var shelter = Shelter.home
  var secret = ""
  var scan: [UInt8]?
  var remark: String?
  static let schema = Schema<Belonging>("item") {
    Plain("title", \.title, indexed: true)
    Sealed("name", \.name, padded: true).key(from: \.shelter)
    Plain("shelter", \.shelter, indexed: true)
    Sealed("secret", \.secret).key(from: \.shelter)
    Sealed("scan", \.scan).key(from: \.shelter)
    Sealed("remark", \.remark)
  }
}

extension Shelter {
  /// Small segments: a simulated disk writes out what is allocated.
  static let options: Store.Options = {
    var options = Store.Options()
    options.segmentByteCount = 64 << 10
    return options
  }()

  /// A store in which `work` stays open when the others are locked.
  static func makeStore(_ folder: TemporaryFolder) throws -> Store {
    let store = try folder.create()
    try store.createKey("home", .whenUnlocked)
    try store.createKey("work", .afterFirstUnlock)
    try store.createKey("away", .whenUnlocked)
    return store
  }

  static func number(_ name: String, _ store: Store) throws -> UInt32 {
    try #require(store.info().keys.first { $0.name == name }).number
  }

  /// How many values are under each named key; names must be open.
  static func counts(_ store: Store) throws -> [String: Int] {
    let counted = try store.countSealedValues()
    #expect(counted.isExact)
    return Dictionary(
      uniqueKeysWithValues: store.info().keys.compactMap { key -> (String, Int)? in
        guard let name = key.name else { return nil }
        let count = key.generations.reduce(0) { $0 + (counted.counts[$1] ?? 0) }
        return count == 0 ? nil : (name, count)
      })
  }
}
