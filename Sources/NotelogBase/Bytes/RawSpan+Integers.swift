// Little-endian integers in spans of bytes.

// Public for the optimiser alone (docs/decisions/0076).

extension RawSpan {
  /// The integer at an offset; out of bounds is a programmer's mistake and traps.
  @inlinable
  @inline(__always)
  public func load<Value: FixedWidthInteger & BitwiseCopyable>(_ type: Value.Type, at offset: Int) -> Value {
    // SAFETY: `unsafeLoadUnaligned` checks the bounds; any bit pattern is a valid integer.
    Value(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: Value.self))
  }

  /// The byte at an offset.
  @inlinable
  @inline(__always)
  public func byte(at offset: Int) -> UInt8 { load(UInt8.self, at: offset) }

  /// Whether every byte is zero.
  @inlinable
  public var isZero: Bool {
    var offset = 0
    while offset + 8 <= byteCount {
      if load(UInt64.self, at: offset) != 0 { return false }
      offset += 8
    }
    while offset < byteCount {
      if byte(at: offset) != 0 { return false }
      offset += 1
    }
    return true
  }
}

extension MutableRawSpan {
  /// Writes the integer at an offset.
  @inlinable
  @inline(__always)
  @_lifetime(self: copy self)
  public mutating func store<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, at offset: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: offset, as: Value.self)
  }
}
