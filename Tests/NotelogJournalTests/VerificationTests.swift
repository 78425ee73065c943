// What verification looks into: each record's newest version, once, on however many threads.

@testable import Notelog
@testable import NotelogFormat
@testable import NotelogStorage
import NotelogBase
import NotelogTestSupport
import Testing

@Suite struct VerificationTests {
  /// What a verification looked into: the revisions of each record.
  private func seen(_ store: TemporaryStore, threadCount: Int) throws -> [ID16: [UInt64]] {
    let seen = Lock<[ID16: [UInt64]]>([:])
    let verification = try Journal.verifyOnce(
      store.storage, threadCount: threadCount,
      visit: { inspect in
        inspect { record, _, _ in seen.withLock { $0[record.id, default: []].append(record.revision) } }
      })
    #expect(verification.report.damages == [])
    return seen.withLock { $0 }
  }

  /// Some segments hold nothing that is dead, and in them nothing is looked up; others do.
  @Test(arguments: [1, 2, 3]) func `each record's newest version is looked into, once`(threadCount: Int)
    throws
  {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    for number in 0..<400 { try journal.put(key(number), [UInt8](repeating: 1, count: 200)) }
    // Of the first quarter there are two versions, segments apart, and of the next ten in one and the same
    // segment.
    for number in 0..<100 { try journal.put(key(number), [UInt8](repeating: 2, count: 200)) }
    for _ in 0..<2 {
      for number in 100..<110 { try journal.put(key(number), [UInt8](repeating: 3, count: 20)) }
    }
    // Two versions in one transaction: the later one counts.
    var batch = Batch()
    for _ in 0..<2 { batch.put(key(110), collection: 1, bodyByteCount: 8) { $0.store(UInt64(4), at: 0) } }
    try journal.commit(&batch, .flushed)
    try journal.delete(key(399), .flushed)
    try journal.close()
    let seen = try seen(store, threadCount: threadCount)
    #expect(seen.count == 399)
    for (id, revisions) in seen {
      let number = Int(id.low)
      let newest =
        number < 100 ? 401 + number : number < 110 ? 411 + number : number == 110 ? 521 : number + 1
      #expect(revisions == [UInt64(newest)], "record \(number)")
    }
  }

  /// A store of many segments.
  private func manySegments() throws -> TemporaryStore {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    for number in 0..<2000 { try journal.put(key(number), [UInt8](repeating: 1, count: 200)) }
    try journal.close()
    return store
  }

  @Test(arguments: [1, 2, 5]) func `progress is told on the caller's thread, and comes to all there is`(
    threadCount: Int
  ) throws {
    let store = try manySegments()
    let caller = threadIdentity
    var told: [(done: Int, total: Int, isCaller: Bool)] = []
    let verification = try Journal.verifyOnce(
      store.storage, threadCount: threadCount,
      progress: {
        told.append(($0, $1, threadIdentity == caller))
        return true
      })
    #expect(verification.segmentCount > 10)
    #expect(told.last?.done == verification.byteCount)
    for (one, next) in zip(told, told.dropFirst()) { #expect(one.done <= next.done) }
    for (_, total, isCaller) in told { #expect(isCaller && total == verification.byteCount) }
  }

  @Test(arguments: [1, 2, 5]) func `one that is told to stop looks into little more`(threadCount: Int) throws
  {
    let store = try manySegments()
    let inspected = Lock(0)
    var tellings = 0
    #expect(throws: NotelogError(.cancelled, "")) {
      try Journal.verifyOnce(
        store.storage, threadCount: threadCount,
        progress: { (_, _) in
          tellings += 1
          return false
        },
        visit: { inspect in inspect { _, _, _ in inspected.withLock { $0 += 1 } } })
    }
    #expect(tellings == 1)
    // Two segments a thread, of some seventy records each.
    #expect(inspected.withLock { $0 } <= 2 * threadCount * 75)
  }

  /// What the medium does not give is a finding; any other error ends it.
  @Test(arguments: [1, 3]) func `that something can't be read is told to one who would rather stop, too`(
    threadCount: Int
  ) throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<500 { try journal.put(key(number), [UInt8](repeating: 1, count: 200), .buffered) }
    try journal.close()
    let failure = StorageError(.read, "", errno: SystemErrno.stale)
    var failureCount = 0
    var passing = 0
    while true {
      disk.forgetFaults()
      disk.plan(Fault(.error(SystemErrno.stale), of: [.read], passing: passing, lasts: true))
      let firedCount = disk.firedFaults.count
      do throws(NotelogError) {
        _ = try Journal.verifyOnce(
          disk, threadCount: threadCount, progress: { _, _ in disk.firedFaults.count == firedCount })
        break
      } catch { #expect(error == NotelogError(failure)) }
      // Whoever is at work may come upon it too, and so may what is read before and not needed: the
      // checkpoint, and where the store was last closed. Nobody begins anything more.
      #expect(disk.firedFaults.count - firedCount <= threadCount + 2)
      failureCount += 1
      passing += 5
    }
    #expect(failureCount > 10)
  }
}
