// A small store with every kind of segment and frame, the same in every process.

@testable import NotelogBase
@testable import Notelog
@testable import NotelogFormat
@testable import NotelogStorage
import Synchronization

/// What the targets that change a whole store start from.
enum SampleStore {
  static let storeID = ID16(low: 0xA7A6_A5A4_A3A2_A1A0, high: 0xAFAE_ADAC_ABAA_A9A8)

  /// Small segments, and nothing random.
  static var options: JournalOptions {
    var options = JournalOptions()
    options.segmentByteCount = 16 << 10
    options.cacheByteCount = 1 << 16
    let counter = Counter(1)
    options.random = { counter.next() }
    return options
  }

  /// The files of a store that was closed in order.
  static let files: [String: [UInt8]] = {
    do { return try make() } catch { fatalError("the sample store could not be made: \(error)") }
  }()

  /// The id behind a byte: above 127 one of the store's own records.
  static func id(_ byte: UInt8) -> ID16 {
    if byte > 127 { return ID16(low: UInt64(byte & 127), high: 0) }
    return ID16(low: UInt64(byte) &* 0x0101_0101_0101_0101, high: UInt64(byte) << 56 | 1)
  }

  /// The byte behind an id.
  static func byte(of id: ID16) -> UInt8 {
    UInt8(truncatingIfNeeded: id.low) | (id.high == 0 && id.low != 0 ? 128 : 0)
  }

  /// An envelope with large values and the sort key of field 1.
  private static func envelope(naming values: [ID16], key: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: UInt16(8 + 16 * values.count + key.count))
    bytes.append(littleEndian: UInt16(values.count))
    for value in values { bytes += value.array }
    bytes.append(littleEndian: UInt16(1))
    bytes.append(littleEndian: UInt16(key.count))
    return bytes + key
  }

  private static func make() throws -> [String: [UInt8]] {
    let disk = MemoryStorage()
    let journal = try Journal.create(in: disk, storeID: storeID, options: options)
    var batch = Batch()
    for round in 0..<3 {
      for number in UInt8(1)...24 where number % 3 != round {
        let envelope = Self.envelope(naming: number == 5 ? [id(100)] : [], key: [number, 2])
        batch.put(
          id(number), collection: 1, envelopeByteCount: envelope.count, bodyByteCount: 300
        ) { bytes in
          bytes.copy(envelope.rawSpan)
          bytes.store(UInt64(round), at: envelope.count)
        }
        if number == 5 {
          batch.putChunk(ChunkMark(0, isLast: false), of: id(100), sealedByteCount: 100) { _ in }
          batch.putChunk(ChunkMark(1, isLast: true), of: id(100), sealedByteCount: 60) { _ in }
        }
        if number % 4 == 0 { try journal.commit(&batch) }
      }
      batch.put(id(129), collection: 0, bodyByteCount: 20) { _ in }
      batch.delete(id(UInt8(7 + round)), collection: 1)
      try journal.commit(&batch)
      if round == 1 { _ = try journal.compact() }
    }
    try journal.checkpoint()
    try journal.storeOrder(OrderName(collection: 1, field: 1), since: 1) { writer throws(NotelogError) in
      for number in UInt8(0)..<200 {
        try writer.append([UInt8](repeating: number, count: StoredOrder.keyByteCount).rawSpan)
      }
      return true
    }
    // What comes behind it is too little for another, and makes two segments full.
    for round in 3..<7 {
      for number in UInt8(1)...24 where number % 5 != 0 {
        batch.put(id(number), collection: 1, bodyByteCount: 300) { $0.store(UInt64(round), at: 0) }
      }
      batch.delete(id(UInt8(5 * (round - 2))), collection: 1)
      batch.put(id(129), collection: UInt16(round & 1), bodyByteCount: 20) { _ in }
      try journal.commit(&batch)
    }
    try journal.close()
    return disk.contents
  }
}

/// Counts, mixed so that it looks random.
private final class Counter: Sendable {
  private let state: Mutex<UInt64>

  init(_ start: UInt64) { state = Mutex(start) }

  func next() -> UInt64 {
    state.withLock { state in
      state &+= 0x9E37_79B9_7F4A_7C15
      let mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
      return mixed ^ mixed >> 31
    }
  }
}
