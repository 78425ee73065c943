// Crashes at every call while schemas are stored: INV-M4.

@testable import NotelogFormat
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct SchemaFileCrashTests {
  private static var options: Store.Options {
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    return options
  }

  /// A store with one collection, and the calls during which it got another and a further field in the first.
  private func changedStore() throws -> (disk: SimulatedDisk, calls: Range<Int>) {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.options)
    try store.createCollection("note", fields: [.plain("name", .text)])
    let start = disk.callCount
    try store.createCollection("tag", fields: [.sealed("name", .text)])
    try store.createCollection("note", fields: [.plain("name", .text), .plain("more", .integer)])
    return (disk, start..<disk.callCount)
  }

  /// Each collection with the names of its fields.
  private func schemas(of disk: SimulatedDisk, isReadOnly: Bool) throws -> (
    all: [String: [String]], words: String
  ) {
    var options = Self.options
    options.isReadOnly = isReadOnly
    let store = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: options)
    defer { try? store.close() }
    let pairs = store.collections.map { ($0.name, $0.fields.map(\.name)) }
    return (Dictionary(uniqueKeysWithValues: pairs), store.info().schemas)
  }

  @Test func `INV-M4 a crash at any call leaves schemas that any one of the two places is enough for`() throws
  {
    let states: [[String: [String]]] = [
      ["note": ["name"]], ["note": ["name"], "tag": ["name"]], ["note": ["name", "more"], "tag": ["name"]],
    ]
    let (disk, calls) = try changedStore()
    var tried = 0
    var seen: Set<Int> = []
    for call in disk.crashPoints where calls.contains(call) {
      for loss in LossModel.allCases {
        let image = disk.crashImage(after: call, loss, seed: UInt64(call))
        let place = "after \(disk.describe(call: call)), \(loss)"
        tried += 1
        let read = try schemas(of: image, isReadOnly: true)
        let state = try #require(states.firstIndex(of: read.all), "\(place): \(read.all)")
        seen.insert(state)
        // A crash is no damage, and leaves nothing to be said.
        #expect(read.words == "sound", "\(place): \(read.words)")
        let damage = try Store.verify(in: image, unlocking: TemporaryFolder.key).findings.filter(\.isDamage)
        #expect(damage.isEmpty, "\(place): \(damage)")
        // A writer finds the same, and leaves both places so that either is enough.
        #expect(try schemas(of: image, isReadOnly: false).all == states[state], "\(place)")
        let second = image.copy()
        second.replace(SchemaFile.name, with: nil)
        #expect(try schemas(of: second, isReadOnly: true).all == states[state], "\(place), without the file")
        try damageSchemas(in: image)
        let served = try schemas(of: image, isReadOnly: true)
        let all = states[state...].contains(served.all)
        #expect(all && served.words != "sound", "\(place), without the log's records: \(served)")
      }
    }
    #expect(tried >= 100)
    #expect(seen == [0, 1, 2])
  }

  /// Makes the records of all schemas unreadable in a store that was closed in order.
  private func damageSchemas(in disk: SimulatedDisk) throws {
    let store = try Store.open(in: disk, unlocking: nil, options: Self.options)
    let places = try store.journal.listedRecords.map {
      try #require(try store.journal.catalog.location(of: $0))
    }
    try store.journal.checkpoint()
    try store.close()
    for place in places {
      let name = FileName.segment(place.segment)
      var bytes = try #require(disk.contents(name))
      bytes[Int(place.offset) + Layout.frameHeaderByteCount + 30] ^= 1
      disk.replace(name, with: bytes)
    }
  }
}
