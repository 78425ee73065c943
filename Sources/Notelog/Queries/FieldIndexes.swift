// The ordered indexes of an open store: made when they are first needed, kept up to date by every commit.

import NotelogConcurrency
import NotelogJournal

/// Ordered indexes over indexed plain fields.
///
/// An index says which records *had* a key: entries are added before a commit and never taken away, so that a reader
/// misses nothing that is committed, whatever other threads do. Whoever reads an entry reads the record too, and
/// passes over it if its key is another by now. When too many are passed over, the index is made again.
final class FieldIndexes: Sendable {
  /// A field of a collection.
  struct Name: Hashable, Sendable {
    let collection: UInt16
    let field: UInt16
  }

  /// A key that a record is about to have; none where the record lacks the field.
  struct Addition: Sendable {
    let name: Name
    let entry: IndexEntry?
  }

  /// An index, and the first moment that it knows all keys of.
  struct Made: Sendable {
    var index: OrderedIndex
    let since: UInt64
  }

  private struct State {
    var indexes: [Name: Made] = [:]
    /// The additions of commits that are under way.
    var underWay: [UInt64: [Addition]] = [:]
    var nextTicket: UInt64 = 0
    /// Fields that some record lacks: what has their initial value can't be found by an index.
    var incomplete: Set<Name> = []
    /// What was added while an index was being made.
    var pending: [Name: [IndexEntry]] = [:]
  }

  private let state = Lock(State())
  /// Held while an index is made: one at a time.
  private let making = Lock(())

  /// The index of a field, as it is now; nil where there is none yet.
  func index(_ name: Name) -> Made? { state.withLock { $0.indexes[name] } }

  private func isIncomplete(_ name: Name) -> Bool { state.withLock { $0.incomplete.contains(name) } }

  /// Takes in what is about to be committed.
  ///
  /// - Returns: A ticket for ``end(_:)``, once the commit has succeeded or failed.
  func begin(_ additions: [Addition]) -> UInt64 {
    state.withLock { state in
      for addition in additions {
        guard let entry = addition.entry else {
          state.incomplete.insert(addition.name)
          state.indexes[addition.name] = nil
          continue
        }
        state.pending[addition.name]?.append(entry)
        state.indexes[addition.name]?.index.insert(entry)
      }
      defer { state.nextTicket += 1 }
      state.underWay[state.nextTicket] = additions
      return state.nextTicket
    }
  }

  /// Notes that a commit is over.
  func end(_ ticket: UInt64) { state.withLock { $0.underWay[ticket] = nil } }

  /// Makes an index from what `scan` finds, and keeps it from then on.
  ///
  /// What is committed meanwhile is in it too: it was under way when we began, or began after us, and if neither then
  /// the scan sees it.
  ///
  /// - Returns: nil where a record lacks the field; `scan` returns nil then.
  func make(_ name: Name, _ scan: () throws -> (since: UInt64, entries: [IndexEntry])?) throws -> Made? {
    try making.withLock { _ in
      if let index = index(name) { return index }
      state.withLock { state in
        state.pending[name] = state.underWay.values.joined().filter { $0.name == name }.compactMap(\.entry)
      }
      defer { state.withLock { state in state.pending[name] = nil } }
      let found = isIncomplete(name) ? nil : try scan()
      return state.withLock { state in
        guard let found, !state.incomplete.contains(name) else {
          state.incomplete.insert(name)
          return nil
        }
        let index = OrderedIndex(found.entries + (state.pending[name] ?? []))
        state.indexes[name] = Made(index: index, since: found.since)
        return state.indexes[name]
      }
    }
  }

  /// Forgets an index, so that it is made again.
  func remove(_ name: Name) { state.withLock { state in state.indexes[name] = nil } }
}
