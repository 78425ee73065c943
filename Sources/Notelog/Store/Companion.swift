// The one thread that a store has, where it shares the store with other processes.

import Foundation
import NotelogBase
import NotelogJournal
import NotelogStorage
import Synchronization

/// Gives the store's lock back when nothing is written, or another process waits; and takes in what others commit as it comes.
final class Companion: Sendable {
  private struct State {
    var follows: Bool
    var isStopped = false
  }

  /// How often somebody is looked for who waits for the lock, while this process has it.
  private static let lockInterval = Duration.milliseconds(1)
  /// How long it is waited at most for others to change something, before it is looked whether anything else is to be done.
  private static let watchInterval = Duration.milliseconds(100)

  private let journal: Journal
  private let idle: Duration?
  private let watch: (any StorageWatch)?
  private let state: Lock<State>

  init(_ journal: Journal, _ storage: any Storage, idle: Duration?, follows: Bool) {
    self.journal = journal
    self.idle = idle
    watch = storage.watch()
    state = Lock(State(follows: follows))
    let thread = Thread { self.run() }
    thread.name = "notelog"
    thread.start()
  }

  /// Ends the thread before long.
  func stop() { state.withLock { $0.isStopped = true } }

  /// Has what others commit taken in from now on.
  func follow() { state.withLock { $0.follows = true } }

  private func run() {
    let clock = ContinuousClock()
    var (last, since) = (UInt64(0), clock.now)
    while true {
      let now = state.withLock { $0 }
      if now.isStopped || journal.isClosed { return }
      if let idle, journal.holdsLock {
        let sequence = journal.lastSequence
        if sequence != last { (last, since) = (sequence, clock.now) }
        if journal.isLockWanted() || clock.now - since >= idle { _ = try? journal.suspendIfIdle() }
        pauseThread(min(Self.lockInterval, max(idle, .microseconds(100))))
        continue
      }
      since = clock.now
      // Asked for before it is waited: what comes in between wakes at once.
      if now.follows { _ = try? journal.refresh() }
      if let watch { watch.wait(Self.watchInterval) } else { pauseThread(.milliseconds(20)) }
    }
  }
}
