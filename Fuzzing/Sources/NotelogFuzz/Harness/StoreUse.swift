// What is done with a store that could be opened, whatever its files are worth.

@testable import NotelogBase
@testable import NotelogStorage
@testable import NotelogFormat
@testable import Notelog

/// Reading, going on, compacting and closing.
enum StoreUse {
  static func open(_ disk: MemoryStorage, isReadOnly: Bool = false) throws -> Journal {
    var options = SampleStore.options
    options.isReadOnly = isReadOnly
    return try Journal.open(in: disk, options: options)
  }

  /// Reads whatever there is; each may fail.
  static func readAll(_ journal: Journal) {
    var buffer = ReadBuffer()
    for id in (try? journal.snapshot().records()) ?? [] { _ = try? journal.records.read(id, into: &buffer) }
    for id in (try? journal.catalog.listedRecords()) ?? [] {
      _ = try? journal.records.read(id, into: &buffer)
    }
    for byte in UInt8.min...UInt8.max { _ = try? journal.records.read(SampleStore.id(byte), into: &buffer) }
    for number in UInt32(0)..<3 { _ = try? journal.readChunk(number, of: SampleStore.id(100), into: &buffer) }
    for order in journal.storedOrders { readAll(order, journal) }
    _ = journal.statistics
  }

  private static func readAll(_ order: StoredOrder, _ journal: Journal) {
    var keyCount = 0
    if order.forEachBlock({ key, count in keyCount += key.byteCount / StoredOrder.keyByteCount * count }) {
      expect(keyCount == order.keyCount, "an order's directory speaks of other keys than its head")
    }
    for block in 0..<order.blockCount { _ = order.read(block) { _ in } }
    _ = try? journal.snapshot().forEachEnvelope(in: 1, behind: order) { _, _ in true }
  }

  /// Opens the store for writing; what it then acknowledges as durable must be there afterwards.
  static func goOn(in disk: MemoryStorage) throws {
    let journal = try open(disk)
    readAll(journal)
    var batch = Batch()
    let id = SampleStore.id(101)
    batch.put(id, collection: 3, bodyByteCount: 8) { $0.store(UInt64(0x6E6F_7465), at: 0) }
    try journal.commit(&batch)
    _ = try? journal.compact()
    try? journal.checkpoint()
    try journal.close()
    do {
      let again = try open(disk)
      var buffer = ReadBuffer()
      let found = try again.records.read(id, into: &buffer)
      expect(found != nil, "what was committed is not there")
      try again.close()
    } catch { fatalError("a store that was closed in order does not open: \(error)") }
  }
}
