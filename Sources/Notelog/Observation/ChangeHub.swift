// Who observes which collection.

import NotelogBase
import NotelogFormat

/// The observers of a store.
final class ChangeHub: Sendable {
  private struct Observer {
    weak var subscription: ChangeSubscription?
  }

  private struct State {
    var observers: [Observer] = []
    /// The names of each collection that is stored, or about to be.
    var names: [UInt16: [String]] = [:]
    /// What waits until the name of its collection is known, and what came after it.
    var held: [Told] = []
    var isClosed = false

    /// Whether it isn't known yet what a collection that was written to is called: another process has just
    /// made it.
    func lacksName(of told: Told) -> Bool {
      told.changes?.contains { $0.collection != SchemaRecord.collection && names[$0.collection] == nil }
        ?? false
    }

    /// What was held.
    mutating func release() -> [Told] {
      defer { held = [] }
      return held
    }
  }

  /// What a commit changed; nothing where some did which nobody can name any longer.
  private typealias Told = (sequences: ClosedRange<UInt64>, changes: [FrameHeader]?)

  private let state = Lock(State())

  deinit { close() }

  /// Says what a collection is called, before the first commit that writes to it.
  func name(_ schema: StoredSchema) {
    state.withLock { state in state.names[schema.collection] = [schema.name, schema.firstName] }
  }

  /// What a collection is called, in a message.
  func shownName(of collection: UInt16) -> String {
    state.withLock { $0.names[collection]?.first } ?? "collection \(collection)"
  }

  /// Adds an observer, who is dropped once nobody holds it any more.
  func add(_ subscription: ChangeSubscription, _ watch: Watch) {
    let isClosed = state.withLock { state in
      state.observers.removeAll { $0.subscription == nil }
      state.observers.append(Observer(subscription: subscription))
      return state.isClosed
    }
    if isClosed { return subscription.finish() }
    watch.set { [weak self] sequences, changes in self?.tell(sequences, changes) }
  }

  /// How many observers there are.
  var observerCount: Int { state.withLock { $0.observers.count { $0.subscription != nil } } }

  /// Has those who read values read them anew, although nothing has changed.
  func wake() {
    for subscription in state.withLock({ $0.observers.compactMap(\.subscription) })
    where subscription.rereads { subscription.wake() }
  }

  /// Ends all sequences, and each that is begun later.
  func close() {
    state.withLock { $0.isClosed = true }
    finish()
  }

  /// Ends the sequences that there are.
  func finish() {
    let subscriptions = state.withLock { state in
      defer { state.observers = [] }
      return state.observers.compactMap(\.subscription)
    }
    for subscription in subscriptions { subscription.finish() }
  }

  /// Delivers what a commit changed, or holds it until its collections' names are known.
  private func tell(_ sequences: ClosedRange<UInt64>, _ changes: [FrameHeader]?) {
    let told = (sequences: sequences, changes: changes)
    let ready = state.withLock { state -> [Told] in
      guard !state.held.isEmpty || state.lacksName(of: told) else { return [told] }
      state.held.append(told)
      let heldCount = state.held.reduce(0) { $0 + ($1.changes?.count ?? 0) }
      return heldCount > RecordChanges.recordCountMax ? state.release() : []
    }
    for told in ready { deliver(told) }
  }

  /// Delivers what was held, now that all names are known which anybody knows.
  func settle() {
    for told in state.withLock({ $0.release() }) { deliver(told) }
  }

  private func deliver(_ told: Told) {
    let (subscriptions, names) = state.withLock { state in
      (state.observers.compactMap(\.subscription), state.names)
    }
    for subscription in subscriptions { deliver(told, to: subscription, names) }
  }

  /// Delivers what concerns an observer, in as many parts as one has room for.
  private func deliver(_ told: Told, to subscription: ChangeSubscription, _ names: [UInt16: [String]]) {
    var part = RecordChanges(told.sequences)
    if told.changes == nil { part.isComplete = false }
    for change in told.changes ?? [] where change.collection != SchemaRecord.collection {
      let id = RecordID(change.id)
      guard subscription.id == nil || subscription.id == id else { continue }
      if let wanted = subscription.names {
        guard let known = names[change.collection] else {
          part.isComplete = false
          continue
        }
        guard known.contains(where: wanted.contains) else { continue }
      }
      if part.isFull {
        subscription.deliver(part)
        part = RecordChanges(told.sequences)
      }
      part.add(id, isDeletion: change.kind == .tombstone)
    }
    if !part.isComplete || !part.written.isEmpty || !part.deleted.isEmpty { subscription.deliver(part) }
  }
}

// MARK: - The changes that wait for one observer.

/// A bounded queue between the commits and an observer.
final class ChangeSubscription: Sendable, Opaque {
  /// Whether the observer reads anew at each change, and never asks what it was.
  let rereads: Bool
  /// So many commits wait one by one; what comes on top is put together with the last.
  private var waitingCountMax: Int { rereads ? 1 : 64 }

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

  init(_ names: [String]?, _ id: RecordID?, rereads: Bool = false) {
    self.names = names
    self.id = id
    self.rereads = rereads
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

  /// Has the observer look again, although nothing has changed: no commit has revision 0.
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
  func poll() -> RecordChanges? { state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() } }

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
