// Reading structures front to back, every length checked; and writing them.

import NotelogBase
import NotelogJournal

/// Bytes and the offset of the next one to read.
struct ByteCursor: ~Escapable {
  let bytes: RawSpan
  private(set) var offset = 0

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan) { self.bytes = bytes }

  var remaining: Int { bytes.byteCount - offset }

  mutating func u8(_ what: StaticString) throws(NotelogError) -> UInt8 {
    bytes.byte(at: try advance(1, what))
  }
  mutating func u16(_ what: StaticString) throws(NotelogError) -> UInt16 {
    bytes.load(UInt16.self, at: try advance(2, what))
  }
  mutating func u32(_ what: StaticString) throws(NotelogError) -> UInt32 {
    bytes.load(UInt32.self, at: try advance(4, what))
  }
  mutating func u64(_ what: StaticString) throws(NotelogError) -> UInt64 {
    bytes.load(UInt64.self, at: try advance(8, what))
  }

  /// A text of one length byte and so many bytes of UTF-8.
  mutating func name(_ what: StaticString) throws(NotelogError) -> String {
    let count = Int(try u8(what))
    let start = try advance(count, what)
    guard count > 0, let text = bytes.extracting(start..<start + count).text() else {
      throw NotelogError(.damaged, "\(what) is empty or not UTF-8", offset: UInt64(start))
    }
    return text
  }

  /// Refuses reserved bytes that are not zero.
  mutating func zeros(_ count: Int, _ what: StaticString) throws(NotelogError) {
    let start = try advance(count, what)
    for index in start..<start + count where bytes.byte(at: index) != 0 {
      throw NotelogError(.damaged, "reserved bytes of \(what) are not zero", offset: UInt64(index))
    }
  }

  /// Skips `count` bytes and returns where they began.
  mutating func advance(_ count: Int, _ what: StaticString) throws(NotelogError) -> Int {
    guard count >= 0, count <= remaining else {
      throw NotelogError(.damaged, "\(what) goes beyond its structure's end", offset: UInt64(offset))
    }
    defer { offset += count }
    return offset
  }
}

/// Bytes being written front to back.
struct ByteWriter {
  private(set) var bytes: [UInt8] = []

  mutating func integer(_ value: some FixedWidthInteger & UnsignedInteger) {
    for index in 0..<value.bitWidth / 8 { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
  }

  /// A text of one length byte and so many bytes of UTF-8; the caller has checked its length.
  mutating func name(_ text: String) {
    bytes.append(UInt8(text.utf8.count))
    bytes.append(contentsOf: text.utf8)
  }

  mutating func append(_ more: [UInt8]) { bytes.append(contentsOf: more) }
}
