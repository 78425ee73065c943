// CRC-32, zlib's: FORMAT.md §1.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import CSystem

/// The running value of a CRC-32.
///
/// Sixteen bytes a step where the processor multiplies without carries; by tables where it does not, and where
/// there are only a few bytes (decision 0020).
public struct Checksum: Sendable {
  public var value: UInt32

  @inlinable
  public init() { value = 0 }

  /// From how many bytes on folding is possible.
  @usableFromInline static let foldLimit = 16

  /// The checksum of some bytes.
  @inlinable
  @inline(__always)
  public static func of(_ bytes: RawSpan) -> UInt32 {
    var checksum = Checksum()
    checksum.update(bytes)
    return checksum.value
  }

  /// Takes in more bytes.
  @inlinable
  public mutating func update(_ bytes: RawSpan) {
    if bytes.byteCount >= Self.foldLimit, checksum_can_fold() {
      fold(bytes)
    } else {
      value = ~Self.step(~value, bytes)
    }
  }

  /// Takes in an integer, little-endian.
  @inlinable
  public mutating func update<Value: FixedWidthInteger & BitwiseCopyable>(_ integer: Value) {
    // SAFETY: the span covers a local of known size and does not outlive the closure.
    unsafe withUnsafeBytes(of: integer.littleEndian) { update(unsafe $0.bytes) }
  }

  @usableFromInline mutating func fold(_ bytes: RawSpan) {
    // SAFETY: the pointer covers the span's bytes, of which there are at least 16, and does not outlive the
    // call.
    unsafe bytes.withUnsafeBytes { buffer in
      guard let start = buffer.baseAddress else { return }
      value = ~(unsafe checksum_fold(~value, start, buffer.count))
    }
  }

  /// The checksum of four bytes and 36 others behind what an earlier value is of: a frame header is all
  /// three.
  @inlinable
  @inline(__always)
  public static func of(_ four: UInt32, _ others: RawSpan, after value: UInt32) -> UInt32 {
    precondition(others.byteCount == 36, "a header has 36 bytes before its checksum")
    guard checksum_can_fold() else { return ofByTables(four, others, after: value) }
    // SAFETY: the pointer covers the 36 bytes that are read, and does not outlive the call.
    return ~(unsafe others.withUnsafeBytes { unsafe checksum_fold_header(~value, four, $0.baseAddress) })
  }

  /// The same by tables: forty bytes are five steps of eight.
  public static func ofByTables(_ four: UInt32, _ others: RawSpan, after value: UInt32) -> UInt32 {
    var register = Self.step(~value, UInt64(four) | UInt64(others.load(UInt32.self, at: 0)) << 32)
    for offset in stride(from: 4, to: 36, by: 8) {
      register = Self.step(register, others.load(UInt64.self, at: offset))
    }
    return ~register
  }
}

// MARK: - CRC-32 of a few bytes by tables, eight bytes a step (Kounavis and Berry, 2005): FORMAT.md §1.

// Public for the optimiser alone (docs/decisions/0076).

/// Steps of the CRC register, which is the complement of the checksum.
extension Checksum {
  /// Eight tables of 256 entries: entry *n* of table *k* is what the byte *n* becomes when *k* bytes follow
  /// it.
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
