// Who is told of transactions, however many there are.

@testable import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Synchronization
import Testing

@Suite struct WatchTests {
  /// A function that is kept under a lock was wrapped in two more each time it was reached: a store that was
  /// observed for some ten thousand commits ran out of stack.
  @Test func `telling a watcher goes no deeper the more often it is done`() {
    let watch = Watch()
    let told = Mutex((count: 0, last: UInt64(0)))
    watch.set { sequences, changes in
      told.withLock { $0 = ($0.count + (changes?.count ?? 0), sequences.upperBound) }
    }
    var batch = Batch()
    batch.put(key(1), collection: 1, bodyByteCount: 8) { $0.store(UInt64(1), at: 0) }
    for sequence in 1...300_000 { watch.tell(UInt64(sequence), batch.frames) }
    #expect(told.withLock { $0.count } == 300_000 && told.withLock { $0.last } == 300_000)
  }

  /// The bug: so was what is told of each look at what others have committed. A process that looked ten times
  /// a second ran out of stack within hours.
  @Test func `following goes no deeper the more often it is done`() throws {
    let disk = SimulatedDisk()
    let writer = try Journal.create(in: disk, storeID: key(99), options: .small)
    var options = JournalOptions.small
    options.isReadOnly = true
    let reader = try Journal.open(in: disk, options: options)
    let count = Atomic(0)
    reader.followed.withLock {
      $0 = [
        {
          count.add(1, ordering: .relaxed)
          return false
        }
      ]
    }
    for _ in 0..<100_000 { try reader.refresh() }
    #expect(count.load(ordering: .relaxed) == 100_000)
    try reader.close()
    try writer.close()
  }
}
