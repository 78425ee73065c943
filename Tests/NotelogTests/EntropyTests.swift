// Fresh entropy for each transaction that seals: FORMAT.md 21.5, SECURITY.md A8.

import Foundation
import NotelogJournal
import Synchronization
import Testing

@testable import Notelog
@testable import NotelogCrypto

@Suite struct EntropyTests {
  private func mixings(_ store: Store) -> UInt64 { store.nonces.epoch.load(ordering: .relaxed) }

  /// The bug: an upload mixed entropy in once, when it began, and sealed any number of transactions after that.
  @Test func `an upload adds fresh entropy for each transaction that it seals`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let letter = Letter()
    try store.putAll([letter])
    let before = (mixings: mixings(store), revision: store.info.nextRevision)
    var seen: [UInt64] = []
    var left = 100
    let upload = try store.upload(to: \Letter.scan, of: letter.id) { buffer in
      seen.append(self.mixings(store))
      left -= 1
      return left > 0 ? buffer.byteCount : 0
    }
    let transactions = store.info.nextRevision - before.revision
    #expect(transactions == 7)
    // And for the reference, which is sealed for a transaction to come.
    #expect(mixings(store) - before.mixings == transactions + 1)
    #expect(Set(seen).count >= Int(transactions) - 1)
    withExtendedLifetime(upload) {}
  }

  @Test func `a short upload, a write and each round of a batch add fresh entropy`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let letter = Letter()
    try store.putAll([letter])
    var count = mixings(store)
    func expectMore(_ what: String, _ body: () throws -> Void) throws {
      try body()
      #expect(mixings(store) > count, "\(what)")
      count = mixings(store)
    }
    var isRead = false
    try expectMore("upload") {
      _ = try store.upload(to: \Letter.scan, of: letter.id) { _ in
        defer { isRead = true }
        // Whoever cloned the machine while the value was read has another generator by now.
        if !isRead { count = self.mixings(store) }
        return isRead ? 0 : 10
      }
    }
    try expectMore("write") { _ = try store.write { tx in try tx.put(letter) } }
    try expectMore("update") {
      try store.write { tx in try tx.update(Letter.self, letter.id) { $0.set(\.subject, "new") } }
    }
    var batch = try store.batch(of: Letter.self)
    for round in 0..<3 {
      try batch.put(Letter())
      #expect(mixings(store) > count, "round \(round)")
      count = mixings(store)
      try batch.commit(.buffered)
    }
  }
}
