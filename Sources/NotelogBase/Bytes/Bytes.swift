// Spans of bytes as arrays and text, and copies between them: what the standard library still marks unsafe.

// Public for the optimiser alone (docs/decisions/0076).

internal import CSystem

extension RawSpan {
  /// A copy of the bytes.
  @inlinable
  public func array() -> [UInt8] {
    // SAFETY: the pointer covers exactly the span's bytes and does not outlive the call.
    unsafe withUnsafeBytes { unsafe [UInt8]($0) }
  }

  /// The bytes as text, or nil where they are not UTF-8.
  @inlinable
  public func text() -> String? {
    // SAFETY: the pointer covers exactly the span's bytes and does not outlive the call.
    unsafe withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) }
  }

  /// Whether the bytes of another span occur in these, side by side; no bytes occur everywhere.
  public func contains(_ needle: RawSpan) -> Bool {
    // SAFETY: both pointers cover exactly their spans' bytes and do not outlive the call.
    unsafe withUnsafeBytes { hay in
      unsafe needle.withUnsafeBytes { needle in
        guard let first = needle.baseAddress, needle.count > 0 else { return true }
        guard let start = hay.baseAddress, hay.count >= needle.count else { return false }
        return unsafe bytes_contain(start, hay.count, first, needle.count)
      }
    }
  }

  /// Whether the bytes are UTF-8.
  @inlinable
  public var isUTF8: Bool {
    let bytes = Span<UInt8>(_bytes: self)
    do {
      _ = try UTF8Span(validating: bytes)
      return true
    } catch { return false }
  }

  /// Whether both spans hold the same bytes. Not in constant time.
  public func elementsEqual(_ other: RawSpan) -> Bool {
    guard byteCount == other.byteCount else { return false }
    // SAFETY: both pointers cover exactly their spans' bytes and do not outlive the call.
    return unsafe withUnsafeBytes { left in
      unsafe other.withUnsafeBytes { right in
        guard let start = left.baseAddress, let otherStart = right.baseAddress else {
          return unsafe left.isEmpty
        }
        return unsafe memcmp(start, otherStart, left.count) == 0
      }
    }
  }
}

extension MutableRawSpan {
  /// Copies all of `source` to an offset.
  @inlinable
  @_lifetime(self: copy self)
  public mutating func copy(_ source: RawSpan, at offset: Int = 0) {
    precondition(offset >= 0 && source.byteCount <= byteCount - offset, "bytes are copied within the span")
    // SAFETY: the line above keeps the copy inside the destination; the spans can't overlap, one being exclusive.
    unsafe withUnsafeMutableBytes { destination in
      unsafe source.withUnsafeBytes { bytes in
        guard let from = bytes.baseAddress, let to = destination.baseAddress else { return }
        unsafe (to + offset).copyMemory(from: from, byteCount: bytes.count)
      }
    }
  }

  /// The bytes of a range, for as long as this span isn't used.
  @inlinable
  @_lifetime(&self)
  public mutating func part(_ range: Range<Int>) -> MutableRawSpan { _mutatingExtracting(range) }

  /// The bytes from an offset to the end, for as long as this span isn't used.
  @inlinable
  @_lifetime(&self)
  public mutating func part(from offset: Int) -> MutableRawSpan { _mutatingExtracting(offset..<byteCount) }
}

extension [UInt8] {
  /// The array's bytes.
  @inlinable
  public var rawSpan: RawSpan {
    @_lifetime(borrow self)
    borrowing get {
      // SAFETY: bytes have no padding.
      unsafe span.bytes
    }
  }
}

extension String {
  /// Runs `body` on the text's UTF-8 bytes.
  @inlinable
  public func withUTF8Bytes<Result>(_ body: (RawSpan) -> Result) -> Result {
    // SAFETY: bytes have no padding.
    body(unsafe utf8Span.span.bytes)
  }
}

extension [UInt8] {
  /// Runs `body` on a range of the array's bytes.
  @inlinable
  public mutating func withBytes<Result, Failure>(
    in range: Range<Int>, _ body: (inout MutableRawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var span = mutableSpan
    // SAFETY: bytes have no padding, and every bit pattern is a byte.
    var bytes = unsafe span.mutableBytes
    var part = bytes.part(range)
    return try body(&part)
  }
}
