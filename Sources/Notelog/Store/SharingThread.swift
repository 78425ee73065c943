// The one thread that a store has, where it shares the store with other processes.

import Foundation
import NotelogBase
import NotelogStorage
import Synchronization

/// Gives the store's lock back when nothing is written, or another process waits; and takes in what others commit as it comes.
final class SharingThread: Sendable {
  private struct State {
    var follows: Bool
    var isStopped = false
  }

  /// How long it is waited at most for others to change something, before it is looked whether anything else is to be done.
  private static let watchInterval = Duration.milliseconds(100)
  /// After so many failures in a row nothing is tried any more: five seconds at least.
  private static let failureLimit = 250
  /// How often it is looked where nothing tells of changes: for who waits for the lock, and for what others have committed.
  private static let pollIntervals = (lock: Duration.milliseconds(1), log: Duration.milliseconds(20))

  private let journal: Journal
  private let idle: Duration?
  private let watch: (any StorageWatch)?
  /// Tells when somebody begins to wait for the lock.
  private let requests: (any StorageWatch)?
  private let state: Lock<State>
  /// Called when what others commit can't be taken in any more.
  private let failed: @Sendable () -> Void

  init(
    _ journal: Journal, _ storage: any Storage, idle: Duration?, follows: Bool,
    failed: @escaping @Sendable () -> Void
  ) {
    self.journal = journal
    self.idle = idle
    self.failed = failed
    watch = storage.watch("")
    requests = idle == nil ? nil : journal.watchRequests()
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
    var failureCount = 0
    while true {
      let now = state.withLock { $0 }
      if now.isStopped || journal.isClosed { return }
      if let idle, journal.holdsLock {
        let sequence = journal.lastSequence
        if sequence != last { (last, since) = (sequence, clock.now) }
        let rest = idle - (clock.now - since)
        if journal.isLockWanted() || rest <= .zero {
          if (try? journal.suspendIfIdle()) == true { continue }
          pauseThread(Self.pollIntervals.lock)
        } else if let requests {
          requests.wait(min(rest, Self.watchInterval))
        } else {
          pauseThread(min(rest, Self.pollIntervals.lock))
        }
        continue
      }
      since = clock.now
      // Asked for before it is waited: what comes in between wakes at once.
      if now.follows {
        do {
          try journal.refresh()
          failureCount = 0
        } catch {
          failureCount += 1
          if error.code == .damaged || failureCount == Self.failureLimit {
            state.withLock { $0.follows = false }
            failed()
          }
        }
      }
      if let watch { watch.wait(Self.watchInterval) } else { pauseThread(Self.pollIntervals.log) }
    }
  }
}
