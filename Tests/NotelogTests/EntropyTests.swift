// A salt of its own for each transaction that seals: FORMAT.md 21.5, SECURITY.md A8.

@testable import NotelogBase
import Foundation
@testable import Notelog
import Testing

@testable import NotelogCrypto

@Suite struct EntropyTests {
  /// The salt of a record's subject, which is sealed where it stands.
  private func salt(_ store: Store, _ id: RecordID) throws -> [UInt8] {
    let entry = try #require(try store.get(Letter.self, id))
    let range = try #require(try entry.stored.find(2)).range
    return Array(entry.stored.body.rawSpan.extracting(range).array().prefix(SealedValue.saltSize))
  }

  /// The bug: an upload drew fresh random bytes once, when it began, and sealed any number of transactions
  /// after that.
  @Test func `each chunk of an upload and its reference have salts of their own`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let letter = Letter()
    try store.putAll([letter])
    var left = 40
    let upload = try store.upload(to: \Letter.scan, of: letter.id) { buffer in
      left -= 1
      return left > 0 ? buffer.byteCount : 0
    }
    try store.write { tx in try tx.update(Letter.self, letter.id) { $0.set(\.scan, upload) } }
    let entry = try #require(try store.get(Letter.self, letter.id))
    let range = try #require(try entry.stored.find(3)).range
    let bytes = entry.stored.body.rawSpan.extracting(range).array()
    let found = ValueReference(bytes.rawSpan)
    let reference = try #require(found)
    #expect(reference.chunkCount > 20)
    var salts: Set<[UInt8]> = [
      Array(bytes.suffix(SealedValue.overhead).prefix(SealedValue.saltSize))
    ]
    var buffer = ReadBuffer()
    for number in 0..<reference.chunkCount {
      _ = try store.journal.readChunk(UInt32(number), of: reference.value, into: &buffer)
      salts.insert(Array(buffer.body.array().prefix(SealedValue.saltSize)))
    }
    #expect(salts.count == reference.chunkCount + 1)
  }

  @Test func `each write and each round of a batch has a salt of its own`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let (one, other) = (Letter(), Letter())
    try store.write { tx in for letter in [one, other] { try tx.put(letter) } }
    var salts: Set<[UInt8]> = [try salt(store, one.id)]
    #expect(try salt(store, other.id) == salts.first, "one transaction, one salt")
    try store.write { tx in try tx.put(one) }
    salts.insert(try salt(store, one.id))
    try store.write { tx in try tx.update(Letter.self, one.id) { $0.set(\.subject, "new") } }
    salts.insert(try salt(store, one.id))
    var batch = try store.batch(of: Letter.self)
    for _ in 0..<3 {
      let letter = Letter()
      try batch.put(letter)
      try batch.commit(.buffered)
      salts.insert(try salt(store, letter.id))
    }
    #expect(salts.count == 6)
  }
}
