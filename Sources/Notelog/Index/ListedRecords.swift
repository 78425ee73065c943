// The records of collection 0, which an opening needs at once: docs/format-derived.md §31.

import NotelogBase

/// The ids of collection 0's records. They are few: what a store says of itself.
///
/// All other collections are listed by going through the segments.
final class ListedRecords: Sendable {
  /// A record of collection 0, and the sequence number of its newest version.
  struct Entry: Equatable, Sendable {
    static let byteCount = 24

    let id: ID16
    let sequence: UInt64
  }

  static let collection: UInt16 = 0

  private let presences: Lock<[ID16: (sequence: UInt64, isPresent: Bool)]>

  init(_ entries: [Entry] = []) {
    presences = Lock(Dictionary(entries.map { ($0.id, ($0.sequence, true)) }) { $1 })
  }

  /// The records that are in it, in order of id.
  var entries: [Entry] {
    presences.withLock { presences in
      presences.filter { $0.value.isPresent }.map { Entry(id: $0.key, sequence: $0.value.sequence) }
    }.sorted { $0.id < $1.id }
  }

  /// Takes in that a record has a new version, or is deleted, in the collection or elsewhere; versions come
  /// in any order.
  func note(_ id: ID16, sequence: UInt64, isPresent: Bool) {
    presences.withLock { presences in
      guard presences[id].map({ $0.sequence <= sequence }) ?? isPresent else { return }
      presences[id] = (sequence, isPresent)
    }
  }
}
