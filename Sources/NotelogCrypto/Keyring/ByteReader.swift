// Reading and writing the keyring's fields: little-endian, every access within bounds (FORMAT.md 1).

/// A cursor over the bytes of a keyring.
struct ByteReader {
  private let bytes: [UInt8]
  private(set) var offset: Int

  init(_ bytes: [UInt8], offset: Int = 0) {
    self.bytes = bytes
    self.offset = offset
  }

  mutating func take(_ count: Int) throws(CryptoError) -> [UInt8] {
    guard count >= 0, count <= bytes.count - offset else { throw .damagedKeyring(.length) }
    defer { offset += count }
    return Array(bytes[offset..<offset + count])
  }

  mutating func uint8() throws(CryptoError) -> UInt8 { UInt8(try integer(1)) }
  mutating func uint16() throws(CryptoError) -> UInt16 { UInt16(try integer(2)) }
  mutating func uint32() throws(CryptoError) -> UInt32 { UInt32(try integer(4)) }
  mutating func uint64() throws(CryptoError) -> UInt64 { try integer(8) }

  /// Reserved bytes, which must be zero.
  mutating func reserved(_ count: Int) throws(CryptoError) {
    guard try take(count).allSatisfy({ $0 == 0 }) else { throw .damagedKeyring(.reserved) }
  }

  private mutating func integer(_ count: Int) throws(CryptoError) -> UInt64 {
    try take(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}

extension [UInt8] {
  mutating func append(littleEndian value: some FixedWidthInteger & UnsignedInteger) {
    var value = value
    for _ in 0..<(value.bitWidth / 8) {
      append(UInt8(truncatingIfNeeded: value))
      value = value >> 8
    }
  }

  mutating func append(zeros count: Int) {
    append(contentsOf: repeatElement(0, count: count))
  }
}
