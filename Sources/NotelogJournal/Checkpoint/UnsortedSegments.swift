// Finished segments that an opening would have to go through: FORMAT.md §14, "Sorted footers".

import NotelogConcurrency
import Synchronization

/// Segments that were finished since the checkpoint and have no sorted footer yet.
final class UnsortedSegments: Sendable {
  struct Item: Sendable {
    let number: UInt32
    let entryCount: Int
  }

  private let items = Lock<[Item]>([])
  private let count = Atomic<Int>(0)

  /// How many entries their footers hold.
  var entryCount: Int { count.load(ordering: .relaxed) }

  func add(_ item: Item) {
    items.withLock { $0.append(item) }
    count.add(item.entryCount, ordering: .relaxed)
  }

  /// Takes out one of them; nothing where there is none.
  func next() -> UInt32? {
    guard let item = items.withLock({ $0.popLast() }) else { return nil }
    count.subtract(item.entryCount, ordering: .relaxed)
    return item.number
  }

  /// Forgets those that a checkpoint covers.
  func remove(where isCovered: (UInt32) -> Bool) {
    let removed = items.withLock { items in
      let removed = items.filter { isCovered($0.number) }
      items.removeAll { isCovered($0.number) }
      return removed
    }
    count.subtract(removed.reduce(0) { $0 + $1.entryCount }, ordering: .relaxed)
  }
}
