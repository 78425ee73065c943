// Spans of bytes as arrays and text, and copies between them: what the standard library still marks unsafe.

// Public for the optimiser alone (docs/decisions/0076).

internal import CSystem

extension RawSpan {
  /// A copy of the bytes.
  public func array() -> [UInt8] {
    // SAFETY: the pointer covers exactly the span's bytes and does not outlive the call.
    unsafe withUnsafeBytes { unsafe [UInt8]($0) }
  }

  /// The bytes as text, or nil where they are not UTF-8.
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
  public var isUTF8: Bool {
    if let _ = try? UTF8Span(validating: Span(_bytes: self)) { return true }
    return false
  }

  /// Whether both spans hold the same bytes. Not in constant time.
  public func elementsEqual(_ other: RawSpan) -> Bool { byteCount == other.byteCount && compare(other) == 0 }

  /// Whether both spans hold the same bytes, but for the case of ASCII letters. Not in constant time.
  public func elementsEqualIgnoringCase(_ other: RawSpan) -> Bool {
    guard byteCount == other.byteCount else { return false }
    for index in 0..<byteCount where byte(at: index) != other.byte(at: index) {
      guard byte(at: index).lowercasedASCII == other.byte(at: index).lowercasedASCII else { return false }
    }
    return true
  }

  /// Compares the bytes, the shorter span first where it begins the other: below zero where this span comes
  /// first. Not in constant time.
  public func compare(_ other: RawSpan) -> Int {
    // SAFETY: both pointers cover at least the bytes that both spans have, and do not outlive the call.
    let order = unsafe withUnsafeBytes { left in
      unsafe other.withUnsafeBytes { right -> Int32 in
        guard let start = left.baseAddress, let otherStart = right.baseAddress else { return 0 }
        return unsafe memcmp(start, otherStart, min(left.count, right.count))
      }
    }
    return order == 0 ? byteCount - other.byteCount : Int(order)
  }
}

extension UInt8 {
  /// The byte; of an ASCII letter in upper case that in lower case.
  @inlinable
  public var lowercasedASCII: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
}

extension MutableRawSpan {
  /// Copies all of `source` to an offset.
  @inlinable
  public mutating func copy(_ source: RawSpan, at offset: Int = 0) {
    precondition(offset >= 0 && source.byteCount <= byteCount - offset, "bytes are copied within the span")
    // SAFETY: the line above keeps the copy inside the destination; the spans can't overlap, one being
    // exclusive.
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

// MARK: - Little-endian integers in spans of bytes.

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
  public mutating func store<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, at offset: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: offset, as: Value.self)
  }
}

// MARK: - Looking things up in arrays that are in ascending order.

// Public for the optimiser alone (docs/decisions/0076).

extension Array {
  /// The first place whose element satisfies a condition, as all behind it do; the end where none does.
  @inlinable
  @inline(__always)
  public func firstPlace(where condition: (Element) -> Bool) -> Int {
    var lower = 0
    var upper = count
    while lower < upper {
      let middle = (lower + upper) / 2
      if condition(self[middle]) { upper = middle } else { lower = middle + 1 }
    }
    return lower
  }

  /// The first place whose number is not less than the one looked for.
  @inlinable
  @inline(__always)
  public func firstPlace(notBelow number: UInt32, by numberOf: (Element) -> UInt32) -> Int {
    firstPlace { numberOf($0) >= number }
  }

  /// The element of a number, if there is one.
  @inlinable
  @inline(__always)
  public func find(_ number: UInt32, by numberOf: (Element) -> UInt32) -> Element? {
    let place = firstPlace(notBelow: number, by: numberOf)
    return place < count && numberOf(self[place]) == number ? self[place] : nil
  }
}

// MARK: - A stored property by its offset: what `MemoryLayout.offset(of:)` is for, at a fraction of a key path's cost.

// Public for the optimiser alone (docs/decisions/0076).

/// Reads the stored property of type `Value` at `offset`, which `MemoryLayout.offset(of:)` gave for `root`'s
/// type.
@inlinable
public func loadProperty<Root, Value>(_ type: Value.Type, of root: borrowing Root, at offset: Int) -> Value {
  // SAFETY: the offset is that of an initialised stored property of this very type, so it is aligned and
  // bound to it.
  unsafe withUnsafePointer(to: root) { pointer in
    unsafe (UnsafeRawPointer(pointer) + offset).assumingMemoryBound(to: Value.self).pointee
  }
}

/// Sets the stored property at `offset`, which `MemoryLayout.offset(of:)` gave for `root`'s type.
@inlinable
public func storeProperty<Root, Value>(_ value: Value, to root: inout Root, at offset: Int) {
  // SAFETY: as above; the access to `root` is exclusive.
  unsafe withUnsafeMutablePointer(to: &root) { pointer in
    unsafe (UnsafeMutableRawPointer(pointer) + offset).assumingMemoryBound(to: Value.self).pointee = value
  }
}

// MARK: - A few bytes on the stack to read into.

// Public for the optimiser alone (docs/decisions/0076).

/// Calls `body` with 48 zeroed bytes: room for a frame's header and the beginning of its envelope.
@inlinable
@inline(__always)
public func withScratch<Result, Failure: Error>(
  _ body: (inout MutableRawSpan) throws(Failure) -> Result
) throws(Failure) -> Result {
  var bytes = InlineArray<6, UInt64>(repeating: 0)
  var words = bytes.mutableSpan
  // SAFETY: integers may hold any bit pattern.
  var raw = unsafe words.mutableBytes
  return try body(&raw)
}
