// The unlock root in place of a password, and secrets in memory that is wiped.

import Foundation
import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog
@testable import NotelogCrypto

@Suite struct UnlockRootTests {
  private func store() throws -> (folder: TemporaryFolder, root: SecretBytes) {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll([Note(title: "Clark")])
    let root = try store.unlockRoot()
    try store.close()
    return (folder, root)
  }

  private func secretBytes(_ text: String) throws -> SecretBytes { try SecretBytes(Array(text.utf8)) }

  @Test func `the unlock root opens the store without its password, and after that was changed too`() throws {
    let (folder, root) = try store()
    #expect(root.byteCount == 32)
    let opened = try folder.open(nil)
    try opened.unlock(.root(root))
    #expect(try opened.query(Note.self).first()?.title == "Clark")
    try opened.changeCredential(TemporaryFolder.key, to: .key([UInt8](repeating: 7, count: 32)))
    try opened.close()
    let again = try folder.open(nil)
    try again.unlock(.root(root))
    try again.createKey("drafts", .whenUnlocked)
    #expect(try again.query(Note.self).first()?.title == "Clark")
    try again.close()
    #expect(throws: Notelog.NotelogError.self) { try again.unlock(.root(root)) }
  }

  @Test func `another store's root opens nothing, and no more does one of another length`() throws {
    let (folder, _) = try store()
    let (_, other) = try store()
    let opened = try folder.open(nil)
    for root in [other, try secretBytes("short")] {
      let error = #expect(throws: NotelogError.self) { try opened.unlock(.root(root)) }
      #expect(error?.code == .wrongPassword)
      #expect(!opened.isUnlocked)
    }
    try opened.close()
  }

  @Test func `the unlock root is a credential wherever one opens a store, and none that a keyring takes`()
    throws
  {
    let (folder, root) = try store()
    #expect(try Store.verify(at: folder.path, unlocking: .root(root)).openedCount > 0)
    let opened = try folder.open(.root(root))
    let error = #expect(throws: NotelogError.self) { try opened.addCredential(.root(root)) }
    #expect(error?.code == .invalidArgument)
    try opened.close()
  }

  @Test func `a locked store gives no root`() throws {
    let (folder, _) = try store()
    let opened = try folder.open(nil)
    #expect(try #require(throws: NotelogError.self) { _ = try opened.unlockRoot() }.code == .locked)
    try opened.close()
    #expect(try #require(throws: NotelogError.self) { _ = try opened.unlockRoot() }.code == .closed)
  }

  /// A keyring whose MAC does not fit the root may be a newer one, which has another root: only a copy of the
  /// same generation serves.
  @Test(arguments: [true, false])
  func `a keyring that was altered is not opened by the root, and a copy of its generation serves`(
    isAlone: Bool
  ) throws {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    let root = try store.unlockRoot()
    let other = Notelog.Credential.key([UInt8](repeating: 9, count: 32))
    if !isAlone { try store.addCredential(other) }
    try store.close()
    let older = try #require(disk.contents("keyring.copy"))
    let again = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    if isAlone { try again.addCredential(other) }
    try again.close()
    var keyring = try #require(disk.contents("keyring"))
    // A byte of its MAC, under a digest that fits.
    keyring[keyring.count - 64] ^= 1
    keyring = Array(keyring.dropLast(32)) + (try OpenSSL.sha256(Array(keyring.dropLast(32))))
    disk.replace("keyring", with: keyring)
    if isAlone { disk.replace("keyring.copy", with: older) }
    let opened = try Store.open(in: disk, unlocking: nil, options: Store.Options())
    if isAlone {
      #expect(
        try #require(throws: NotelogError.self) { try opened.unlock(.root(root)) }.code == .wrongPassword)
      #expect(!opened.isUnlocked)
    } else {
      try opened.unlock(.root(root))
      #expect(opened.info().keyring == "keyring was altered, keyring.copy serves")
    }
    try opened.close()
  }

  @Test
  func `a password given as secret bytes is the same as one given as text, however its letters are written`()
    throws
  {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    options.passwordWork = 14
    try Store.create(at: folder.path, unlocking: .password("Gr\u{FC}\u{DF}e"), options: options).close()
    for spelling in ["Gr\u{FC}\u{DF}e", "Gru\u{308}\u{DF}e"] {
      let opened = try folder.open(.passwordBytes(try secretBytes(spelling)))
      #expect(opened.isUnlocked)
      try opened.close()
    }
    #expect(throws: NotelogError.self) { _ = try folder.open(.passwordBytes(try secretBytes("Grusse"))) }
  }

  @Test func `secret bytes are refused where they are none, in plain words`() throws {
    let (folder, root) = try store()
    let opened = try folder.open(.keyBytes(try SecretBytes([UInt8](repeating: 42, count: 32))))
    let empty = try SecretBytes([])
    #expect(
      try #require(throws: NotelogError.self) { try opened.addCredential(.passwordBytes(empty)) }.code
        == .invalidArgument)
    #expect(
      try #require(throws: NotelogError.self) { try opened.unlock(.keyBytes(empty)) }.code == .invalidArgument
    )
    #expect(
      try #require(throws: NotelogError.self) { _ = try SecretBytes([UInt8](repeating: 0, count: 4097)) }.code
        == .limitExceeded)
    #expect(
      try #require(throws: NotelogError.self) { _ = try SecretBytes(capacity: 4097) { _ in 0 } }.code
        == .limitExceeded)
    try opened.close()
    _ = root
  }

  @Test func `secret bytes are joined and cut, and show nothing of themselves`() throws {
    let joined = try SecretBytes([1, 2], followedBy: try secretBytes("xyz"))
    #expect(joined.withBytes { $0.array() } == [1, 2, 120, 121, 122])
    #expect(try joined.extracting(2..<4).withBytes { $0.array() } == Array("xy".utf8))
    #expect("\(try secretBytes("open sesame"))" == "11 secret bytes")
    var dumped = ""
    dump(Credential.passwordBytes(try secretBytes("open sesame")), to: &dumped)
    #expect(!dumped.contains("sesame") && !dumped.contains("115"))
  }
}
