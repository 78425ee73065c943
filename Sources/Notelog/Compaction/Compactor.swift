// What compaction remembers between its steps. FORMAT.md §24.

import NotelogBase
import Synchronization

/// The state of compaction in an open journal.
final class Compactor: Sendable {
  struct State: ~Copyable, Sendable {
    /// A compaction that ran out of its budget.
    var unfinished: Compaction?
    /// Segments that are damaged: they are set aside, and stay as they are.
    var damaged: Set<UInt32> = []
    /// Replaced segments whose files are still there because a pin holds them, by what took their place.
    var deferred: [UInt32: UInt32] = [:]
    /// Whether the disk is full, and the reserve was given up: then only what little it holds can be written.
    var isTight = false
    /// The highest sequence number in each finished segment, as far as anybody asked.
    var lastSequences: [UInt32: UInt64] = [:]
  }

  /// One thread compacts at a time.
  private let isBusy = Monitor(false)
  let state = Lock(State())
  /// The bytes that compaction wrote since the journal was opened.
  let writtenByteCount = Atomic<Int>(0)
  /// The bytes that transactions brought since then.
  let storedByteCount = Atomic<Int>(0)
  /// The bytes written by transactions since somebody last looked whether compaction is due.
  private let unwatchedByteCount = Atomic<Int>(0)
  /// How many threads do what writers otherwise do a share of.
  let keeperCount = Atomic<Int>(0)
  /// When compaction last found nothing left that was worth it.
  let uselessAt = Lock<Uselessness?>(nil)

  /// What the store wasted, and what had died in it, when there was nothing to gain.
  struct Uselessness {
    let wastedByteCount: Int
    let diedByteCount: Int
    /// Whether the head was finished, and nothing under way, when that was found.
    let isOfAll: Bool
  }

  /// Waits for whoever compacts, and begins.
  func enter() { isBusy.withLock(when: { !$0 }) { $0 = true } }

  /// Waits for whoever compacts, and begins, unless it turns out that there is no need to.
  ///
  /// - Returns: Whether compaction is the caller's now.
  func enter(unless isNeedless: () -> Bool) -> Bool {
    isBusy.withLock(when: { !$0 || isNeedless() }) { isBusy in
      if isBusy { return false }
      isBusy = true
      return true
    }
  }

  /// Begins if nobody compacts.
  func enterIfFree() -> Bool {
    isBusy.withLock(waking: .nobody) { isBusy in
      defer { isBusy = true }
      return !isBusy
    }
  }

  /// Lets others compact.
  func leave() { isBusy.withLock { $0 = false } }

  /// Has those who wait look again whether they still need to: something was freed.
  func noteFreed() { isBusy.withLock { _ in } }

  /// Counts what a transaction wrote.
  ///
  /// - Returns: Whether it is time to look again whether compaction is due.
  func note(_ byteCount: Int, every interval: Int) -> Bool {
    storedByteCount.add(byteCount, ordering: .relaxed)
    guard unwatchedByteCount.add(byteCount, ordering: .relaxed).newValue >= interval else { return false }
    unwatchedByteCount.store(0, ordering: .relaxed)
    return true
  }

  /// Gives up what was not finished.
  func abandon() {
    if let unfinished = state.withLock({ $0.unfinished.take() }) { unfinished.abandon() }
  }
}
