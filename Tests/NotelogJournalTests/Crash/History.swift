// What a store may hold after a crash: one of the states that its transactions, in order, led through.

import NotelogBase
@testable import Notelog
import NotelogFormat
import NotelogTestSupport

/// The transactions of a run in the order of their sequence numbers, and the state after each.
struct History: Sendable {
  /// What a record is, as far as tests compare.
  struct Version: Equatable, Sendable {
    let revision: UInt64
    let body: [UInt8]
  }

  /// The records of a store.
  typealias State = [ID16: Version]

  struct Entry: Sendable {
    let sequence: UInt64
    let transaction: ScriptedTransaction
  }

  private let entries: [Entry]

  init(_ entries: [Entry]) { self.entries = entries.sorted { $0.sequence < $1.sequence } }

  var count: Int { entries.count }

  /// Whether two transactions were given one number.
  var hasDuplicates: Bool { Set(entries.map(\.sequence)).count != entries.count }

  /// How many transactions come up to a sequence number.
  func count(upTo sequence: UInt64) -> Int { entries.count { $0.sequence <= sequence } }

  /// The state after the first so many transactions.
  func state(after count: Int) -> State {
    var state: State = [:]
    for entry in entries.prefix(count) { Self.apply(entry, to: &state) }
    return state
  }

  /// After how many transactions, of `range`, the store held exactly this; the most where several fit.
  func prefix(in range: ClosedRange<Int>, holding found: State) -> Int? {
    var state = state(after: range.lowerBound)
    // Records that differ, counted instead of comparing whole states at each step.
    var differing = Set(state.keys).union(found.keys).filter { state[$0] != found[$0] }
    var match = differing.isEmpty ? range.lowerBound : nil
    for count in range.dropFirst() {
      let entry = entries[count - 1]
      Self.apply(entry, to: &state)
      for change in entry.transaction.changes {
        if state[change.key] == found[change.key] {
          differing.remove(change.key)
        } else {
          differing.insert(change.key)
        }
      }
      if differing.isEmpty { match = count }
    }
    return match
  }

  static func apply(_ entry: Entry, to state: inout State) {
    for change in entry.transaction.changes {
      state[change.key] = entry.transaction.body(of: change).map {
        Version(revision: entry.sequence, body: $0)
      }
    }
  }
}

extension ClosedRange<Int> {
  fileprivate func dropFirst() -> Range<Int> { lowerBound + 1..<upperBound + 1 }
}
