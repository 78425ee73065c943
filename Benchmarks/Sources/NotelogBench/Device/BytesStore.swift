// A store of records with one plain field: what the log itself costs, without sealing.

import Foundation
import Notelog

private struct Bytes: Record {
  var id: RecordID
  var bytes = Data()
  static let schema = Schema<Bytes>("bytes") { Plain("bytes", \.bytes) }

  /// Its id looks random, as apps' ids do.
  init(number: Int, bytes: Data = Data()) {
    id = Self.id(number)
    self.bytes = bytes
  }

  init() { self.init(number: 0) }

  static func id(_ number: Int) -> RecordID {
    var mixed = UInt64(truncatingIfNeeded: number) &+ 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    mixed ^= mixed >> 31
    let words = [mixed, UInt64(truncatingIfNeeded: number)]
    let id = words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    return RecordID(
      UUID(
        uuid: (
          id[0], id[1], id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10], id[11], id[12],
          id[13], id[14], id[15]
        )))
  }
}

/// Records of one length in a store, written and read as fast as it goes.
final class BytesStore: Sendable {
  private let store: Store

  /// Creates a store in a folder that is missing or empty.
  init(at path: String) throws {
    store = try Store.create(at: path, unlocking: .key([UInt8](repeating: 42, count: 32)))
  }

  /// Writes the records of some numbers, `batch` of them a transaction.
  func write(_ numbers: Range<Int>, byteCount: Int, batch: Int, isDurable: Bool = false) throws {
    let bytes = Data(repeating: 0x78, count: byteCount)
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: batch) {
      let part = start..<min(start + batch, numbers.upperBound)
      try store.putAll(
        part.lazy.map { Bytes(number: $0, bytes: bytes) }, isDurable ? .durable : .flushed)
    }
  }

  /// Reads records, each in a step of its own, and returns how many bytes they have.
  func read(_ numbers: ArraySlice<UInt32>) throws -> Int {
    try numbers.reduce(0) { try $0 + (store.get(Bytes.self, Bytes.id(Int($1)))?.bytes.count ?? 0) }
  }

  func close() throws { try store.close() }

  /// Opens a store for reading, closes it again, and returns how many records it has.
  static func open(at path: String) throws -> Int {
    var options = Store.Options()
    options.isReadOnly = true
    let store = try Store.open(at: path, unlocking: nil, options: options)
    let count = store.info().recordCount
    try store.close()
    return count
  }
}
