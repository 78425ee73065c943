// Reads an input front to back, whatever it is: behind its end there are zeros.

/// An input that is a small program, and the place of its next byte.
struct InputReader {
  private let bytes: [UInt8]
  private var place = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { place >= bytes.count }

  mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type = Value.self) -> Value {
    var value: Value = 0
    for index in 0..<Value.bitWidth / 8 where place < bytes.count {
      value |= Value(truncatingIfNeeded: bytes[place]) << Value(8 * index)
      place += 1
    }
    return value
  }

  /// So many bytes, or as many as are left.
  mutating func bytes(_ count: Int) -> [UInt8] {
    let end = min(bytes.count, place + count)
    defer { place = end }
    return Array(bytes[min(place, end)..<end])
  }

  /// Bytes with their count, of two bytes, before them.
  mutating func counted() -> [UInt8] { bytes(Int(integer(UInt16.self))) }

  /// All that is left.
  mutating func rest() -> [UInt8] { bytes(bytes.count - place) }
}

extension [UInt8] {
  /// Appends what ``InputReader/integer(_:)`` reads.
  mutating func append<Value: FixedWidthInteger>(integer value: Value) {
    for index in 0..<Value.bitWidth / 8 { append(UInt8(truncatingIfNeeded: value >> Value(8 * index))) }
  }

  /// Appends what ``InputReader/counted()`` reads.
  mutating func append(counted bytes: [UInt8]) {
    append(integer: UInt16(bytes.count))
    self += bytes
  }

  /// Writes an integer over bytes that are there.
  mutating func set<Value: FixedWidthInteger>(_ value: Value, at place: Int) {
    for index in 0..<Value.bitWidth / 8 {
      self[place + index] = UInt8(truncatingIfNeeded: value >> Value(8 * index))
    }
  }
}
