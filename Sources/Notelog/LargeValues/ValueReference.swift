// What stands in a record for a value that left it (FORMAT.md 8).

import NotelogCrypto
import NotelogJournal

/// A reference to a large value: its id, its length, and into how many chunks it was cut.
struct ValueReference: Hashable, Sendable {
  static let byteCount = 32

  let value: RecordKey
  /// The length of the plaintext.
  let byteCount: Int

  var chunkCount: Int { Self.chunkCount(of: byteCount) }

  init(_ value: RecordKey, byteCount: Int) {
    self.value = value
    self.byteCount = byteCount
  }

  /// Reads a reference; nil where nobody could have written it: **INV-V2**.
  init?(_ bytes: RawSpan) {
    guard bytes.byteCount == Self.byteCount, bytes.load(UInt32.self, at: 28) == 0,
      let byteCount = Int(exactly: bytes.load(UInt64.self, at: 16)), byteCount > Limits.chunkBytes,
      byteCount <= Limits.largeValueBytes,
      Int(bytes.load(UInt32.self, at: 24)) == Self.chunkCount(of: byteCount)
    else { return nil }
    value = Self.value(in: bytes)
    self.byteCount = byteCount
    if value == .zero { return nil }
  }

  /// The value's id, of a reference that was checked.
  static func value(in bytes: RawSpan) -> RecordKey {
    RecordKey(low: bytes.load(UInt64.self, at: 0), high: bytes.load(UInt64.self, at: 8))
  }

  func write(into bytes: inout MutableRawSpan) {
    bytes.store(value.low, at: 0)
    bytes.store(value.high, at: 8)
    bytes.store(UInt64(byteCount), at: 16)
    bytes.store(UInt32(chunkCount), at: 24)
    bytes.store(0 as UInt32, at: 28)
  }

  /// How many chunks a plaintext is cut into.
  static func chunkCount(of byteCount: Int) -> Int { (byteCount + Limits.chunkBytes - 1) / Limits.chunkBytes }

  /// Which bytes of the plaintext a chunk holds.
  func range(of chunk: Int) -> Range<Int> {
    chunk * Limits.chunkBytes..<min((chunk + 1) * Limits.chunkBytes, byteCount)
  }
}

extension RecordKey {
  /// An id for a value that is about to be written.
  static var randomValue: RecordKey { RecordID().key }
}

extension CollectionPlan {
  /// What the chunks of a field's value are bound to; the chunk is still to be set.
  func chunkData(
    _ index: Int, of id: RecordID, type: FieldType, flags: FieldFlags, key: KeyReference, value: RecordKey
  ) -> AdditionalData {
    AdditionalData(
      store: storeID, record: id.bytes16, name: fields[index].nameHash, type: type.rawValue,
      flags: UInt16(flags.rawValue), key: key, value: Bytes16(low: value.low, high: value.high), chunk: 0,
      isLast: false)
  }
}
