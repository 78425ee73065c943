// Changes of the keyring: who may make them, when they are in force, and what they leave open.
// docs/format-keyring.md 10.9.

import Foundation
import NotelogBase
import NotelogCrypto
import Testing

@testable import Notelog

@Suite struct KeyringChangeTests {
  private static let second = Credential.key([UInt8](repeating: 43, count: 32))
  private static let third = Credential.key([UInt8](repeating: 44, count: 32))

  /// The bug: a process that had opened the store for reading replaced the writer's newer keyring by its own.
  @Test func `a store that is open for reading, or closed, changes no keys`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var options = Store.Options()
    options.isReadOnly = true
    let reader = try Store.open(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    try store.createKey("mine", .whenUnlocked)
    let before = try Data(contentsOf: URL(filePath: folder.path + "/keyring"))
    #expect(throws: NotelogError(.readOnly, "")) { try reader.createKey("theirs", .whenUnlocked) }
    #expect(throws: NotelogError(.readOnly, "")) { try reader.addCredential(Self.second) }
    #expect(throws: NotelogError(.readOnly, "")) {
      try reader.changeCredential(TemporaryFolder.key, to: Self.second)
    }
    #expect(throws: NotelogError(.readOnly, "")) { try reader.removeCredential(TemporaryFolder.key) }
    try store.close()
    #expect(throws: NotelogError(.closed, "")) { try store.unlock(TemporaryFolder.key) }
    #expect(throws: NotelogError(.closed, "")) { try store.addCredential(Self.second) }
    #expect(!store.isUnlocked)
    #expect(try Data(contentsOf: URL(filePath: folder.path + "/keyring")) == before)
  }

  /// The bug: one slot was changed or removed, and the same credential in another slot went on opening the
  /// store.
  @Test func `a credential that was given up opens no slot any more`() throws {
    for isRemoved in [false, true] {
      let folder = try TemporaryFolder()
      let store = try folder.create()
      try store.addCredential(TemporaryFolder.key)
      try store.addCredential(Self.second)
      if isRemoved {
        try store.removeCredential(TemporaryFolder.key)
      } else {
        try store.changeCredential(TemporaryFolder.key, to: Self.third)
      }
      try store.close()
      #expect(throws: NotelogError(.wrongPassword, "")) { try folder.open() }
      try folder.open(Self.second).close()
      if !isRemoved { try folder.open(Self.third).close() }
    }
  }

  /// The bug: where the copy could not be written, the change was reported as failed, and was in force all
  /// the same.
  @Test func `a change is in force once the first file has it`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let copy = folder.path + "/keyring.copy"
    try FileManager.default.removeItem(atPath: copy)
    // Nothing can take the place of a folder that isn't empty.
    try FileManager.default.createDirectory(atPath: copy + "/inside", withIntermediateDirectories: true)
    try store.changeCredential(TemporaryFolder.key, to: Self.second)
    #expect(store.keyringFinding.withLock { $0 } == TwinFinding(copy: .older))
    try store.close()
    #expect(throws: NotelogError(.wrongPassword, "")) { try folder.open() }
    let reopened = try folder.open(Self.second)
    try FileManager.default.removeItem(atPath: copy)
    try reopened.changeCredential(Self.second, to: Self.third)
    try reopened.close()
    try FileManager.default.removeItem(atPath: folder.path + "/keyring")
    try folder.open(Self.third).close()
  }

  /// What a process leaves that dies between the two files.
  @Test func `a copy that is older opens with what was given up, until the next change`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let keyring = URL(filePath: folder.path + "/keyring")
    let copy = URL(filePath: folder.path + "/keyring.copy")
    let old = try Data(contentsOf: copy)
    try store.changeCredential(TemporaryFolder.key, to: Self.second)
    try store.close()
    try old.write(to: copy)
    let new = try Data(contentsOf: keyring)
    #expect(throws: NotelogError(.wrongPassword, "")) { try folder.open() }
    try FileManager.default.removeItem(at: keyring)
    try folder.open().close()
    try new.write(to: keyring)
    let reopened = try folder.open(Self.second)
    #expect(reopened.info().keyring == "sound, keyring.copy is older")
    try reopened.changeCredential(Self.second, to: Self.third)
    try reopened.close()
    try FileManager.default.removeItem(at: keyring)
    #expect(throws: NotelogError(.wrongPassword, "")) { try folder.open() }
    try folder.open(Self.third).close()
  }

  /// The slot is found by unlocking, as the documentation of both says.
  @Test func `changing or removing a credential unlocks a locked store`() throws {
    for isRemoved in [false, true] {
      let folder = try TemporaryFolder()
      try folder.create().close()
      let store = try folder.open(nil)
      #expect(!store.isUnlocked)
      #expect(throws: NotelogError(.wrongPassword, "")) {
        try store.changeCredential(Self.second, to: Self.third)
      }
      #expect(!store.isUnlocked)
      if isRemoved {
        // The last one stays; the store was unlocked to find that out.
        #expect(throws: NotelogError(.invalidArgument, "")) {
          try store.removeCredential(TemporaryFolder.key)
        }
      } else {
        try store.changeCredential(TemporaryFolder.key, to: Self.second)
      }
      #expect(store.isUnlocked)
      try store.close()
    }
  }

  /// The bug: a file that somebody, or a program that keeps folders alike, left under this name made a sound
  /// store pass for an unfinished one, whose files the next creation removed.
  @Test func `a file that merely bears the name of the mark takes no store away`() throws {
    let folder = try TemporaryFolder()
    let note = Note(title: "kept")
    let store = try folder.create()
    try store.write { tx in try tx.put(note) }
    try store.close()
    let mark = folder.path + "/creating"
    for content in ["", "something else"] {
      try Data(content.utf8).write(to: URL(filePath: mark))
      #expect(throws: NotelogError(.alreadyExists, "")) { try folder.create() }
      let reopened = try folder.open()
      #expect(try reopened.get(Note.self, note.id)?.title == "kept")
      try reopened.close()
    }
  }

  /// The bug: a store that somebody hands over could name any file of the user's as its lock, which opening
  /// truncated.
  @Test func `nothing is opened through a link, and a pipe does not block`() throws {
    let folder = try TemporaryFolder()
    try folder.create().close()
    let other = FileManager.default.temporaryDirectory.appending(path: "other-\(UUID().uuidString)").path()
    defer { try? FileManager.default.removeItem(atPath: other) }
    try Data("precious".utf8).write(to: URL(filePath: other))
    for name in ["lock", "reserve", "index", "keyring"] {
      let path = folder.path + "/" + name
      try? FileManager.default.removeItem(atPath: path)
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: other)
      _ = try? folder.open().close()
      #expect(try Data(contentsOf: URL(filePath: other)) == Data("precious".utf8), "\(name)")
      try FileManager.default.removeItem(atPath: path)
      if name == "keyring" { continue }
      #expect(unsafe mkfifo(path, 0o600) == 0)
      _ = try? folder.open().close()
      try FileManager.default.removeItem(atPath: path)
    }
    try folder.open().close()
  }
}
