// A keyring that somebody altered, or that can't be read: what is served, and what is said.
// docs/format-keyring.md 10.8, 10.9.

import NotelogBase
import NotelogStorage
import Foundation
@testable import Notelog
import NotelogTestSupport
import Testing

@testable import NotelogCrypto

/// A folder in which a name can't be opened.
private final class UnreadableName: ForwardingStorage {
  let base: any Storage
  private let name: String
  private let number: Int32

  init(_ base: any Storage, _ name: String, errno number: Int32) {
    (self.base, self.name, self.number) = (base, name, number)
  }

  func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    if name == self.name { throw StorageError(.open, name, errno: number) }
    return try base.open(name, mode)
  }
}

@Suite struct AlteredKeyringTests {
  private static let right = Notelog.Credential.password("the right one")
  private static let wrong = Notelog.Credential.password("a wrong one")

  /// What of the first slot is altered. It begins at 72: length, kind, log N, id; its salt at 24, and its
  /// wrap at 40.
  enum Place: Int, CaseIterable, Sendable {
    case work = 75
    case salt = 96
    case nonce = 112
    case ciphertext = 136
    case tag = 168
    case commitment = 184
  }

  private static let alterations = Place.allCases.flatMap { place in
    ["keyring", "keyring.copy"].flatMap { name in [false, true].map { (place, name, $0) } }
  }

  private static func makeDisk() throws -> SimulatedDisk {
    let disk = SimulatedDisk()
    var options = Store.Options()
    options.passwordWork = 14
    options.segmentByteCount = 16 << 10
    let store = try Store.create(in: disk, unlocking: right, options: options)
    try store.putAll([Note(title: "Clark")])
    try store.close()
    return disk
  }

  private static func alter(_ disk: SimulatedDisk, _ name: String, _ place: Place, fitting: Bool)
    throws
  {
    var bytes = try #require(disk.contents(name))
    bytes[place.rawValue] ^= 1
    if fitting { try Self.refit(&bytes) }
    disk.replace(name, with: bytes)
  }

  /// Makes the digest fit.
  private static func refit(_ bytes: inout [UInt8]) throws {
    bytes.replaceSubrange(bytes.count - 32..<bytes.count, with: try OpenSSL.sha256(Array(bytes.dropLast(32))))
  }

  private func title(_ disk: SimulatedDisk) throws -> (title: String?, keyring: String) {
    let store = try Store.open(in: disk, unlocking: Self.right, options: Store.Options())
    defer { try? store.close() }
    return (try store.query(Note.self).first()?.title, store.info().keyring)
  }

  /// The bug: what decides whether a slot is the password's (salt, work, nonce, commitment) read as a wrong
  /// password where it was altered under a digest that fits, though the other file was sound; and verify
  /// ended with that, and found nothing.
  @Test(arguments: TestEffort.sample(alterations, 8))
  func `a byte altered in one file costs nothing, and is found`(place: Place, name: String, fitting: Bool)
    throws
  {
    let disk = try Self.makeDisk()
    try Self.alter(disk, name, place, fitting: fitting)
    let found = try title(disk)
    #expect(found.title == "Clark")
    #expect(found.keyring != "sound")
    #expect(throws: NotelogError(.wrongPassword, "")) {
      try Store.open(in: disk, unlocking: Self.wrong, options: Store.Options())
    }
    for (credential, opens) in [(Self.right, true), (Self.wrong, false), (nil, false)] {
      let verified = try Store.verify(in: disk, unlocking: credential)
      #expect(!verified.isSound(.keyring), "\(name), \(place)")
      #expect(verified.wasUnlocked == opens)
      #expect((verified.openedCount > 0) == opens)
    }
    if fitting, name == "keyring" { #expect(found.keyring == "keyring was altered, keyring.copy serves") }
  }

  /// Damage that came after the store was opened goes with the next change.
  @Test(arguments: ["keyring", "keyring.copy"])
  func `a key that is added to an altered file is in both files whole`(file: String) throws {
    let disk = try Self.makeDisk()
    let store = try Store.open(in: disk, unlocking: Self.right, options: Store.Options())
    try Self.alter(disk, file, .salt, fitting: false)
    try store.createKey("added", .whenUnlocked)
    try store.close()
    #expect(disk.contents("keyring") == disk.contents("keyring.copy"))
    for name in ["keyring", "keyring.copy"] {
      let bytes = try #require(disk.contents(name))
      try disk.unlink(name)
      let opened = try Store.open(in: disk, unlocking: Self.right, options: Store.Options())
      #expect(opened.info().keys.contains { $0.name == "added" })
      try opened.close()
      disk.replace(name, with: bytes)
    }
  }

  @Test func `with both files sound, a wrong password is that, for verify too`() throws {
    let disk = try Self.makeDisk()
    #expect(throws: NotelogError(.wrongPassword, "")) { try Store.verify(in: disk, unlocking: Self.wrong) }
  }

  /// A password that was given up must not come back by altering the newer file.
  @Test func `a password is never tried on an older copy`() throws {
    let disk = try Self.makeDisk()
    let old = try #require(disk.contents("keyring.copy"))
    let new = Notelog.Credential.password("the new one")
    var store = try Store.open(in: disk, unlocking: Self.right, options: Store.Options())
    try store.changeCredential(Self.right, to: new, work: 14)
    try store.close()
    disk.replace("keyring.copy", with: old)
    #expect(throws: NotelogError(.wrongPassword, "")) {
      try Store.open(in: disk, unlocking: Self.right, options: Store.Options())
    }
    store = try Store.open(in: disk, unlocking: new, options: Store.Options())
    try store.close()
  }

  /// The bug: a copy that could not be read, for another reason than a bad sector, kept everybody from
  /// opening the store, though the other file was sound.
  @Test(arguments: [EACCES, EPERM, EISDIR, ENOTDIR, EIO, ELOOP, EINVAL, EMFILE, ENXIO])
  func `where one of the two files can't be read, the other serves, and it is said`(number: Int32) throws {
    for name in ["keyring", "keyring.copy"] {
      let disk = UnreadableName(try Self.makeDisk(), name, errno: number)
      let store = try Store.open(in: disk, unlocking: Self.right, options: Store.Options())
      #expect(try store.query(Note.self).first()?.title == "Clark")
      #expect(store.info().keyring.hasPrefix("\(name) is unreadable"))
      try store.close()
      #expect(try !Store.verify(in: disk, unlocking: nil).isSound(.keyring))
    }
    let disk = try Self.makeDisk()
    disk.replace("keyring", with: [])
    let error = #expect(throws: NotelogError.self) {
      try Store.open(
        in: UnreadableName(disk, "keyring.copy", errno: number), unlocking: Self.right,
        options: Store.Options())
    }
    #expect(error?.errno == number)
  }

  /// The same on a real disk.
  @Test func `a folder in a keyring file's place costs nothing`() throws {
    for name in ["keyring", "keyring.copy"] {
      let folder = try TemporaryFolder()
      try folder.create().close()
      try folder.remove(name)
      try FileManager.default.createDirectory(
        atPath: folder.path + "/" + name, withIntermediateDirectories: true)
      try folder.open().close()
    }
  }
}
