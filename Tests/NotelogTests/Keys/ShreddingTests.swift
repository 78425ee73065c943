// Keys that are shredded: what copies of the store open afterwards, and crashes on the way (SECURITY.md, A7).

import Foundation
import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct ShreddingTests {
  private static let key = TemporaryFolder.key

  private static let small: Store.Options = {
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    return options
  }()

  private static func makeDisk() throws -> (SimulatedDisk, [Visit]) {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: key, options: small)
    try store.createKey("notes", .whenUnlocked, isShreddable: true)
    try store.createKey("diagnostics", .whenUnlocked, isShreddable: true)
    let visits = (0..<5).map { Visit(number: $0, notes: "private \($0)", diagnostics: "log \($0)") }
    try store.putAll(visits)
    try store.grant(["notes"], to: .key([UInt8](repeating: 77, count: 32)))
    try store.rotate("notes")
    try store.close()
    // Without its history: crashes are of what comes next.
    return (disk.copy(), visits)
  }

  /// How many values of each field open.
  private static func opened(
    _ disk: SimulatedDisk, _ credential: Credential = key
  ) throws -> (notes: Int, diagnostics: Int) {
    var options = small
    options.isReadOnly = true
    let store = try Store.open(in: disk, unlocking: credential, options: options)
    defer { try? store.close() }
    var count = (notes: 0, diagnostics: 0)
    for entry in try store.query(Visit.self).entries() {
      do { if try entry.notes.hasPrefix("private") { count.notes += 1 } } catch let error as NotelogError {
        #expect([.missingKey, .locked].contains(error.code))
      }
      do { if try entry.diagnostics.hasPrefix("log") { count.diagnostics += 1 } } catch let error
        as NotelogError
      {
        #expect([.missingKey, .locked].contains(error.code))
      }
    }
    return count
  }

  @Test
  func `after a shred no copy made before opens a value of the key, without its file, and all others open`()
    throws
  {
    let (disk, visits) = try Self.makeDisk()
    let before = disk.copy()
    let backup = SimulatedDisk()
    let summary = try Shipper(disk, to: backup.archive).ship()
    #expect(summary.keysWithoutTheirFile == 2)
    #expect(!backup.fileNames.contains { $0.hasSuffix(".effaceable") })
    let store = try Store.open(in: disk, unlocking: Self.key, options: Self.small)
    #expect(try store.get(Visit.self, visits[0].id)?.notes == "private 0")
    try store.shredKey("notes")
    #expect(throws: NotelogError(.missingKey, "")) { try store.get(Visit.self, visits[0].id)?.notes }
    #expect(try store.get(Visit.self, visits[0].id)?.diagnostics == "log 0")
    #expect(store.info().keys.map(\.state) == [.shredded, .open])
    #expect(throws: NotelogError(.missingKey, "")) { try store.putAll([Visit(notes: "more")]) }
    try store.write { tx in try tx.update(Visit.self, visits[1].id) { $0.set(\.diagnostics, "log, changed") }
    }
    #expect(throws: NotelogError(.alreadyExists, "")) { try store.createKey("notes", .whenUnlocked) }
    try store.close()
    #expect(try Self.opened(disk) == (0, 5))
    // The copies, made when the key was there, with all but its file.
    #expect(try Self.opened(before) == (5, 5))
    before.replace("00000.effaceable", with: nil)
    #expect(try Self.opened(before) == (0, 5))
    #expect(try Self.opened(before, .key([UInt8](repeating: 77, count: 32))) == (0, 0))
    let restored = SimulatedDisk()
    let findings = try Store.restore(backup.archive, to: restored).findings
    #expect(findings.filter(\.isDamage).isEmpty && findings.count == 2)
    #expect(findings.allSatisfy { $0.message.contains(".effaceable") })
    #expect(try Self.opened(restored) == (0, 0))
    // Whoever keeps the other key's file puts it there.
    restored.replace("00001.effaceable", with: disk.contents("00001.effaceable"))
    #expect(try Self.opened(restored) == (0, 5))
    // One of another key, or another store, is not taken for it.
    restored.replace("00000.effaceable", with: disk.contents("00001.effaceable"))
    #expect(try Self.opened(restored) == (0, 5))
  }

  /// The bug: verification took them for damage, with the key and without.
  @Test func `what is under a shredded key is counted apart, and is no damage`() throws {
    let (disk, _) = try Self.makeDisk()
    let before = disk.copy()
    var store = try Store.open(in: disk, unlocking: Self.key, options: Self.small)
    try store.shredKey("notes")
    try store.close()
    func figures(_ found: Verification) -> [Int] {
      [found.findings.count { $0.isDamage }, found.openedCount, found.lockedCount, found.shreddedCount]
    }
    func verify(_ disk: SimulatedDisk, _ credential: Credential? = Self.key) throws -> [Int] {
      try figures(Store.verify(in: disk, unlocking: credential))
    }
    #expect(try verify(disk) == [0, 5, 0, 5])
    #expect(try verify(disk, nil) == [0, 0, 5, 5])
    // Where the file alone is gone, as in what is restored.
    let (backup, restored) = (SimulatedDisk(), SimulatedDisk())
    _ = try Shipper(before, to: backup.archive).ship()
    _ = try Store.restore(backup.archive, to: restored)
    #expect(try verify(restored) == [0, 0, 0, 10])
    #expect(try figures(Store.verify(backup.archive, unlocking: Self.key)) == [0, 0, 0, 10])
    // One that is there and does not check is damage.
    let rotten = before.copy()
    var bytes = try #require(rotten.contents("00000.effaceable"))
    bytes[40] ^= 1
    rotten.replace("00000.effaceable", with: bytes)
    #expect(try verify(rotten) == [5, 5, 0, 0])
    // A new root takes along what is known of it.
    store = try Store.open(in: disk, unlocking: Self.key, options: Self.small)
    try store.rekey(Self.key, to: Self.key)
    #expect(store.info().keys.map(\.state) == [.shredded, .open])
    #expect(store.info().keys[0].generations.count == 1 && store.info().keys[1].generations.count == 2)
    try store.close()
    #expect(try verify(disk) == [0, 5, 0, 5])
  }

  @Test func `a crash at any call of a shred leaves the key whole or gone, and the others whole`() throws {
    let (disk, _) = try Self.makeDisk()
    let store = try Store.open(in: disk, unlocking: Self.key, options: Self.small)
    let secret = try #require(disk.contents("00000.effaceable")).dropFirst(32).prefix(32)
    let start = disk.callCount
    try store.shredKey("notes")
    let calls = start..<disk.callCount
    #expect(calls.count >= 15)
    var (whole, tried) = (0, 0)
    for call in disk.crashPoints where calls.contains(call) {
      for loss in LossModel.allCases {
        let image = disk.crashImage(after: call, loss, seed: UInt64(call))
        let found = try Self.opened(image)
        #expect(
          found.diagnostics == 5 && (found.notes == 0 || found.notes == 5),
          "after \(disk.describe(call: call)), \(loss)")
        (whole, tried) = (whole + found.notes / 5, tried + 1)
        // Done again, it is done.
        let store = try Store.open(in: image, unlocking: Self.key, options: Self.small)
        try store.shredKey("notes")
        #expect(store.info().keys.map(\.state) == [.shredded, .open])
        try store.close()
        #expect(try Self.opened(image) == (0, 5))
      }
    }
    #expect(tried >= 80 && whole > 0 && whole < tried)
    // Once it has returned, no crash brings the secret back, in any file.
    for loss in LossModel.allCases {
      let image = disk.crashImageNow(loss, seed: 3)
      for name in image.fileNames {
        #expect(image.contents(name)?.contains(secret) != true, "\(name)")
      }
    }
  }

  @Test func `only keys that were made for it are shredded, and a file with a second name is not`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.createKey("plain", .whenUnlocked)
    try store.createKey("special", .whenUnlocked, isShreddable: true)
    #expect(throws: NotelogError(.invalidArgument, "")) { try store.shredKey("plain") }
    #expect(throws: NotelogError(.notFound, "")) { try store.shredKey("none") }
    store.lock()
    #expect(throws: NotelogError(.locked, "")) { try store.shredKey("special") }
    #expect(throws: NotelogError(.locked, "")) {
      try store.createKey("more", .whenUnlocked, isShreddable: true)
    }
    try store.unlock(TemporaryFolder.key)
    let link = folder.path + "-link"
    try FileManager.default.linkItem(atPath: folder.path + "/00001.effaceable", toPath: link)
    defer { try? FileManager.default.removeItem(atPath: link) }
    #expect(throws: NotelogError(.inputOutput, "")) { try store.shredKey("special") }
    #expect(store.info().keys.map(\.state) == [.open, .open])
    try store.close()
  }
}
