// A record's bytes: a directory of fields, then their values (FORMAT.md 7.1, 7.2).

import NotelogBase

/// One line of a record's directory.
struct FieldEntry: Hashable, Sendable {
  let number: UInt16
  let type: FieldType
  let flags: FieldFlags
  /// The key the value is sealed under; 0 for a plain value.
  var keyReference: UInt32
  /// Where the value lies in the body.
  let range: Range<Int>
}

/// A view of a record's body, whose directory is checked from end to end before the first field is touched. Its last values
/// may be left out.
struct RecordBody: ~Escapable {
  static let version: UInt8 = 1
  static let headerByteCount = 4
  static let entryByteCount = 12
  /// Salt 12, IV 12 and tag 16.
  static let sealOverhead = 40

  let bytes: RawSpan
  let fieldCount: Int

  /// Checks the whole directory: **INV-D1** … **INV-D5**.
  @_lifetime(copy bytes)
  init(checking bytes: RawSpan) throws(NotelogError) { try self.init(checking: bytes, of: bytes.byteCount) }

  /// The same of a body of so many bytes, which begins with these.
  @_lifetime(copy bytes)
  init(checking bytes: RawSpan, of byteCount: Int) throws(NotelogError) {
    fieldCount = try Self.check(bytes, of: byteCount, lookingFor: 0).fieldCount
    self.bytes = bytes
  }

  /// Checks the whole directory of a body of so many bytes, which begins with these, and finds the entry with a number on the way.
  static func find(
    _ number: UInt16, checking bytes: RawSpan, of byteCount: Int
  ) throws(NotelogError) -> FieldEntry? {
    let found = try check(bytes, of: byteCount, lookingFor: number)
    return found.offset == 0 ? nil : try entry(bytes, at: found.offset, found.start)
  }

  /// - Returns: How many fields there are, and where the entry and the value of one of them begin.
  private static func check(
    _ bytes: RawSpan, of byteCount: Int, lookingFor number: UInt16
  ) throws(NotelogError) -> (fieldCount: Int, offset: Int, start: Int) {
    guard bytes.byteCount >= headerByteCount, byteCount <= Limits.recordBytes else {
      throw NotelogError(.damaged, "a record of \(byteCount) bytes is shorter or longer than one can be")
    }
    guard bytes.byte(at: 0) == version else {
      throw NotelogError(
        .unsupportedVersion, "a record has layout \(bytes.byte(at: 0)), this version reads 1")
    }
    let count = Int(bytes.load(UInt16.self, at: 2))
    guard bytes.byte(at: 1) == 0, count <= Limits.fields else {
      throw NotelogError(.damaged, "a record's header is broken", offset: 1)
    }
    let directoryEnd = headerByteCount + count * entryByteCount
    guard directoryEnd <= bytes.byteCount else {
      throw NotelogError(.damaged, "a record's directory of \(count) fields goes beyond its end", offset: 2)
    }
    let lines = bytes.extracting(headerByteCount..<directoryEnd)
    if let found = find(number, inCommon: lines, room: byteCount - directoryEnd) {
      return (count, found.offset, found.start)
    }
    var (offset, end, last) = (headerByteCount, directoryEnd, 0)
    var found = (offset: 0, start: 0)
    while offset < directoryEnd {
      let length = try check(bytes, at: offset, after: last, room: byteCount - end)
      last = Int(bytes.load(UInt16.self, at: offset))
      if last == Int(number) { found = (offset, end) }
      end += length
      offset += entryByteCount
    }
    guard end == byteCount else {
      throw NotelogError(
        .damaged, "\(byteCount - end) bytes follow a record's last value", offset: end)
    }
    return (count, found.offset, found.start)
  }

  /// The same in a directory whose entries are all of forms that are permitted at once, as nearly all are; nothing of another. There
  /// are no calls and no errors in it, which would take the registers that the loop needs.
  private static func find(_ number: UInt16, inCommon lines: RawSpan, room: Int) -> (offset: Int, start: Int)?
  {
    var (offset, end, last, found) = (0, 0, 0 as UInt64, (offset: 0, start: 0))
    while offset < lines.byteCount {
      let line = lines.extracting(offset..<offset &+ entryByteCount)
      let (head, length) = (line.load(UInt64.self, at: 0), line.load(UInt32.self, at: 8))
      guard head & 0xFFFF > last, ValueLengths.permit(length, head) else { return nil }
      last = head & 0xFFFF
      if last == UInt64(number) {
        found = (headerByteCount &+ offset, headerByteCount &+ lines.byteCount &+ end)
      }
      end &+= Int(length)
      offset &+= entryByteCount
    }
    return end == room ? found : nil
  }

  /// Where the directory ends of a body that begins with these bytes, which nobody has checked.
  static func directoryEnd(_ bytes: RawSpan) -> Int {
    DirectoryWriter.byteCount(
      fieldCount: bytes.byteCount < headerByteCount ? 0 : Int(bytes.load(UInt16.self, at: 2)))
  }

  /// Takes bytes that ``init(checking:)`` accepted before.
  @_lifetime(copy bytes)
  init(checked bytes: RawSpan) {
    self.bytes = bytes
    self.fieldCount = Int(bytes.load(UInt16.self, at: 2))
  }

  /// Whether a value left the record for chunks.
  var hasLargeValues: Bool {
    for index in 0..<fieldCount {
      let flags = bytes.byte(at: Self.headerByteCount + index * Self.entryByteCount + 3)
      if flags & FieldFlags.chunked.rawValue != 0 { return true }
    }
    return false
  }

  /// The directory's entries, in order.
  func entries() throws(NotelogError) -> [FieldEntry] {
    var all: [FieldEntry] = []
    all.reserveCapacity(fieldCount)
    var place = start
    while let entry = try next(at: &place) { all.append(entry) }
    return all
  }

