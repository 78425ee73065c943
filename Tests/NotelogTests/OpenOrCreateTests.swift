// Opening a store or creating it: one of several who do so at once creates it, and nothing that is there is
// created over (FORMAT.md 3, `creating` and `created`).

import Foundation
import NotelogBase
@testable import NotelogStorage
import NotelogTestSupport
import Synchronization
import Testing

@testable import Notelog

/// A disk as one process sees it that waits for another: it says when that holds the mark.
private final class WaitersDisk: ForwardingStorage {
  let base: any Storage
  let refusals = DispatchSemaphore(value: 0)

  init(_ base: any Storage) { self.base = base }

  func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    let file = try base.open(name, mode)
    return name == "creating" ? Mark(file, refusals) : file
  }

  private final class Mark: ForwardingFile {
    let base: any StorageFile
    private let refusals: DispatchSemaphore

    init(_ base: any StorageFile, _ refusals: DispatchSemaphore) {
      (self.base, self.refusals) = (base, refusals)
    }

    func lock(_ kind: StorageLockKind) throws(StorageError) {
      do { try base.lock(kind) } catch {
        refusals.signal()
        throw error
      }
    }
  }
}

@Suite struct OpenOrCreateTests {
  private static let key = TemporaryFolder.key

  private static func options(waiting: Duration = .zero) -> Store.Options {
    var options = Store.Options()
    options.lockTimeout = waiting
    return options
  }

  private static func openOrCreate(
    _ disk: any Storage, waiting: Duration = .zero, _ fill: (Store) throws -> Void = { _ in }
  ) throws -> Store {
    try Store.create(
      in: disk, unlocking: key, options: options(waiting: waiting), opensExisting: true, filling: fill)
  }

