// Who observes which collection.

import NotelogBase

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
    var heldCount = 0
    var isClosed = false

    /// Whether it isn't known yet what a collection that was written to is called: another process has just made it.
    func lacksName(of told: Told) -> Bool {
      told.changes?.contains { $0.collection != SchemaRecord.collection && names[$0.collection] == nil }
        ?? false
    }

    /// What was held.
    mutating func release() -> [Told] {
      defer { (held, heldCount) = ([], 0) }
      return held
    }
  }

  /// What a commit changed; nothing where some did which nobody can name any longer.
  private struct Told {
    let sequences: ClosedRange<UInt64>
    let changes: [ChangedRecord]?
  }

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
  private func tell(_ sequences: ClosedRange<UInt64>, _ changes: [ChangedRecord]?) {
    let told = Told(sequences: sequences, changes: changes)
    let ready = state.withLock { state -> [Told] in
      guard !state.held.isEmpty || state.lacksName(of: told) else { return [told] }
      state.held.append(told)
      state.heldCount += changes?.count ?? 0
      return state.heldCount > RecordChanges.recordCountMax ? state.release() : []
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
      part.add(id, isDeletion: change.isDeletion)
    }
    if !part.isComplete || !part.written.isEmpty || !part.deleted.isEmpty { subscription.deliver(part) }
  }
}
