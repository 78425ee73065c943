// Crashes at every call of a change of the keyring: INV-K5, and with it the promise that a change of password is safe.

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
    for call in disk.crashPoints where calls.contains(call) {
      for loss in LossModel.allCases {
        let image = disk.crashImage(after: call, loss, seed: UInt64(call))
        let passwords = (old: try opens(image, Self.old), new: try opens(image, Self.new))
        #expect(passwords.old != passwords.new, "after \(disk.describe(call: call)), \(loss): \(passwords)")
        tried += 1
        underOld += passwords.old ? 1 : 0
      }
    }
    // Both outcomes were among them, or the sweep looked at the wrong calls.
    #expect(tried >= 100)
    #expect(underOld > 0 && underOld < tried)
    // Once the change has returned, it stays.
    for loss in LossModel.allCases {
      #expect(try opens(disk.crashImageNow(loss, seed: 1), Self.new))
    }
  }

  @Test func `the lost half of a change is mended by the copy, and reported`() throws {
    let (disk, _) = try changedStore()
    for name in ["keyring", "keyring.copy"] {
      let image = disk.copy()
      var bytes = try #require(image.contents(name))
      bytes[bytes.count / 2] ^= 1
      image.replace(name, with: bytes)
      let store = try Store.open(in: image, unlocking: Self.new, options: Store.Options())
      #expect(store.keyringFinding.withLock { $0 } != .bothSound)
      try store.close()
    }
  }
}
