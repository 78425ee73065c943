// The ids of a batch, so that none is in it twice.

import NotelogBase
import NotelogFormat
import NotelogJournal

/// A set of record ids that only grows: open addressing, and a hash that costs next to nothing.
///
/// Ids may be chosen by others, so the hash is seeded.
struct KeySet {
  private var slots: [ID16] = []
  private var isTaken: [Bool] = []
  /// How many ids are in it.
  private(set) var count = 0
  private let seed = UInt64.random(in: .min ... .max)

  /// Adds an id.
  ///
  /// - Returns: Whether it was new.
  mutating func insert(_ key: ID16) -> Bool {
    if 2 * count >= slots.count { grow() }
    let place = find(key)
    guard !isTaken[place] else { return false }
    slots[place] = key
    isTaken[place] = true
    count += 1
    return true
  }

  /// Takes back the id that was added last.
  mutating func removeLast(_ key: ID16) {
    guard count > 0 else { return }
    let place = find(key)
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
  private func find(_ key: ID16) -> Int {
    let mixed = (key.low ^ seed).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15 ^ key.high)
    var place = Int(truncatingIfNeeded: mixed.high ^ mixed.low) & (slots.count - 1)
    while isTaken[place], slots[place] != key { place = (place + 1) & (slots.count - 1) }
    return place
  }

  private mutating func grow() {
    let old = (slots, isTaken)
    let capacity = max(64, 2 * slots.count)
    slots = Array(repeating: .zero, count: capacity)
    isTaken = Array(repeating: false, count: capacity)
    for (key, wasTaken) in zip(old.0, old.1) where wasTaken {
      let place = find(key)
      slots[place] = key
      isTaken[place] = true
    }
  }
}
