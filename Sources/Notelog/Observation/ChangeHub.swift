// Who observes which collection.

import NotelogBase
import NotelogJournal

/// The observers of a store.
final class ChangeHub: Sendable {
  private struct Observer {
    weak var subscription: ChangeSubscription?
  }

  private struct State {
    var observers: [Observer] = []
    /// The names of each collection that is stored, or about to be.
    var names: [UInt16: [String]] = [:]
    var isClosed = false
  }

  private let state = Lock(State())

  deinit { close() }

  /// Says what a collection is called, before the first commit that writes to it.
  func name(_ schema: StoredSchema) {
    state.withLock { state in state.names[schema.collection] = [schema.name, schema.firstName] }
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

  /// Delivers what a commit changed; where nothing is given, that some did which nobody can name any longer.
  private func tell(_ sequences: ClosedRange<UInt64>, _ changes: [ChangedRecord]?) {
    let (subscriptions, names) = state.withLock { state in
      (state.observers.compactMap(\.subscription), state.names)
    }
    for subscription in subscriptions {
      var told = RecordChanges(sequences)
      guard let changes else {
        told.isComplete = false
        subscription.deliver(told)
        continue
      }
      for change in changes where change.collection != SchemaRecord.collection {
        let id = RecordID(change.id)
        guard subscription.id == nil || subscription.id == id else { continue }
        if let wanted = subscription.names {
          guard let known = names[change.collection] else {
            // Another process has just made the collection, and what it is called is not known here yet.
            told.isComplete = false
            continue
          }
          guard known.contains(where: wanted.contains) else { continue }
        }
        told.take(id, isDeletion: change.isDeletion)
      }
      if !told.isComplete || !told.written.isEmpty || !told.deleted.isEmpty { subscription.deliver(told) }
    }
  }
}
