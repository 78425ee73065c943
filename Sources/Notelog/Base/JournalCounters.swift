// What an open journal counts, off the hot paths.

import Synchronization

/// Counts since the journal was opened, from 0. What each commit adds is counted where its lock is held anyway (`LogState`).
final class JournalCounters: Sendable {
  /// Syncs that commits, or closing, waited for, and the longest of them in nanoseconds.
  let syncs = Atomic<Int>(0)
  let slowestSync = Atomic<Int>(0)
  /// Runs of compaction that replaced something, and by how much the files got shorter.
  let compactions = Atomic<Int>(0)
  let reclaimedBytes = Atomic<Int>(0)
  /// Transactions that compaction wrote.
  let ownTransactions = Atomic<Int>(0)
  /// How often a log was recovered that was not closed in order.
  let recoveries = Atomic<Int>(0)

  /// Counts a recovery.
  func noteRecovery() { recoveries.add(1, ordering: .relaxed) }

  /// Counts a sync.
  func noteSync(_ duration: Duration) {
    syncs.add(1, ordering: .relaxed)
    let (seconds, attoseconds) = duration.components
    let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
    slowestSync.max(nanoseconds, ordering: .relaxed)
  }
}
