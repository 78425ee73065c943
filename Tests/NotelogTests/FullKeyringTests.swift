// Keys on a full disk: FORMAT.md §23.

import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct FullKeyringTests {
  private static let second = Credential.key((1...32).map { $0 })

  /// The bug: the new keyring, which takes no more room than the old one, found none, and left its beginning
  /// behind.
  @Test func `a credential is changed on a full disk, and where that fails nothing is left behind`() throws {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    disk.capacity = disk.usedByteCount
    let byteCount = disk.contents("reserve")?.count
    try store.changeCredential(TemporaryFolder.key, to: Self.second)
    #expect(disk.contents("reserve")?.count == byteCount)
    #expect(disk.contents("keyring") == disk.contents("keyring.copy"))
    disk.replace("reserve", with: nil)
    disk.capacity = disk.usedByteCount
    let names = disk.fileNames
    #expect(throws: NotelogError(.full, "")) {
      try store.changeCredential(Self.second, to: TemporaryFolder.key)
    }
    #expect(disk.fileNames == names)
    try store.close()
    try Store.open(in: disk, unlocking: Self.second, options: Store.Options()).close()
  }
}
