// Little-endian integers in spans of bytes.

extension RawSpan {
  /// The integer at an offset; out of bounds is a programmer's mistake and traps.
  @inline(__always)
  package func load<Value: FixedWidthInteger & BitwiseCopyable>(_ type: Value.Type, at offset: Int) -> Value {
    // SAFETY: `unsafeLoadUnaligned` checks the bounds; any bit pattern is a valid integer.
    Value(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: Value.self))
  }

  /// Whether every byte is zero.
  package var isZero: Bool {
    var offset = 0
    while offset + 8 <= byteCount {
      if load(UInt64.self, at: offset) != 0 { return false }
      offset += 8
    }
    while offset < byteCount {
      if load(UInt8.self, at: offset) != 0 { return false }
      offset += 1
    }
    return true
  }
}

extension MutableRawSpan {
  /// Writes the integer at an offset.
  @inline(__always)
  @_lifetime(self: copy self)
  package mutating func store<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, at offset: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: offset, as: Value.self)
  }

  /// Copies bytes to an offset.
  @_lifetime(self: copy self)
  package mutating func copy(_ source: RawSpan, at offset: Int) {
    precondition(offset >= 0 && source.byteCount <= byteCount - offset, "bytes are copied within the span")
    // SAFETY: the range was checked; the source is borrowed and the destination exclusive, so they don't overlap.
    unsafe withUnsafeMutableBytes { destination in
      unsafe source.withUnsafeBytes { bytes in
        guard let from = bytes.baseAddress, let to = destination.baseAddress else { return }
        unsafe (to + offset).copyMemory(from: from, byteCount: bytes.count)
      }
    }
  }
}

extension Array where Element == UInt8 {
  /// Calls `body` with the array's bytes.
  package func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let elements = self.span
    // SAFETY: bytes of bytes: every value is initialised and trivially readable.
    return try body(unsafe elements.bytes)
  }

  /// The bytes of a span, copied.
  package init(copying bytes: RawSpan) {
    // SAFETY: the array copies the bytes before the pointer ends.
    self = unsafe bytes.withUnsafeBytes { unsafe Array($0) }
  }
}
