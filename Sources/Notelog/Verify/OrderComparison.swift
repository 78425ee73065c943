// Whether the checkpoint's orders have the keys that records have: docs/format-derived.md §32.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// The keys that records have in fields whose orders the checkpoint holds: eight bytes of each, as there may be millions.
struct OrderComparison: Sendable {
  private let orders: [StoredOrder]
  /// Of keys and ids; nobody outside knows it, and could make two of them the same.
  private let hash: FingerprintKey
  private var keys: [[UInt64]]

  /// The orders of a checkpoint, as far as it is still there.
  init(of checkpoint: CheckpointFile?, in storage: any Storage) throws(StorageError) {
    hash = FingerprintKey(low: JournalOptions().random(), high: JournalOptions().random())
    var orders: [StoredOrder] = []
    if let checkpoint {
      let heads = try StoredOrder.heads(behind: checkpoint.head, in: checkpoint.file).found
      for head in heads where !orders.contains(where: { $0.name == head.head.name }) {
        if let order = StoredOrder.find(head.head.name, behind: checkpoint.head, in: storage) {
          orders.append(order)
        }
      }
    }
    self.orders = orders
    keys = orders.map { _ in [] }
  }

  /// Adds a record that is current. A later one than an order need not be in it: it is had from behind the checkpoint.
  mutating func add(_ record: StoredRecord, _ envelope: RawSpan) {
    for (number, order) in orders.enumerated()
    where order.name.collection == record.collection && record.revision <= order.since {
      if order.name.second != nil {
        guard let key = order.name.key(ofTwoIn: envelope) else { continue }
        keys[number].append(hash(ID16(key), record.id))
        continue
      }
      guard let range = Envelope.sortKey(of: order.name.field, in: envelope) else { continue }
      var (low, high) = (0 as UInt64, 0 as UInt64)
      for (place, index) in range.prefix(16).enumerated() {
        let byte = UInt64(envelope.byte(at: index)) << UInt64(8 * (place % 8))
        if place < 8 { low |= byte } else { high |= byte }
      }
      keys[number].append(hash(ID16(low: low, high: high), record.id))
    }
  }

  /// Adds what another thread found.
  mutating func merge(_ other: OrderComparison) {
    for number in keys.indices { keys[number] += other.keys[number] }
  }

  /// The orders that lack keys. One that does not check is not among them: nobody believes it.
  consuming func incomplete() -> [OrderName] {
    orders.indices.filter { number in
      var stored: [UInt64] = []
      stored.reserveCapacity(orders[number].keyCount)
      for block in 0..<orders[number].blockCount {
        let isSound = orders[number].read(block) { bytes in
          for place in stride(from: 0, to: bytes.byteCount, by: StoredOrder.keyByteCount) {
            stored.append(hash(ID16(bytes, at: place), ID16(bytes, at: place + 16)))
          }
        }
        if !isSound { return false }
      }
      stored.sort()
      var place = 0
      for key in keys[number].sorted() {
        while place < stored.count, stored[place] < key { place += 1 }
        if place == stored.count || stored[place] != key { return true }
      }
      return false
    }.map { orders[$0].name }
  }

  private func hash(_ key: ID16, _ id: ID16) -> UInt64 {
    hash.fingerprint(of: ID16(low: hash.fingerprint(of: key) ^ id.low, high: id.high))
  }
}
