// What turned out to be damaged while a store was in use: FORMAT.md §12.3.

import NotelogBase
import NotelogFormat
import Synchronization

/// Damage that reading came upon since a store was opened. Opening looks at few of a store's bytes; what it
/// found is in the `RecoveryReport`.
final class DamageLog: Sendable {
  private struct State {
    var damages: [Finding] = []
    /// Where they are: one place may be come upon in several ways.
    var places: Set<LogPosition> = []
    /// The same, with what opening found.
    var known: Set<LogPosition> = []
    /// What is told of each place, once.
    var tell: (@Sendable (StoreEvent) -> Void)?
  }

  /// How many places are kept. Whoever comes upon more has a store to salvage, and `verify` lists them all.
  private static let maximumCount = 10_000

  private let state = Lock(State())

  /// What was found, in the order in which it was.
  var damages: [Finding] { state.withLock { $0.damages } }

  /// How many places are known to be damaged, those that opening found among them.
  var placeCount: Int { state.withLock { $0.known.count } }

  /// Takes note of what opening found, and has each place told from now on.
  func begin(after damages: [Finding], telling tell: (@Sendable (StoreEvent) -> Void)?) {
    state.withLock { state in
      state.tell = tell
      for damage in damages + state.damages where state.known.insert(damage.place).inserted {
        tell?(.damageFound(damage))
      }
    }
  }

  /// Notes a finding, once.
  func note(_ damage: Finding) {
    state.withLock { state in
      guard state.damages.count < Self.maximumCount, state.places.insert(damage.place).inserted else {
        return
      }
      state.damages.append(damage)
      if state.known.insert(damage.place).inserted { state.tell?(.damageFound(damage)) }
    }
  }

  /// Notes what an error says, where it is about damage.
  func note(_ error: NotelogError) {
    guard error.code == .damaged, let segment = error.segment.flatMap({ UInt32(exactly: $0) }) else { return }
    note(Finding(.payload, segment: segment, offset: error.offset ?? 0, record: error.record?.bytes))
  }
}
