// The descriptors of a store's files: few at once, and never another file's.

@testable import NotelogBase
@testable import Notelog
import NotelogStorage
import Foundation
import NotelogTestSupport
import Testing

@Suite struct DescriptorTests {
  let store: TemporaryStore
  /// The same folder, of which four files are open at once.
  let few: SystemStorage

  init() throws {
    store = try TemporaryStore()
    few = SystemStorage(path: store.storage.path, openFileLimit: 4)
  }

  /// Makes files, each with a content of its own, and opens them for reading.
  private func files(_ count: Int) throws -> [any StorageFile] {
    try (0..<count).map { number in
      let file = try store.storage.open("file \(number)", .createNew)
      try file.writeAll(Self.content(number).rawSpan, at: 0)
      file.close()
      return try few.open("file \(number)", .read)
    }
  }

  private static func content(_ number: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(number & 0xFF), count: 64)
  }

  /// The error of a call on a file of the folder.
  private func error(_ call: StorageError.Call, _ name: String, errno: Int32) -> StorageError {
    StorageError(call, store.storage.path + "/" + name, errno: errno)
  }

  private static func content(of file: any StorageFile) throws(StorageError) -> [UInt8] {
    try file.read(64, at: 0)
  }

  /// How many descriptors of this process are of the store's files.
  private var openCount: Int {
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return numbers.filter {
      let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
      return target?.hasPrefix(store.storage.path + "/") ?? false
    }.count
  }

  /// The bug: a writer that was late, after another's write had failed and the store had been closed, wrote
  /// into whatever file had the descriptor's number by then.
  @Test func `a file that was closed takes nothing, although its number is another's`() throws {
    let late = try store.storage.open("late", .createNew)
    late.close()
    let other = try store.storage.open("other", .createNew)
    let refused = SystemErrno.badDescriptor
    let bytes: [UInt8] = [1, 2, 3]
    #expect(throws: error(.write, "late", errno: refused)) { try late.writeAll(bytes.rawSpan, at: 0) }
    #expect(throws: error(.truncate, "late", errno: refused)) { try late.truncate(to: 9) }
    #expect(throws: error(.allocate, "late", errno: refused)) { try late.allocate(0..<9) }
    #expect(throws: error(.sync, "late", errno: refused)) { try late.sync() }
    #expect(throws: error(.read, "late", errno: refused)) { try Self.content(of: late) }
    #expect(try other.byteCount() == 0)
  }

  /// The bug: every segment of a store was open at once, and with as many as the process may open, most verbs
  /// failed.
  @Test func `of many files few are open, and each reads as itself`() throws {
    let files = try files(40)
    for round in 0..<3 {
      for (number, file) in files.enumerated() {
        #expect(try Self.content(of: file) == Self.content(number), "round \(round)")
        #if os(Linux)
          #expect(openCount <= 4)
        #endif
      }
    }
    for file in files { file.close() }
    #expect(throws: error(.read, "file 0", errno: SystemErrno.badDescriptor)) {
      try Self.content(of: files[0])
    }
    #if os(Linux)
      #expect(openCount == 0)
    #endif
  }

  @Test func `threads that read more files than may be open read the right ones, while some are closed`()
    throws
  {
    let files = try files(24)
    let closing = Set([5, 11, 17])
    try Threads.run(6) { thread in
      var random = SeededGenerator(seed: UInt64(thread + 1))
      for round in 0..<2_000 {
        let number = random.pick(0..<files.count)
        if thread == 0, round == 1_000 { for number in closing { files[number].close() } }
        do {
          let content = try Self.content(of: files[number])
          try #require(content == Self.content(number))
        } catch let error as StorageError {
          try #require(error.errno == SystemErrno.badDescriptor && closing.contains(number))
        }
      }
    }
  }

  /// Snapshots go on reading segments that compaction has unlinked (decision 0008).
  @Test func `a file that this process unlinks or replaces stays what it was to whoever holds it`() throws {
    let files = try files(12)
    for number in 0..<6 { try few.unlink("file \(number)") }
    try few.rename("file 11", to: "file 6")
    for (number, file) in files.enumerated() { #expect(try Self.content(of: file) == Self.content(number)) }
    #expect(try Self.content(of: few.open("file 6", .read)) == Self.content(11))
  }

  @Test func `a file that somebody else removed or replaced is not taken for what has its name`() throws {
    let files = try files(12)
    for file in files { _ = try Self.content(of: file) }
    // The first ones are closed by now.
    try store.storage.unlink("file 0")
    try store.storage.rename("file 9", to: "file 1")
    for number in 0...1 {
      let name = "file \(number)"
      let found = #expect(throws: error(.open, name, errno: SystemErrno.stale)) {
        try Self.content(of: files[number])
      }
      #expect(found?.reason.contains("another process") ?? false)
    }
  }

  @Test
  func `what was written is closed for others when it is only read any more, and what is locked is not`()
    throws
  {
    let lock = try few.open("lock", .lock)
    try lock.lock(.exclusive)
    let written = try (0..<20).map { number in
      let file = try few.open("file \(number)", .createNew)
      try file.writeAll(Self.content(number).rawSpan, at: 0)
      try file.sync()
      file.endWriting()
      return file
    }
    let shared = try few.open("lock", .read)
    #expect(throws: error(.lock, "lock", errno: SystemErrno.wouldBlock)) { try shared.lock(.shared) }
    for (number, file) in written.enumerated() { #expect(try Self.content(of: file) == Self.content(number)) }
    #if os(Linux)
      #expect(openCount <= 6)
    #endif
    let other = try store.storage.open("lock", .lock)
    #expect(throws: error(.lock, "lock", errno: SystemErrno.wouldBlock)) { try other.lock(.exclusive) }
    lock.close()
    try other.lock(.exclusive)
  }

  @Test func `a store of many segments is written, read and compacted with few files open`() throws {
    let journal = try Journal.create(in: few, storeID: key(99), options: .small)
    for number in 0..<400 {
      try journal.put(key(number % 150), [UInt8](repeating: UInt8(number & 0xFF), count: 1_500))
    }
    let snapshot = journal.snapshot()
    #expect(journal.statistics.segments.count > 30)
    #if os(Linux)
      // The head, the one before it, and the lock besides.
      #expect(openCount <= 7)
    #endif
    let model = try Dictionary(uniqueKeysWithValues: journal.records().map { ($0, try journal.body(of: $0)) })
    #expect(try journal.compact().removedSegments > 20)
    var buffer = ReadBuffer()
    for (id, body) in model {
      #expect(try journal.body(of: id) == body)
      #expect(try snapshot.read(id, into: &buffer) != nil)
    }
    try journal.close()
    let again = try Journal.open(in: few, options: .small)
    #expect(try again.records().count == model.count)
    try again.close()
    #expect(try Journal.verify(few).report.damages == [])
  }

  /// A reader that has to close segments holds a pin, so that nobody removes them meanwhile.
  @Test func `a reader of more segments than it may open goes on reading what a writer replaces`() throws {
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    for number in 0..<200 { try journal.put(key(number), [UInt8](repeating: 1, count: 1_500)) }
    var options = JournalOptions.small
    options.isReadOnly = true
    let reader = try Journal.open(in: few, options: options)
    for number in 0..<200 { try journal.put(key(number), [UInt8](repeating: 2, count: 1_500)) }
    #expect(try journal.compact().removedSegments > 10)
    for number in 0..<200 {
      #expect(try reader.body(of: key(number)) == [UInt8](repeating: 1, count: 1_500))
    }
    #expect(journal.compactor.state.withLock { !$0.deferred.isEmpty })
    try reader.close()
    _ = try journal.compact()
    #expect(journal.compactor.state.withLock { $0.deferred.isEmpty })
    #expect(try store.storage.names(in: "pins").isEmpty)
    try journal.close()
  }
}