  /// A place in the directory: the number of entries before it, and where the next one's value starts.
  struct Cursor {
    fileprivate var index: Int
    fileprivate var valueStart: Int
  }

  /// The place of the first entry.
  var start: Cursor {
    Cursor(index: 0, valueStart: Self.headerByteCount + fieldCount * Self.entryByteCount)
  }

  /// The entry at a place, which moves on to the next; nil behind the last.
  func next(at place: inout Cursor) throws(NotelogError) -> FieldEntry? {
    guard place.index < fieldCount else { return nil }
    let offset = Self.headerByteCount + place.index * Self.entryByteCount
    let entry = try Self.entry(bytes, at: offset, place.valueStart)
    place = Cursor(index: place.index + 1, valueStart: entry.range.upperBound)
    return entry
  }

  /// The entry with a number, or nil.
  func find(_ number: UInt16) throws(NotelogError) -> FieldEntry? {
    var start = Self.headerByteCount + fieldCount * Self.entryByteCount
    for index in 0..<fieldCount {
      let offset = Self.headerByteCount + index * Self.entryByteCount
      let line = bytes.extracting(offset..<offset + Self.entryByteCount)
      let candidate = line.load(UInt16.self, at: 0)
      if candidate == number { return try Self.entry(bytes, at: offset, start) }
      if candidate > number { return nil }
      start += Int(line.load(UInt32.self, at: 8))
    }
    return nil
  }

  /// The entry at an offset, whose value starts at another.
  @inline(__always)
  static func entry(_ bytes: RawSpan, at offset: Int, _ start: Int) throws(NotelogError) -> FieldEntry {
    let line = bytes.extracting(offset..<offset + entryByteCount)
    let head = line.load(UInt64.self, at: 0)
    guard let type = FieldType(rawValue: UInt8(truncatingIfNeeded: head &>> 16)) else {
      throw NotelogError(.damaged, "a field has no known type", offset: offset)
    }
    return FieldEntry(
      number: UInt16(truncatingIfNeeded: head), type: type,
      flags: FieldFlags(rawValue: UInt8(truncatingIfNeeded: head &>> 24)),
      keyReference: UInt32(truncatingIfNeeded: head &>> 32),
      range: start..<start + Int(line.load(UInt32.self, at: 8)))
  }

  /// Checks one entry, and returns its value's length.
  private static func check(
    _ bytes: RawSpan, at offset: Int, after last: Int, room: Int
  ) throws(NotelogError) -> Int {
    guard Int(bytes.load(UInt16.self, at: offset)) > last else {
      throw NotelogError(.damaged, "field numbers don't ascend", offset: offset)
    }
    guard let type = FieldType(rawValue: bytes.byte(at: offset + 2)) else {
      throw NotelogError(
        .damaged, "a field has the unknown type \(bytes.byte(at: offset + 2))", offset: offset)
    }
    let flags = FieldFlags(rawValue: bytes.byte(at: offset + 3))
    guard flags.isValid, (bytes.load(UInt32.self, at: offset + 4) != 0) == flags.contains(.sealed) else {
      throw NotelogError(.damaged, "a field's flags and key reference don't go together", offset: offset)
    }
    guard let length = Int(exactly: bytes.load(UInt32.self, at: offset + 8)), length <= room else {
      throw NotelogError(.damaged, "a field's value goes beyond the record's end", offset: offset)
    }
    if flags.contains(.chunked) {
      // What it says is looked at by whoever wants it, and authenticated then.
      guard type.fixedByteCount == nil, length == ValueReference.storedByteCount else {
        throw NotelogError(.damaged, "a field's reference to a large value is broken", offset: offset)
      }
      return length
    }
    let content = flags.contains(.sealed) ? length - sealOverhead : length
    guard isPossible(content, type, flags) else {
      throw NotelogError(.damaged, "a field's value has a length that its type can't have", offset: offset)
    }
    return length
  }

  /// Whether a value, its seal taken off, can have this length: **INV-D5**.
  static func isPossible(_ length: Int, _ type: FieldType, _ flags: FieldFlags) -> Bool {
    if flags.contains(.padded) { return length >= Limits.paddingBucket }
    let presence = flags.contains(.optional) ? 1 : 0
    guard let fixed = type.fixedByteCount else { return length >= presence }
    return length == presence + fixed || (presence == 1 && length == 1)
  }
}

/// Writes a body's header and directory; the values follow at the ranges it returns.
struct DirectoryWriter {
  private var offset = RecordBody.headerByteCount
  private var valueOffset: Int

  /// Starts a body of so many fields.
  init(fieldCount: Int, into bytes: inout MutableRawSpan) {
    bytes.store(RecordBody.version, at: 0)
    bytes.store(0 as UInt8, at: 1)
    bytes.store(UInt16(fieldCount), at: 2)
    valueOffset = Self.byteCount(fieldCount: fieldCount)
  }

  /// The length of header and directory.
  static func byteCount(fieldCount: Int) -> Int {
    RecordBody.headerByteCount + fieldCount * RecordBody.entryByteCount
  }

  /// Writes the next entry, and returns its value's range.
  mutating func add(
    _ number: UInt16, _ type: FieldType, _ flags: FieldFlags, _ keyReference: UInt32, length: Int,
    into bytes: inout MutableRawSpan
  ) -> Range<Int> {
    bytes.store(number, at: offset)
    bytes.store(type.rawValue, at: offset + 2)
    bytes.store(flags.rawValue, at: offset + 3)
    bytes.store(keyReference, at: offset + 4)
    bytes.store(UInt32(length), at: offset + 8)
    offset += RecordBody.entryByteCount
    defer { valueOffset += length }
    return valueOffset..<valueOffset + length
  }
}
