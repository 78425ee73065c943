// Finished segments that an opening would have to go through: FORMAT.md §14, "Sorted footers".

import NotelogBase

/// Segments that were finished since the checkpoint and have no sorted footer yet.
final class UnsortedSegments: Sendable {
  struct Item: Sendable {
    let number: UInt32
    let entryCount: Int
  }

  private let items = Lock<[Item]>([])

  /// How many entries their footers hold.
  var entryCount: Int { items.withLock { $0.reduce(0) { $0 + $1.entryCount } } }

  func add(_ item: Item) { items.withLock { $0.append(item) } }

  /// Takes out one of them; nothing where there is none.
  func next() -> UInt32? { items.withLock { $0.popLast()?.number } }

  /// Forgets those that a checkpoint covers.
  func remove(where isCovered: (UInt32) -> Bool) { items.withLock { $0.removeAll { isCovered($0.number) } } }
}
