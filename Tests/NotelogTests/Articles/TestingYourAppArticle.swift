// The examples of the article "Testing your app with a store", line for line: tests, as an app would have
// them.

import Foundation
import Notelog
import Testing

@Suite struct TestingYourAppArticle {
  struct Sketch: Record {
    var id = RecordID()
    var topic = ""
    var title = ""
    var text = ""
    static let schema = Schema<Sketch>("sketch") {
      Plain("topic", \.topic, indexed: true)
      Sealed("title", \.title)
      Sealed("text", \.text)
    }
  }

  func makePreviewStore() throws -> Store {
    let store = try Store.inMemory()
    try store.putAll([Sketch(topic: "birds", title: "Hoopoe"), Sketch(topic: "trees", title: "Willow")])
    return store
  }

  /// A store in a folder that goes away with the test.
  final class TestStore {
    static let key = Credential.key([UInt8](repeating: 7, count: 32))

    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    let path: String
    let store: Store

    init() throws {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      path = folder + "/app.notelog"
      store = try Store.create(at: path, unlocking: Self.key)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }
  }

  @Test func `a store in memory needs no folder, and a preview's has its records`() throws {
    let store = try Store.inMemory()
    try store.putAll([Sketch(topic: "birds", title: "Hoopoe")])
    #expect(try store.query(Sketch.self).first()?.title == "Hoopoe")
    #expect(try makePreviewStore().query(Sketch.self).count() == 2)
    #expect(try Store.inMemory(unlocking: TestStore.key).query(Sketch.self).count() == 0)
  }

  @Test func `the list opens titles, and nothing else`() throws {
    let test = try TestStore()
    try test.store.putAll((1...20).map { Sketch(title: "Sketch \($0)", text: "long") })
    let before = test.store.metrics.fieldsOpened
    let list = try test.store.query(Sketch.self).limit(10).entries().map { try $0.title }
    #expect(list.count == 10)
    #expect(test.store.metrics.fieldsOpened - before == 10)
  }

  @Test func `a locked store still lists what is plain`() throws {
    let test = try TestStore()
    let sketch = Sketch(title: "Secret")
    try test.store.write { tx in try tx.put(sketch) }
    test.store.lock(.everything)
    #expect(try test.store.query(Sketch.self).count() == 1)
    #expect(throws: NotelogError(.locked, "")) { try test.store.get(Sketch.self, sketch.id)?.title }
  }

  @Test func `what was saved is there after the app was killed`() throws {
    let test = try TestStore()
    try test.store.write { tx in try tx.put(Sketch(title: "Saved")) }
    let archive = FolderArchive(path: test.folder + "/archive")
    try test.store.ship(to: archive)
    try Store.restore(from: archive, to: test.folder + "/after")
    let after = try Store.open(at: test.folder + "/after", unlocking: TestStore.key)
    #expect(try after.query(Sketch.self).entries().map { try $0.title } == ["Saved"])
  }

  @Test func `a damaged record is told, and the others are shown`() throws {
    let test = try TestStore()
    try test.store.putAll((1...3).map { Sketch(topic: "topic \($0)", title: "Sketch \($0)") })
    try test.store.close()
    let segment = URL(filePath: test.path + "/000000000001.journal")
    var bytes = try Data(contentsOf: segment)
    let place = try #require(bytes.lastRange(of: Data("topic 2".utf8)))
    bytes[place.lowerBound] ^= 1
    try bytes.write(to: segment)
    let store = try Store.open(at: test.path, unlocking: TestStore.key)
    #expect(try store.query(Sketch.self).entries().count == 2)
    #expect(store.damage.verdict == .contained)
  }

  @Test func `a store with a password's and a device's keys leaves nothing behind in the user's folders`()
    throws
  {
    let test = try TestStore()
    let folder = test.folder
    var options = Store.Options()
    options.passwordWork = 14
    options.deviceSecret = .file(folder + "/device-secret")
    let store = try Store.create(
      at: folder + "/password.notelog", unlocking: .password("quick"), options: options)
    try store.createKey("here", .alwaysThisDeviceOnly)
    #expect(FileManager.default.fileExists(atPath: folder + "/device-secret"))
    try store.close()
  }

  @Test func `a store that an older version made is opened with today's types`() throws {
    let test = try TestStore()
    try test.store.putAll((1...3).map { Sketch(title: "Sketch \($0)") })
    try test.store.close()
    let copy = test.folder + "/copy.notelog"
    try FileManager.default.copyItem(atPath: test.path, toPath: copy)
    var options = Store.Options()
    options.recordTypes = [Sketch.self]
    let store = try Store.open(at: copy, unlocking: TestStore.key, options: options)
    for entry in try store.query(Sketch.self).entries() { _ = try entry.record() }
    #expect(store.metrics.fieldsOpened == 6)
    try store.close()
  }
}
