// The ordered indexes of an open store: made when they are first needed, kept up to date by every commit.

import NotelogBase
import NotelogFormat

/// Ordered indexes over indexed plain fields.
///
/// An index says which records *had* a key: entries are added before a commit and never taken away, so that a
/// reader misses nothing that is committed, whatever other threads do. Whoever reads an entry reads the
/// record too, and passes over it if its key is another by now. When too many are passed over, the index is
/// made again.
final class FieldIndexes: Sendable, OrderKeeper {
  /// What a commit writes: the envelopes of its records, in which their sort keys are.
  private struct Commit: Sendable {
    private var records: [(collection: UInt16, id: ID16, envelope: Range<Int>)] = []
    private var envelopes: [UInt8] = []

    init(_ frames: [PendingFrame], _ bytes: RawSpan) {
      records.reserveCapacity(frames.count)
      for frame in frames where frame.header.kind == .record {
        let start = envelopes.count
        let envelope = start..<start + frame.envelopeByteCount
        envelopes.append(zeros: envelope.count)
        let source = bytes.extracting(frame.payload).extracting(first: envelope.count)
        envelopes.withBytes(in: envelope) { $0.copy(source) }
        records.append((frame.header.collection, frame.header.id, envelope))
      }
    }

    /// The entries that its records come to have in an index; nil for one that lacks a field.
    func entries(in name: OrderName) -> [OrderedEntry?] {
      records.lazy.filter { $0.collection == name.collection }.map { record in
        OrderedEntry(keyOf: name, record.id, envelope: envelopes.rawSpan.extracting(record.envelope))
      }
    }
  }

  /// An index, and the first moment that it knows all keys of.
  struct Made: Sendable {
    var index: OrderedIndex
    let since: UInt64
    /// Whether the checkpoint holds it, but for what came after.
    var isStored: Bool

    func store(as name: OrderName, in journal: Journal) throws(NotelogError) {
      try journal.storeOrder(name, since: since) { writer throws(NotelogError) in
        try index.write(to: &writer)
      }
    }
  }

  private struct State {
    var indexes: [OrderName: Made] = [:]
    /// The commits that are under way.
    var underWay: [UInt64: Commit] = [:]
    var nextTicket: UInt64 = 0
    /// Fields that some record lacks: what has their initial value can't be found by an index.
    var incomplete: Set<OrderName> = []
    /// Indexes that are made from the records, whatever lies in the checkpoint.
    var distrusted: Set<OrderName> = []
    /// What was added since an index began to be made; nothing for one that was distrusted since.
    var pending: [OrderName: [OrderedEntry]] = [:]

    /// The indexes that are there, or being made.
    var kept: Set<OrderName> { Set(indexes.keys).union(pending.keys) }

    /// Takes what a commit writes into an index.
    mutating func add(_ commit: Commit, to name: OrderName) {
      for entry in commit.entries(in: name) {
        guard let entry else {
          incomplete.insert(name)
          indexes[name] = nil
          continue
        }
        pending[name]?.append(entry)
        if indexes[name]?.index.insert(entry) == false { distrust(name) }
      }
    }

    mutating func distrust(_ name: OrderName) {
      distrusted.insert(name)
      indexes[name] = nil
      pending[name] = nil
    }
  }

  private let state = Lock(State())
  /// Held while an index is made: one at a time.
  private let making = Lock(())

  /// The index of a field, as it is now; nil where there is none yet.
  func index(_ name: OrderName) -> Made? { state.withLock { $0.indexes[name] } }

  /// Makes an index of what `build` finds, and keeps it from then on.
  ///
  /// What is committed meanwhile is in it too: it was under way when we began, or began after us, and if
  /// neither then what is built has it.
  ///
  /// - Parameters:
  ///   - name: The field.
  ///   - build: Called to build it, from what is stored where that may be used. It returns nil where a record
  ///     lacks the field.
  /// - Returns: nil where a record lacks the field.
  /// - Throws: What `build` throws.
  func make(_ name: OrderName, _ build: (_ mayUseStored: Bool) throws -> Made?) throws -> Made? {
    try making.withLock { _ in
      if let index = index(name) { return index }
      defer { state.withLock { state in state.pending[name] = nil } }
      while true {
        let (isIncomplete, mayUseStored) = state.withLock { state in
          state.pending[name] = []
          for commit in state.underWay.values { state.add(commit, to: name) }
          return (state.incomplete.contains(name), !state.distrusted.contains(name))
        }
        let built = isIncomplete ? nil : try build(mayUseStored)
        if adopt(built, name) { return index(name) }
      }
    }
  }

  /// Takes in an index that was built, and what came meanwhile.
  ///
  /// - Returns: Whether that was done, or there can't be one: otherwise it has to be built again.
  private func adopt(_ built: Made?, _ name: OrderName) -> Bool {
    state.withLock { state in
      guard let pending = state.pending[name] else { return false }
      guard var built, !state.incomplete.contains(name) else {
        state.incomplete.insert(name)
        return true
      }
      for entry in pending where !built.index.insert(entry) {
        state.distrust(name)
        return false
      }
      state.indexes[name] = built
      return true
    }
  }

  /// Forgets an index of which a part can't be read, or too much is no longer so, and has it made from the
  /// records.
  func distrust(_ name: OrderName) { state.withLock { state in state.distrust(name) } }

  func begin(_ frames: [PendingFrame], _ bytes: RawSpan) -> UInt64 {
    let commit = Commit(frames, bytes)
    return state.withLock { state in
      for name in state.kept { state.add(commit, to: name) }
      defer { state.nextTicket += 1 }
      state.underWay[state.nextTicket] = commit
      return state.nextTicket
    }
  }

  func end(_ ticket: UInt64) { state.withLock { $0.underWay[ticket] = nil } }

  func distrustAll() {
    state.withLock { state in for name in state.kept { state.distrust(name) } }
  }

  var unstored: [OrderName] { state.withLock { $0.indexes.filter { !$0.value.isStored }.map(\.key) } }

  func store(in journal: Journal, carrying carried: [StoredOrder]?) {
    let kept = state.withLock { $0.indexes }
    for (name, made) in kept where carried != nil || !made.isStored {
      try? made.store(as: name, in: journal)
      // Whatever came of it, it is not tried again before there is another checkpoint. Where that is a new
      // one, what is in memory is let go: little of it is needed, and some of it may be in the file of the
      // one before.
      state.withLock { state in
        if carried != nil { state.indexes[name] = nil } else { state.indexes[name]?.isStored = true }
        state.distrusted.remove(name)
      }
    }
    for order in carried ?? [] where kept[order.name] == nil {
      let made = try? journal.index(of: order.name, from: order, at: journal.snapshot())
      try? made?.store(as: order.name, in: journal)
    }
  }
}
