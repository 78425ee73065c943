// Who is told of transactions, however many there are.

@testable import NotelogBase
@testable import Notelog
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
}
