// Processes that are stopped between what they read of a store, while others rotate its key: FORMAT.md 21.4
// and 25.

import NotelogBase
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

/// A disk on which something happens before a file is opened, as if the process had been stopped there
/// meanwhile.
final class StoppedStorage: ForwardingStorage {
  let base: any Storage
  private let planned = Lock<(name: String, action: @Sendable () -> Void)?>(nil)

  init(_ base: SimulatedDisk) { self.base = base }

  /// Has something happen once, before the file of this name is opened.
  func plan(before name: String, _ action: @escaping @Sendable () -> Void) {
    planned.withLock { $0 = (name, action) }
  }

  func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    let action = planned.withLock { planned -> (@Sendable () -> Void)? in
      guard let now = planned, now.name == name else { return nil }
      planned = nil
      return now.action
    }
    action?()
    return try base.open(name, mode)
  }
}

@Suite struct StoppedReaderTests {
  private static let notes = (0..<20).map { Note(title: "title \($0)", body: "body \($0)") }

  private static func fill() throws -> (SimulatedDisk, StoppedStorage, Store) {
    let disk = SimulatedDisk()
    let writer = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    try writer.putAll(notes)
    return (disk, StoppedStorage(disk), writer)
  }

  /// Rotates the key to its end just before the keyring is read.
  private static func plan(_ storage: StoppedStorage, _ writer: Store) {
    storage.plan(before: "keyring") { _ = try? writer.rotate("personal") }
  }

  /// The key's generations, of which the old one goes with the last value under it.
  private static func generations(_ writer: Store) -> [UInt32] {
    writer.info().keys.first { $0.name == "personal" }?.generations ?? []
  }

  private static func check(_ reader: Store) throws {
    for note in notes { #expect(try reader.get(Note.self, note.id)?.body == note.body) }
  }

  /// The bug: the log was read before the rotation, the keyring behind it, and every value stayed sealed.
  @Test func `who was stopped between the log and the keyring reads what was sealed anew meanwhile`() throws {
    let (_, storage, writer) = try Self.fill()
    let first = Self.generations(writer)
    Self.plan(storage, writer)
    var options = Store.Options()
    options.isReadOnly = true
    let reader = try Store.open(in: storage, unlocking: TemporaryFolder.key, options: options)
    let second = Self.generations(writer)
    #expect(second.count == 1 && second != first)
    try Self.check(reader)
    // The same in a look at what others did: the first rotation ends behind the log, and so is seen by the
    // second look alone.
    _ = try writer.rotate("personal")
    let third = Self.generations(writer)
    Self.plan(storage, writer)
    try reader.refresh()
    #expect(Self.generations(writer).count == 1 && Self.generations(writer) != third)
    try Self.check(reader)
    try reader.close()
    try writer.close()
  }
}
