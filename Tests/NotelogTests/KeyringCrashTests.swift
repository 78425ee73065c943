// Crashes at every call of a change of the keyring: INV-K5, and with it the promise that a change of password
// is safe.

import Foundation
import NotelogBase
import NotelogCrypto
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct KeyringCrashTests {
  private static let old = Notelog.Credential.password("the old one")
  private static let new = Notelog.Credential.password("the new one")

  /// A store under the old password, and the calls during which it got the new one.
  private func changedStore() throws -> (disk: SimulatedDisk, calls: Range<Int>) {
    let disk = SimulatedDisk()
    var options = Store.Options()
    options.passwordWork = 14
    options.segmentByteCount = 16 << 10
    let store = try Store.create(in: disk, unlocking: Self.old, options: options)
    let start = disk.callCount
    try store.changeCredential(Self.old, to: Self.new, work: 14)
    return (disk, start..<disk.callCount)
  }

  private func opens(_ disk: SimulatedDisk, _ credential: Notelog.Credential) throws -> Bool {
    do {
      var options = Store.Options()
      options.isReadOnly = true
      try Store.open(in: disk, unlocking: credential, options: options).close()
      return true
    } catch let error as NotelogError where error.code == .wrongPassword {
      return false
    }
  }

  @Test func `a crash at any call of a change of password leaves one of the two passwords in force`() throws {
    let (disk, calls) = try changedStore()
    #expect(calls.count >= 12)
    var tried = 0
    var underOld = 0
    let points = disk.crashPoints.filter(calls.contains)
    for call in TestEffort.sample(points, 8) {
      for loss in LossModel.allCases {
        let image = disk.crashImage(after: call, loss, seed: UInt64(call))
        let passwords = (old: try opens(image, Self.old), new: try opens(image, Self.new))
        #expect(passwords.old != passwords.new, "after \(disk.describe(call: call)), \(loss): \(passwords)")
        tried += 1
        underOld += passwords.old ? 1 : 0
      }
    }
    // Both outcomes were among them, or the sweep looked at the wrong calls.
    #expect(points.count * LossModel.allCases.count >= 100 && tried > 30)
    #expect(underOld > 0 && underOld < tried)
    // Once the change has returned, it stays.
    for loss in LossModel.allCases {
      #expect(try opens(disk.crashImageNow(loss, seed: 1), Self.new))
    }
  }

  @Test
  func `a crash at any call of adding a key leaves the keyring before or after it, and every key opens`()
    throws
  {
    let disk = SimulatedDisk()
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    for number in 0..<3 { try store.createKey("key \(number)", .whenUnlocked) }
    let start = disk.callCount
    for number in 3..<6 { try store.createKey("key \(number)", .whenUnlocked) }
    let calls = start..<disk.callCount
    var counts: Set<Int> = []
    for call in disk.crashPoints where calls.contains(call) {
      for loss in LossModel.allCases {
        let image = disk.crashImage(after: call, loss, seed: UInt64(call))
        let place = "after \(disk.describe(call: call)), \(loss)"
        let opened = try Store.open(in: image, unlocking: TemporaryFolder.key, options: options)
        let names = opened.info().keys.map(\.name)
        #expect((3...6).contains(names.count) && names == (0..<names.count).map { "key \($0)" }, "\(place)")
        counts.insert(names.count)
        // The next key is added to what counts, and none is lost by that.
        try opened.createKey("next", .whenUnlocked)
        try opened.close()
        for file in ["keyring", "keyring.copy"] {
          let alone = image.copy()
          alone.replace(file, with: nil)
          let again = try Store.open(in: alone, unlocking: TemporaryFolder.key, options: options)
          #expect(again.info().keys.map(\.name) == names + ["next"], "\(place), \(file)")
          try again.close()
        }
      }
    }
    #expect(counts == [3, 4, 5, 6])
    // What was acknowledged stays.
    for loss in LossModel.allCases {
      let image = disk.crashImageNow(loss, seed: 5)
      let opened = try Store.open(in: image, unlocking: TemporaryFolder.key, options: options)
      #expect(opened.info().keys.count == 6)
      try opened.close()
    }
  }

  @Test func `a keyring with a second name is replaced, and not changed where it lies`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let link = folder.path + "-link"
    try FileManager.default.linkItem(atPath: folder.path + "/keyring", toPath: link)
    defer { try? FileManager.default.removeItem(atPath: link) }
    let before = try Data(contentsOf: URL(filePath: link))
    try store.createKey("new", .whenUnlocked)
    #expect(try Data(contentsOf: URL(filePath: link)) == before)
    #expect(try Data(contentsOf: URL(filePath: folder.path + "/keyring")).count > before.count)
    try store.close()
    let again = try folder.open()
    #expect(again.info().keys.count == 1)
    try again.close()
  }

  @Test func `the lost half of a change is mended by the copy, and reported`() throws {
    let (disk, _) = try changedStore()
    for name in ["keyring", "keyring.copy"] {
      let image = disk.copy()
      var bytes = try #require(image.contents(name))
      bytes[bytes.count / 2] ^= 1
      image.replace(name, with: bytes)
      let store = try Store.open(in: image, unlocking: Self.new, options: Store.Options())
      #expect(store.keyringFinding.withLock { $0 } != TwinFinding())
      try store.close()
    }
  }
}
