// What turned out to be damaged while a store was in use: FORMAT.md §12.3.

import NotelogFormat
import NotelogBase

/// Damage that reading came upon since a store was opened. Opening looks at few of a store's bytes; what it found is in the
/// `RecoveryReport`.
package final class DamageLog: Sendable {
  private struct State {
    var damages: [Damage] = []
    /// Where they are: one place may be come upon in several ways.
    var places: Set<LogPosition> = []
  }

  /// How many places are kept. Whoever comes upon more has a store to salvage, and `verify` lists them all.
  private static let maximumCount = 10_000

  private let state = Lock(State())
  private let isEmptyFlag = Flag(true)

  /// Whether nothing was found.
  package var isEmpty: Bool { isEmptyFlag.isSet }
  /// What was found, in the order in which it was.
  package var damages: [Damage] { state.withLock { $0.damages } }

  /// Notes a finding, once.
  package func note(_ damage: Damage) {
    _ = isEmptyFlag.exchange(false)
    state.withLock { state in
      let place = LogPosition(segment: damage.segment, offset: damage.offset)
      guard state.damages.count < Self.maximumCount, state.places.insert(place).inserted else { return }
      state.damages.append(damage)
    }
  }

  /// Notes what an error says, where it is about damage.
  func note(_ error: JournalError) {
    guard error.code == .damaged, let segment = error.segment else { return }
    note(Damage(.payload, segment: segment, offset: error.offset ?? 0, record: error.record))
  }
}
