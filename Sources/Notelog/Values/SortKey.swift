// Bytes that order as values do, made from a plain value as it is stored (docs/format-derived.md 33).

import NotelogBase

/// Sort keys: what an ordered index holds of a plain field.
enum SortKey {
  /// How many bytes the key of a stored value of this length has.
  static func byteCount(ofValue byteCount: Int) -> Int { min(byteCount, Limits.sortKeyBytes) }

  /// The key of a value, with so many bytes of it.
  static func key(of value: RawSpan, _ type: FieldType, isOptional: Bool, byteCount: Int) -> [UInt8] {
    var key = [UInt8](repeating: 0, count: byteCount)
    key.withBytes(in: 0..<byteCount) { write(type, isOptional: isOptional, value, into: &$0) }
    return key
  }

  /// Writes the key of a stored value, all ``byteCount(ofValue:)`` bytes of it.
  ///
  /// Text, URLs, bytes and UUIDs order as their bytes do. Numbers are turned around, the most significant
  /// byte first; signs are flipped, and negative doubles complemented, so that they too compare as bytes.
  static func write(_ type: FieldType, isOptional: Bool, _ value: RawSpan, into key: inout MutableRawSpan) {
    var start = 0
    if isOptional, value.byteCount > 0 {
      key.store(value.byte(at: 0), at: 0)
      start = 1
    }
    guard value.byteCount > start else { return }
    switch type {
    case .boolean, .text, .bytes, .uuid, .url, .json:
      key.copy(value.extracting(start..<key.byteCount), at: start)
    case .integer:
      key.store((value.load(UInt64.self, at: start) ^ 1 << 63).byteSwapped, at: start)
    case .unsigned:
      key.store(value.load(UInt64.self, at: start).byteSwapped, at: start)
    case .double, .date:
      key.store(orderedBits(Double(bitPattern: value.load(UInt64.self, at: start))).byteSwapped, at: start)
    }
  }

  /// Whether a value's key is the value itself.
  static func isValue(of type: FieldType) -> Bool { type.fixedByteCount != 8 }

  /// Appends the whole key of a stored value, however long it is.
  ///
  /// - Throws: `damaged` where the bytes are no value of the type.
  static func append(
    _ value: RawSpan, _ type: FieldType, isOptional: Bool, to key: inout [UInt8]
  ) throws(NotelogError) {
    try check(value, type, isOptional: isOptional)
    let start = key.count
    key.append(zeros: value.byteCount)
    key.withBytes(in: start..<key.count) { write(type, isOptional: isOptional, value, into: &$0) }
  }

  /// Refuses bytes that are no value of the type: with another length or presence byte, or text that is not
  /// UTF-8.
  static func check(_ value: RawSpan, _ type: FieldType, isOptional: Bool) throws(NotelogError) {
    guard let value = isOptional ? try presentValue(value, type) : value else { return }
    if let byteCount = type.fixedByteCount { try requireByteCount(value, byteCount, type) }
    if type == .text, !value.isUTF8 { throw NotelogError(.damaged, "a text value is not UTF-8") }
  }

  /// Bits that compare as the numbers do: both zeros alike, every NaN last.
  private static func orderedBits(_ number: Double) -> UInt64 {
    if number.isNaN { return .max }
    let bits = number == 0 ? 0 : number.bitPattern
    return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
  }
}
