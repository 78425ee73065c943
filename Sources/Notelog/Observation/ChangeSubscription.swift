// The changes that wait for one observer.

import NotelogBase

/// A bounded queue between the commits and an observer.
final class ChangeSubscription: Sendable {
  /// So many commits wait one by one; what comes on top is put together with the last.
  let waitingCountMax: Int

  private struct State {
    var waiting: [RecordChanges] = []
    var observers: [(number: UInt64, continuation: CheckedContinuation<RecordChanges?, Never>)] = []
    var nextNumber: UInt64 = 0
    var isFinished = false
  }

  /// The names that the collection goes by; nil for all collections.
  let names: [String]?
  /// The record that is observed; nil for all.
  let id: RecordID?
  private let state = Lock(State())

  init(_ names: [String]?, _ id: RecordID?, waitingCountMax: Int = 64) {
    self.names = names
    self.id = id
    self.waitingCountMax = waitingCountMax
  }

  /// How many commits wait, or how many put together.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Hands changes to an observer that waits, or keeps them for the next.
  func deliver(_ changes: RecordChanges) {
    let observer = state.withLock { state -> CheckedContinuation<RecordChanges?, Never>? in
      if !state.observers.isEmpty { return state.observers.removeFirst().continuation }
      guard !state.isFinished else { return nil }
      if state.waiting.count < waitingCountMax {
        state.waiting.append(changes)
      } else {
        state.waiting[state.waiting.count - 1].merge(changes)
      }
      return nil
    }
    observer?.resume(returning: changes)
  }

  /// Has the observer look again, although nothing has changed.
  func wake() { deliver(RecordChanges(0...0)) }

  /// Ends the sequence behind what waits.
  func finish() {
    let observers = state.withLock { state in
      state.isFinished = true
      defer { state.observers = [] }
      return state.observers.map { $0.continuation }
    }
    for observer in observers { observer.resume(returning: nil) }
  }

  /// What waits first; nil where nothing does.
  func poll() -> RecordChanges? {
    state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
  }

  /// The next changes; nil at the end, and where the task is cancelled.
  func next() async -> RecordChanges? {
    let number = state.withLock { state in
      defer { state.nextNumber += 1 }
      return state.nextNumber
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let ready = state.withLock { state -> RecordChanges?? in
          if !state.waiting.isEmpty { return .some(state.waiting.removeFirst()) }
          // A task cancelled before it got here is not told a second time.
          if state.isFinished || Task.isCancelled { return .some(nil) }
          state.observers.append((number, continuation))
          return nil
        }
        if let ready { continuation.resume(returning: ready) }
      }
    } onCancel: {
      let observer = state.withLock { state -> CheckedContinuation<RecordChanges?, Never>? in
        guard let index = state.observers.firstIndex(where: { $0.number == number }) else { return nil }
        return state.observers.remove(at: index).continuation
      }
      observer?.resume(returning: nil)
    }
  }
}
