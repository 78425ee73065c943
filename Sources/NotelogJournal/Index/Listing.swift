// The records of collection 0, which an opening needs at once: FORMAT.md §14.

import NotelogConcurrency

/// The ids of collection 0's records. They are few: what a store says of itself.
///
/// All other collections are listed by going through the segments.
final class Listing: Sendable {
  /// A record of collection 0, and the sequence number of its newest version.
  struct Entry: Equatable, Sendable {
    static let byteCount = 24

    let id: RecordKey
    let sequence: UInt64
  }

  static let collection: UInt16 = 0

  private struct Standing {
    var sequence: UInt64
    var isPresent: Bool
  }

  private let standings: Lock<[RecordKey: Standing]>

  init(_ entries: [Entry] = []) {
    standings = Lock(
      Dictionary(entries.map { ($0.id, Standing(sequence: $0.sequence, isPresent: true)) }) { $1 })
  }

  /// The records that are in it, in order of id.
  var entries: [Entry] {
    standings.withLock { standings in
      standings.filter { $0.value.isPresent }.map { Entry(id: $0.key, sequence: $0.value.sequence) }
    }.sorted { $0.id < $1.id }
  }

  /// Takes in that a record has a new version, or is deleted, in the collection or elsewhere; versions come in any order.
  func take(_ id: RecordKey, sequence: UInt64, isPresent: Bool) {
    standings.withLock { standings in
      guard standings[id].map({ $0.sequence <= sequence }) ?? isPresent else { return }
      standings[id] = Standing(sequence: sequence, isPresent: isPresent)
    }
  }
}
