// The ids of a batch, so that none is in it twice.

import NotelogBase
import NotelogFormat

/// A set of record ids that only grows: open addressing, and a hash that costs next to nothing.
///
/// Ids may be chosen by others, so the hash is seeded.
struct RecordIDSet {
  private var slots: [ID16] = []
  private var isTaken: [Bool] = []
  /// How many ids are in it.
  private(set) var count = 0
  private let seed = UInt64.random(in: .min ... .max)

  /// Adds an id.
  ///
  /// - Returns: Whether it was new.
  mutating func insert(_ id: ID16) -> Bool {
    if 2 * count >= slots.count { grow() }
    let place = find(id)
    guard !isTaken[place] else { return false }
    slots[place] = id
    isTaken[place] = true
    count += 1
    return true
  }

  /// Takes back the id that was added last.
  mutating func removeLast(_ id: ID16) {
    guard count > 0 else { return }
    let place = find(id)
    guard isTaken[place] else { return }
    isTaken[place] = false
    count -= 1
  }

  /// Forgets all ids, and keeps the memory.
  mutating func removeAll() {
    guard count > 0 else { return }
    for place in isTaken.indices { isTaken[place] = false }
    count = 0
  }

  /// Where the id is, or belongs.
  private func find(_ id: ID16) -> Int {
    let mixed = (id.low ^ seed).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15 ^ id.high)
    var place = Int(truncatingIfNeeded: mixed.high ^ mixed.low) & (slots.count - 1)
    while isTaken[place], slots[place] != id { place = (place + 1) & (slots.count - 1) }
    return place
  }

  private mutating func grow() {
    let old = (slots, isTaken)
    let capacity = max(64, 2 * slots.count)
    slots = Array(repeating: .zero, count: capacity)
    isTaken = Array(repeating: false, count: capacity)
    for (id, wasTaken) in zip(old.0, old.1) where wasTaken {
      let place = find(id)
      slots[place] = id
      isTaken[place] = true
    }
  }
}