  @Test func `the first time it is created and filled, and then opened`() async throws {
    let folder = try TemporaryFolder()
    let note = Note(title: "first")
    for fillCount in [1, 0, 0] {
      let count = Atomic(0)
      let store = try await Store.openOrCreate(at: folder.path, unlocking: Self.key) { store in
        count.add(1, ordering: .relaxed)
        try store.write { tx in try tx.put(note) }
      }
      #expect(count.load(ordering: .relaxed) == fillCount)
      #expect(try store.get(Note.self, note.id)?.title == "first")
      try await store.close()
    }
    func open(_ credential: Credential) throws {
      try Store.openOrCreate(at: folder.path, unlocking: credential).close()
    }
    #expect(throws: NotelogError(.wrongPassword, "")) { try open(.key([UInt8](repeating: 1, count: 32))) }
    try open(Self.key)
    #expect(throws: NotelogError(.invalidArgument, "")) {
      try Store.openOrCreate(at: folder.path + "/none/store", unlocking: Self.key)
    }
    #expect(throws: NotelogError(.invalidArgument, "")) {
      try Store.openOrCreate(at: folder.path + "/keyring", unlocking: Self.key)
    }
  }

  @Test func `nothing that is there is created over`() throws {
    let sound = SimulatedDisk()
    let store = try Self.openOrCreate(sound) { _ = try $0.putAll([Note(title: "kept")]) }
    try store.close()
    func refuses(_ code: NotelogError.Code, _ change: (SimulatedDisk) -> Void) {
      let disk = sound.copy()
      change(disk)
      let before = disk.fileNames.filter { $0 != "lock" }
      #expect(throws: NotelogError(code, "")) {
        try Self.openOrCreate(disk) { _ in Issue.record("it was created") }
      }
      #expect(disk.fileNames.filter { $0 != "lock" } == before)
    }
    refuses(.alreadyExists) { $0.replace("000000000001.journal", with: nil) }
    refuses(.alreadyExists) { disk in
      for name in disk.fileNames { disk.replace(name, with: name == "keyring" ? disk.contents(name) : nil) }
    }
    refuses(.alreadyExists) { disk in
      for name in disk.fileNames { disk.replace(name, with: nil) }
      disk.replace("letter", with: [1])
    }
    refuses(.damaged) { disk in
      for name in ["keyring", "keyring.copy"] { disk.replace(name, with: [1]) }
    }
    // What somebody renamed, or copied without it, is a store.
    for mark in [nil, Array("notelog: a store is being made in this folder\n".utf8)] {
      let disk = sound.copy()
      disk.replace("created", with: nil)
      disk.replace("creating", with: mark)
      let store = try Self.openOrCreate(disk) { _ in Issue.record("it was created") }
      #expect(try store.query(Note.self).count() == 1)
      try store.close()
    }
  }

  @Test func `after a crash at any call of a creation there is a whole store, filled once`() throws {
    let note = Note(title: "first")
    func fill(_ store: Store) throws { try store.write { tx in try tx.put(note) } }
    let disk = SimulatedDisk()
    try Self.openOrCreate(disk, fill).close()
    var created = 0
    for call in disk.crashPoints {
      for loss in LossModel.allCases {
        let image = disk.crashImage(after: call, loss, seed: UInt64(call))
        let store = try Self.openOrCreate(image) { store in
          created += 1
          try fill(store)
        }
        #expect(try store.query(Note.self).count() == 1, "after \(disk.describe(call: call)), \(loss)")
        try store.close()
        #expect(try Store.verify(in: image, unlocking: Self.key).verdict == .sound)
      }
    }
    #expect(created > 0 && created < disk.crashPoints.count * LossModel.allCases.count)
  }

  @Test(arguments: [false, true])
  func `who comes while another creates the store waits, and opens it, or creates it where that fails`(
    fails: Bool
  ) throws {
    struct Refused: Error {}
    let disk = SimulatedDisk()
    let waiting = WaitersDisk(disk)
    let isSecondFilled = Atomic(false)
    try Threads.run(2) { number in
      if number == 0 {
        do {
          try Self.openOrCreate(disk) { store in
            // Without time to wait, it is refused at once.
            #expect(throws: NotelogError(.busy, "")) { try Self.openOrCreate(disk) }
            waiting.refusals.wait()
            if fails { throw Refused() }
          }.close()
          #expect(!fails)
        } catch is Refused { #expect(fails) }
      } else {
        // Not before the other has begun.
        while disk.contents("creating") == nil { Threads.yield() }
        let store = try Self.openOrCreate(waiting, waiting: .seconds(600)) { _ in
          isSecondFilled.store(true, ordering: .relaxed)
        }
        try store.close()
      }
    }
    #expect(isSecondFilled.load(ordering: .relaxed) == fails)
    #expect(try Store.verify(in: disk, unlocking: Self.key).verdict == .sound)
  }

  @Test(arguments: 0..<5)
  func `of many at once one creates it, and all write to the same store`(_: Int) throws {
    let folder = try TemporaryFolder()
    let path = folder.path
    let fillCount = Atomic(0)
    let ids = Lock<Set<RecordID>>([])
    try Threads.run(6) { number in
      var options = Self.options(waiting: .seconds(600))
      options.writing = .leased(idle: .milliseconds(1))
      let store = try Store.openOrCreate(at: path, unlocking: Self.key, options: options) { _ in
        fillCount.add(1, ordering: .relaxed)
      }
      ids.withLock { _ = $0.insert(store.id) }
      try store.write { tx in try tx.put(Note(title: "\(number)")) }
      try store.close()
    }
    #expect(fillCount.load(ordering: .relaxed) == 1 && ids.withLock { $0.count } == 1)
    let store = try folder.open()
    #expect(try store.query(Note.self).count() == 6)
    try store.close()
  }

  /// The bug: whoever opened the mark before it was removed locked a file without a name, kept nobody out
  /// with it, and cleared what the next one was making.
  @Test func `the mark of one who gave up meanwhile keeps nobody out, and nothing is removed`() throws {
    final class Late: ForwardingStorage {
      let base: any Storage
      init(_ base: any Storage) { self.base = base }

      func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
        let file = try base.open(name, mode)
        if name == "creating" {
          try base.unlink(name)
          let next = try base.open(name, .createNew)
          try next.writeAll(Array("notelog: a store is being made in this folder\n".utf8), at: 0)
          _ = try base.open("keyring", .createNew)
        }
        return file
      }
    }
    let folder = try TemporaryFolder()
    let storage = SystemStorage(path: folder.path)
    try storage.makeStoreFolder()
    #expect(throws: NotelogError(.busy, "")) { try Self.openOrCreate(Late(storage)) }
    #expect(try storage.names(in: "").sorted() == ["creating", "keyring"])
  }

  @Test func `for reading none is created`() throws {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    options.isReadOnly = true
    #expect(throws: NotelogError.self) {
      try Store.openOrCreate(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    }
    #expect(!FileManager.default.fileExists(atPath: folder.path))
    try folder.create().close()
    try Store.openOrCreate(at: folder.path, unlocking: TemporaryFolder.key, options: options).close()
  }
}
