// Types whose collection is not stored yet: they have no records, and never another type's.

import Foundation
import NotelogBase
@testable import Notelog
import NotelogStorage
import NotelogTestSupport
import Testing

private struct Folder: Record {
  var id = RecordID()
  var name = ""
  static let schema = Schema<Folder>("folder") { Plain("name", \.name, indexed: true) }
}

private struct Memo: Record {
  var id = RecordID()
  var text = ""
  var secret = ""
  static let schema = Schema<Memo>("memo") {
    Plain("text", \.text, indexed: true)
    Sealed("secret", \.secret)
  }
}

/// A store's folder that does something before it syncs a file: then what is being committed is visible
/// already.
private final class SyncingStorage: ForwardingStorage {
  let base: any Storage
  let beforeSync = Lock<(@Sendable () -> Void)?>(nil)

  init(_ base: any Storage) { self.base = base }

  func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    File(base: try base.open(name, mode), storage: self)
  }

  private final class File: ForwardingFile {
    let base: any StorageFile
    let storage: SyncingStorage

    init(base: any StorageFile, storage: SyncingStorage) { (self.base, self.storage) = (base, storage) }

    func sync() throws(StorageError) {
      storage.beforeSync.withLock { $0 }?()
      try base.sync()
    }
  }
}

@Suite struct UnstoredTypeTests {
  /// What every way of reading finds of a type.
  private static func found(_ store: Store) throws -> [RecordID] {
    let query = store.query(Memo.self)
    let ids = try query.entries().map(\.id)
    #expect(try query.count() == ids.count && query.search().ids() == ids)
    #expect(try query.where(\.text, is: "memo").entries().map(\.id) == ids)
    #expect(try query.where(\.secret, is: "secret").entries().map(\.id) == ids)
    #expect(try query.sorted(by: \.text).limit(5).entries().map(\.id) == ids)
    #expect(try query.max(of: \.text) == (ids.isEmpty ? nil : "memo"))
    var scanned: [RecordID] = []
    try store.scan(Memo.self) { entry in
      scanned.append(entry.id)
      return true
    }
    #expect(scanned == ids)
    return ids
  }

  /// The bug: a type that was not stored yet was read by the number that the next collection gets, and
  /// another type got that number in a commit which was visible before its schemas were known.
  @Test func `a query beside the first write finds the records of its type, and no other's`() throws {
    let folder = try TemporaryFolder()
    let storage = SyncingStorage(try Store.folder(folder.path))
    let store = try Store.create(in: storage, unlocking: TemporaryFolder.key, options: Store.Options())
    let handle = try store.field(\Memo.text)
    #expect(try Self.found(store).isEmpty)
    let (shelf, memo) = (Folder(name: "memo"), Memo(text: "memo", secret: "secret"))
    let seen = Lock<[Result<[RecordID], any Error>]>([])
    storage.beforeSync.withLock {
      $0 = {
        guard (try? store.journal.revision(of: shelf.id.bytes)) != nil else { return }
        let result = Result { () throws -> [RecordID] in
          var buffer = ValueBuffer()
          #expect(try store.get(Memo.self, shelf.id) == nil)
          #expect(try !store.read(handle, of: shelf.id, into: &buffer))
          #expect(try store.get(handle, of: memo.id, using: &buffer) == "memo")
          return try Self.found(store)
        }
        seen.withLock { $0.append(result) }
      }
    }
    try store.write { tx in
      try tx.put(shelf)
      try tx.put(memo)
    }
    storage.beforeSync.withLock { $0 = nil }
    let results = seen.withLock { $0 }
    #expect(!results.isEmpty)
    for result in results { #expect(try result.get() == [memo.id]) }
    #expect(try Self.found(store) == [memo.id])
    #expect(store.damage.verdict == .sound)
    try store.close()
  }

  /// The bug, as an app met it: what a query showed when it was asked beside that commit it showed for ever.
  @Test func `a query's updates that begin before the first write show the records of their type`()
    async throws
  {
    for _ in 0..<5 {
      let folder = try TemporaryFolder()
      let store = try folder.create()
      var updates = store.query(Memo.self).updates().makeAsyncIterator()
      #expect(try await updates.next()?.entries.isEmpty == true)
      let memo = Memo(text: "memo")
      try await store.write { tx in
        try tx.put(Folder(name: "folder"))
        try tx.put(memo)
      }
      #expect(try await updates.next()?.entries.map(\.id) == [memo.id])
      #expect(store.damage.verdict == .sound)
      try await store.close()
    }
  }

  /// A follower makes records visible before it has read the schemas that came with them.
  @Test func `what another process commits is found from the snapshot on that has it`() throws {
    let folder = try TemporaryFolder()
    let writer = try folder.create()
    var options = Store.Options()
    options.isReadOnly = true
    let reader = try Store.open(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    #expect(try Self.found(reader).isEmpty)
    let memo = Memo(text: "memo", secret: "secret")
    try writer.write { tx in
      try tx.put(Folder(name: "memo"))
      try tx.put(memo)
    }
    let follow = try #require(reader.journal.followed.withLock { $0.first })
    let counts = Lock<[Int]>([])
    let group = DispatchGroup()
    let isFirst = Flag(true)
    reader.journal.followed.withLock {
      $0 = [
        {
          // With another keyring it follows once more.
          guard isFirst.exchange(false) else { return follow() }
          let snapshot = reader.snapshot()
          group.enter()
          Thread {
            let count = try? snapshot.query(Memo.self).count()
            counts.withLock { $0.append(count ?? -1) }
            group.leave()
          }.start()
          // While others can't be told, no other type's record is found.
          #expect((try? reader.query(Memo.self).count()) == 0)
          return follow()
        }
      ]
    }
    try reader.refresh()
    group.wait()
    #expect(counts.withLock { $0 } == [1])
    #expect(try Self.found(reader) == [memo.id])
    try reader.close()
    try writer.close()
  }

  /// Whoever drops a schema leaves records behind: they are of another type than the next one.
  @Test func `a new type doesn't get the number of records whose schema is gone`() throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let shelf = Folder(name: "memo")
    try store.write { tx in try tx.put(shelf) }
    var batch = Batch()
    batch.delete(SchemaRecord.key(1), collection: SchemaRecord.collection)
    _ = try store.journal.commit(&batch)
    try store.close()
    try FileManager.default.removeItem(atPath: folder.path + "/schemas")
    store = try folder.open()
    #expect(store.collections.isEmpty)
    let memo = Memo(text: "memo", secret: "secret")
    try store.acceptSchemas()
    try store.write { tx in try tx.put(memo) }
    #expect(try Self.found(store) == [memo.id] && store.get(Memo.self, shelf.id) == nil)
    #expect(try store.collectionsWithoutSchema() == [1: 1])
    try store.close()
  }

  /// A frame that says so is none: otherwise whoever can write to the files gives any new type its first
  /// records.
  @Test func `no record has the number that stands for no collection`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var batch = Batch()
    batch.put(RecordID().bytes, collection: CollectionPlan.unstored, bodyByteCount: 4) {
      $0.store(1 as UInt8, at: 0)
    }
    _ = try store.journal.commit(&batch)
    #expect(try Self.found(store).isEmpty)
    try store.close()
  }
}
