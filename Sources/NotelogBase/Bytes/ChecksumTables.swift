// CRC-32 of a few bytes by tables, eight bytes a step (Kounavis and Berry, 2005): FORMAT.md §1.

// Public for the optimiser alone (docs/decisions/0076).

/// Steps of the CRC register, which is the complement of the checksum.
public enum ChecksumTables {
  /// Eight tables of 256 entries: entry *n* of table *k* is what the byte *n* becomes when *k* bytes follow it.
  @usableFromInline static let tables: InlineArray<2048, UInt32> = {
    var tables = InlineArray<2048, UInt32>(repeating: 0)
    for byte in 0..<256 {
      tables[byte] = (0..<8).reduce(UInt32(byte)) { value, _ in
        value & 1 != 0 ? 0xEDB8_8320 ^ value >> 1 : value >> 1
      }
    }
    for entry in 256..<2048 {
      let before = tables[entry - 256]
      tables[entry] = tables[Int(before & 0xFF)] ^ before >> 8
    }
    return tables
  }()

  /// Goes on with eight bytes, given as a little-endian integer.
  @inlinable
  @inline(__always)
  public static func step(_ register: UInt32, _ word: UInt64) -> UInt32 {
    let mixed = word ^ UInt64(register)
    var result: UInt32 = 0
    for index in 0..<8 {
      let byte = Int(truncatingIfNeeded: mixed >> UInt64(8 * index) & 0xFF)
      result ^= tables[(7 - index) << 8 | byte]
    }
    return result
  }

  /// Goes on with some bytes.
  @inlinable
  @inline(__always)
  public static func step(_ register: UInt32, _ bytes: RawSpan) -> UInt32 {
    var register = register
    var offset = 0
    while offset + 8 <= bytes.byteCount {
      register = step(register, bytes.load(UInt64.self, at: offset))
      offset += 8
    }
    while offset < bytes.byteCount {
      register = tables[Int((register ^ UInt32(bytes.byte(at: offset))) & 0xFF)] ^ register >> 8
      offset += 1
    }
    return register
  }
}
