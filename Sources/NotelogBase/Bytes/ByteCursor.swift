// Structures read and written front to back: little-endian, every length checked (FORMAT.md 1).

/// Bytes and the offset of the next one to read.
package struct ByteCursor<Failure: Error>: ~Escapable {
  /// What can't be read.
  package enum Fault {
    /// The bytes end before it does.
    case end
    /// Reserved bytes that are not zero.
    case reserved
    /// A text that is empty, or no UTF-8.
    case text
  }

  private let bytes: RawSpan
  package private(set) var offset = 0
  private let failure: (Fault, StaticString, Int) -> Failure

  /// - Parameters:
  ///   - bytes: What is read.
  ///   - failure: The error for what can't be read, what it was to be, and its offset.
  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan, failure: @escaping (Fault, StaticString, Int) -> Failure) {
    self.bytes = bytes
    self.failure = failure
  }

  package var remaining: Int { bytes.byteCount - offset }

  package mutating func integer<Integer: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
    as _: Integer.Type = Integer.self, _ what: StaticString = "a number"
  ) throws(Failure) -> Integer {
    bytes.load(Integer.self, at: try skip(Integer.bitWidth / 8, what))
  }

  package mutating func array(_ count: Int, _ what: StaticString = "a structure") throws(Failure) -> [UInt8] {
    let start = try skip(count, what)
    return bytes.extracting(start..<start + count).array()
  }

  /// A text of one length byte and so many bytes of UTF-8.
  package mutating func name(_ what: StaticString) throws(Failure) -> String {
    let count = Int(try integer(as: UInt8.self, what))
    let start = try skip(count, what)
    guard count > 0, let text = bytes.extracting(start..<start + count).text() else {
      throw failure(.text, what, start)
    }
    return text
  }

  /// Refuses reserved bytes that are not zero.
  package mutating func reserved(_ count: Int, _ what: StaticString = "a structure") throws(Failure) {
    let start = try skip(count, what)
    for index in start..<start + count where bytes.byte(at: index) != 0 {
      throw failure(.reserved, what, index)
    }
  }

  /// Skips `count` bytes and returns where they began.
  package mutating func skip(_ count: Int, _ what: StaticString) throws(Failure) -> Int {
    guard count >= 0, count <= remaining else { throw failure(.end, what, offset) }
    defer { offset += count }
    return offset
  }
}

extension [UInt8] {
  package mutating func append(littleEndian value: some FixedWidthInteger & UnsignedInteger) {
    for shift in stride(from: 0, to: value.bitWidth, by: 8) {
      append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }

  /// Numbers one behind the other, each as wide as its type.
  package mutating func append<First, Second, each Rest>(
    littleEndian first: First, _ second: Second, _ rest: repeat each Rest
  )
  where
    First: FixedWidthInteger & UnsignedInteger, Second: FixedWidthInteger & UnsignedInteger,
    repeat each Rest: FixedWidthInteger & UnsignedInteger
  {
    append(littleEndian: first)
    append(littleEndian: second)
    for number in repeat each rest { append(littleEndian: number) }
  }

  package mutating func append(zeros count: Int) { append(contentsOf: repeatElement(0, count: count)) }

  /// A text of one length byte and so many bytes of UTF-8; the caller has checked its length.
  package mutating func append(name: String) {
    append(UInt8(name.utf8.count))
    append(contentsOf: name.utf8)
  }
}
