// The lock of the writing process, and what forks do to it. FORMAT.md chapter 3.

@testable import NotelogStorage
import CTestSupport
@testable import Notelog
import Testing

@Suite struct WriterLockTests {
  /// Lets a forked child close its copy of a file.
  private final class Context {
    let file: any StorageFile
    init(_ file: any StorageFile) { self.file = file }
  }

  @Test func `a store that is open is refused to a second writer, and free once it is closed`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    #expect(throws: NotelogError.self) { try Journal.open(in: store.storage, options: .small) }
    try journal.close()
    try Journal.open(in: store.storage, options: .small).close()
  }

  /// The bug: `close` relied on closing the descriptor, but a child that another thread was just starting had
  /// a copy of it until it became another program, and the store could not be opened again for a moment.
  @Test func `a closed store can be opened again while a forked child lives`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    let child = unsafe child_fork({ _ in }, nil)
    try #require(child > 0)
    defer { child_kill(child) }
    try journal.close()
    try Journal.open(in: store.storage, options: .small).close()
  }

  @Test func `a forked child that closes its copy does not release its parent's lock`() throws {
    let store = try TemporaryStore()
    let held = try store.storage.open("lock", .createIfMissing)
    try held.lock(.exclusive)
    let context = Context(held)
    let child = unsafe child_fork(
      { unsafe Unmanaged<Context>.fromOpaque($0!).takeUnretainedValue().file.close() },
      Unmanaged.passUnretained(context).toOpaque())
    try #require(child > 0)
    defer { child_kill(child) }
    let second = try store.storage.open("lock", .update)
    #expect(throws: StorageError.self) { try second.lock(.exclusive) }
    held.close()
    try second.lock(.exclusive)
  }
}
