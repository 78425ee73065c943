// Of a store that was put back and goes on there are two lines, with the same numbers: no head takes one for the other.
// FORMAT.md §27, INV-W3, INV-W4, INV-W6; Tests/Models/evidence.pml.

import Foundation
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct OtherLineTests {
  private static func open(_ folder: TemporaryFolder, _ head: StoreHead? = nil) throws -> Store {
    var options = EvidenceTests.options
    options.head = head
    return try Store.open(at: folder.path, unlocking: TemporaryFolder.key, options: options)
  }

  /// Writes one note in each of some transactions, and closes the store.
  private static func write(_ folder: TemporaryFolder, _ count: Int, _ head: StoreHead? = nil) throws
    -> StoreHead
  {
    let store = try open(folder, head)
    for number in 0..<count { try store.write { tx in try tx.put(Note(title: "\(number)")) } }
    defer { try? store.close() }
    return try store.head()
  }

  private static func copy(_ folder: TemporaryFolder, to other: TemporaryFolder) throws {
    try? FileManager.default.removeItem(atPath: other.path)
    try FileManager.default.copyItem(atPath: folder.path, toPath: other.path)
  }

  /// The bug: whoever opened the store wrote under the id of its head. On the line that was gone it had written more
  /// than its head said, so that this line passed for one that has what it wrote since.
  @Test func `what was written is missed in a line with earlier work of the same device`() throws {
    let (folder, before, gone) = (try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder())
    try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: EvidenceTests.options).close()
    let first = try Self.write(folder, 1)
    try Self.copy(folder, to: before)
    // Its head is not kept.
    _ = try Self.write(folder, 5, first)
    try Self.copy(folder, to: gone)
    try Self.copy(before, to: folder)
    let second = try Self.write(folder, 2, first)
    // Another device goes on where the first one is gone from.
    _ = try Self.write(gone, 1)
    try Self.copy(gone, to: folder)
    let store = try Self.open(folder, second)
    #expect(try !store.audit().isSound)
    #expect(throws: NotelogError.self) { try store.head() }
    try store.close()
  }

  @Test func `a head passes whoever has written since, and however often`() throws {
    let folder = try TemporaryFolder()
    try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: EvidenceTests.options).close()
    let head = try Self.write(folder, 1)
    var newest = head
    for number in 0..<20 {
      newest = try Self.write(folder, number % 2, newest)
      if number % 5 == 0 { _ = try Self.write(folder, 1) }
      for kept in [head, newest] {
        let store = try Self.open(folder, kept)
        #expect(try store.audit().isSound)
        try store.close()
      }
    }
  }

  /// The bug: the head that did not pass was asked again.
  @Test func `what was accepted passes, and the head of before is another line's`() throws {
    let (folder, before) = (try TemporaryFolder(), try TemporaryFolder())
    try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: EvidenceTests.options).close()
    let first = try Self.write(folder, 1)
    try Self.copy(folder, to: before)
    let second = try Self.write(folder, 3, first)
    try Self.copy(before, to: folder)
    var store = try Self.open(folder, second)
    #expect(try !store.audit().isSound)
    try store.acceptEvidence()
    #expect(try store.audit().isSound)
    try store.write { tx in try tx.put(Note(title: "goes on")) }
    let accepted = try store.head()
    try store.close()
    store = try Self.open(folder, accepted)
    #expect(try store.audit().isSound)
    try store.close()
    store = try Self.open(folder, second)
    #expect(try !store.audit().isSound)
    try store.close()
  }

  @Test func `a head is of what is durable: whatever the power takes, it passes`() throws {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: EvidenceTests.options)
    for _ in 0..<3 { try store.write(.buffered) { tx in try tx.put(Note(title: "kept")) } }
    let head = try store.head()
    try store.write(.buffered) { tx in try tx.put(Note(title: "lost")) }
    for loss in LossModel.allCases {
      var options = EvidenceTests.options
      options.head = head
      let left = try Store.open(
        in: disk.crashImageNow(loss, seed: 1), unlocking: TemporaryFolder.key, options: options)
      #expect(try left.audit().isSound, "\(loss)")
      try left.write { tx in try tx.put(Note(title: "next")) }
      try left.close()
    }
    try store.close()
  }
}
