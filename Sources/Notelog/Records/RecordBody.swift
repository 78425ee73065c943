// A record's bytes: a directory of fields, then their values (FORMAT.md 7.1, 7.2).

import NotelogBase
import NotelogFormat

/// One line of a record's directory.
struct FieldEntry: Hashable, Sendable {
  let number: UInt16
  let type: FieldType
  var flags: FieldFlags
  /// The key the value is sealed under; 0 for a plain value.
  var keyReference: UInt32
  /// Where the value lies in the body.
  var range: Range<Int>
}

/// A view of a record's body, whose directory is checked from end to end before the first field is touched.
/// Its last values may be left out.
struct RecordBody: ~Escapable {
  static let version: UInt8 = 1
  static let headerByteCount = 4
  static let entryByteCount = 12
  /// Salt 12, IV 12 and tag 16.
  static let sealOverhead = 40

  let bytes: RawSpan
  let fieldCount: Int

  /// Checks the whole directory: **INV-D1** … **INV-D5**. Of a body of so many bytes, these may be the
  /// beginning.
  @_lifetime(copy bytes)
  init(checking bytes: RawSpan, of byteCount: Int? = nil) throws(NotelogError) {
    fieldCount = try Self.check(bytes, of: byteCount ?? bytes.byteCount, lookingFor: 0).fieldCount
    self.bytes = bytes
  }

  /// Checks the whole directory of a body of so many bytes, which begins with these, and finds the entry with
  /// a number on the way.
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

  /// The same in a directory whose entries are all of forms that are permitted at once, as nearly all are;
  /// nothing of another. There are no calls and no errors in it, which would take the registers that the loop
  /// needs.
  private static func find(_ number: UInt16, inCommon lines: RawSpan, room: Int) -> (offset: Int, start: Int)?
  {
    var (offset, end, last, found) = (0, 0, 0 as UInt64, (offset: 0, start: 0))
    while offset < lines.byteCount {
      let line = lines.extracting(offset..<offset &+ entryByteCount)
      let (head, length) = (line.load(UInt64.self, at: 0), line.load(UInt32.self, at: 8))
      guard head & 0xFFFF > last, permits(length, head) else { return nil }
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

  /// The directory's entries, in order.
  func entries() throws(NotelogError) -> [FieldEntry] {
    var all: [FieldEntry] = []
    all.reserveCapacity(fieldCount)
    var place = start
    while let entry = try next(at: &place) { all.append(entry) }
    return all
  }

  /// Where an entry is, and its value.
  typealias Cursor = (index: Int, valueStart: Int)

  /// The place of the first entry.
  var start: Cursor { (0, Self.headerByteCount + fieldCount * Self.entryByteCount) }

  /// The entry at a place, which moves on to the next; nil behind the last.
  @inline(__always)
  func next(at place: inout Cursor) throws(NotelogError) -> FieldEntry? {
    guard place.index < fieldCount else { return nil }
    let offset = Self.headerByteCount + place.index * Self.entryByteCount
    let entry = try Self.entry(bytes, at: offset, place.valueStart)
    place = (place.index + 1, entry.range.upperBound)
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
    guard permits(bytes.load(UInt32.self, at: offset + 8), bytes.load(UInt64.self, at: offset)) else {
      throw NotelogError(.damaged, "a field's value has a length that its type can't have", offset: offset)
    }
    return length
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

  /// Writes the next entry, of whose range the length counts, and returns its value's range.
  mutating func add(_ entry: FieldEntry, into bytes: inout MutableRawSpan) -> Range<Int> {
    bytes.store(entry.number, at: offset)
    bytes.store(entry.type.rawValue, at: offset + 2)
    bytes.store(entry.flags.rawValue, at: offset + 3)
    bytes.store(entry.keyReference, at: offset + 4)
    bytes.store(UInt32(entry.range.count), at: offset + 8)
    offset += RecordBody.entryByteCount
    defer { valueOffset += entry.range.count }
    return valueOffset..<valueOffset + entry.range.count
  }
}

// MARK: - How a field's bytes were made (FORMAT.md 7.2).

/// The flags of a field in a record's directory.
struct FieldFlags: OptionSet, Hashable, Sendable {
  let rawValue: UInt8

  /// The value is sealed: salt, IV, ciphertext and tag.
  static let sealed = FieldFlags(rawValue: 1)
  /// A presence byte comes before the value.
  static let optional = FieldFlags(rawValue: 2)
  /// The sealed plaintext was padded.
  static let padded = FieldFlags(rawValue: 4)
  /// The sealed plaintext was compressed before it was padded.
  static let compressed = FieldFlags(rawValue: 8)

  /// The value left the record, and a reference to its chunks stands in its place.
  static let chunked = FieldFlags(rawValue: 16)

  static let all: FieldFlags = [.sealed, .optional, .padded, .compressed, .chunked]

  /// Whether all of some flags are set: asked for each field that is read or written.
  @inline(__always)
  func contains(_ flags: FieldFlags) -> Bool { rawValue & flags.rawValue == flags.rawValue }

  /// Whether the flags are known, and go together.
  var isValid: Bool {
    guard isSubset(of: .all) else { return false }
    if contains(.compressed) && !contains(.padded) { return false }
    return contains(.sealed) || (!contains(.padded) && !contains(.chunked))
  }
}

// MARK: - The lengths that values can have, by type and flags: asked for each field of each record that is read, so it is worked out without a branch for each type, and without a table that somebody would have to make first.

extension RecordBody {
  /// The sets of flags that go together, chunked ones left out: a bit for each.
  private static var validFlags: UInt64 { 0b1010_0000_1010_1111 }

  /// How long a value of each type is, five bits for each.
  private static var byteCounts: UInt64 {
    let (any, eight): (UInt64, UInt64) = (anyByteCount, 8)
    return 1 << 5 | eight << 10 | eight << 15 | eight << 20 | any << 25 | any << 30 | eight << 35 | 16 << 40
      | any << 45 | any << 50
  }
  private static var anyByteCount: UInt64 { 31 }

  /// Whether the rules permit a length (**INV-D3**, **INV-D4**, **INV-D5**), given the first eight bytes of a
  /// directory entry: number, type, flags and key reference. Not where these don't go together, or the value
  /// is chunked, of which more is asked.
  @inline(__always)
  static func permits(_ length: UInt32, _ head: UInt64) -> Bool {
    let (type, flags) = (head &>> 16 & 0xFF, head &>> 24 & 0xFF)
    let (isSealed, presence) = (Int64(flags & 1), Int64(flags &>> 1 & 1))
    guard type <= 10, flags < 16, validFlags &>> flags & 1 == 1, (head &>> 32 != 0) == (isSealed == 1) else {
      return false
    }
    let byteCount = byteCounts &>> (5 &* type) & 31
    let stored = Int64(length) &- (Int64(RecordBody.sealOverhead) & (0 &- isSealed))
    if flags & UInt64(FieldFlags.padded.rawValue) != 0 {
      return byteCount != 0 && stored >= Limits.paddingBucket
    }
    if byteCount == anyByteCount { return stored >= presence }
    // An optional value that is absent is its presence byte alone.
    return byteCount != 0 && (stored == presence &+ Int64(byteCount) || (stored == 1 && presence == 1))
  }
}

// MARK: - A record that a scan has come to, before anything is known of its type.

/// A record as it lies in the memory that a scan reads into.
///
/// Nothing in it depends on the record type, so that going from one to the next asks the runtime for nothing.
@usableFromInline
struct ScannedRecord: ~Escapable {
  let record: StoredRecord
  /// The record's bytes, checked.
  let body: RecordBody

  @_lifetime(copy body)
  init(_ record: StoredRecord, _ body: RecordBody) {
    self.record = record
    self.body = body
  }

  var id: RecordID { RecordID(record.id) }
}

extension Snapshot {
  /// Calls `body` with each record of a collection, its bytes checked, until it returns false. They come in
  /// the order in which they lie on the disk.
  ///
  /// What can't be read is left out, and `damaged` is told of it; the rest follows, unless it throws.
  func scan(
    _ collection: UInt16, part: Int = 0, of partCount: Int = 1,
    damaged: (Finding) throws -> Void, _ body: (ScannedRecord) throws -> Bool
  ) throws {
    let stop = Cancellation.flag
    try forEach(in: collection, part: part, of: partCount, onDamage: damaged) { record, payload, range in
      let scanned: ScannedRecord
      do throws(NotelogError) {
        scanned = ScannedRecord(record, try RecordBody(checking: payload.extracting(range)))
      } catch {
        try damaged(Finding(error, RecordID(record.id)))
        return true
      }
      if stop?.isSet == true { throw CancellationError() }
      return try body(scanned)
    }
  }
}

// MARK: - Whether an envelope says what the body behind it does: FORMAT.md §5, docs/format-derived.md §33, INV-V3.

extension RecordBody {
  /// Compares what the journal knows of a record without its schema with the record itself: queries find
  /// records by the one, and show the other; and compaction keeps the chunks that the one names, which the
  /// other refers to.
  ///
  /// - Throws: `damaged`, with the field.
  func compare(with envelope: RawSpan) throws(NotelogError) {
    var values: [ID16] = []
    var keyCount = 0
    var place = start
    while let entry = try next(at: &place) {
      let value = bytes.extracting(entry.range)
      if entry.flags.contains(.chunked) { values.append(ValueReference.value(in: value)) }
      guard let key = Envelope.sortKey(of: entry.number, in: envelope) else { continue }
      keyCount += 1
      guard !entry.flags.contains(.sealed), Self.isKey(envelope.extracting(key), of: value, entry) else {
        throw NotelogError(.damaged, "the envelope's sort key of field \(entry.number) is not its value's")
      }
    }
    guard Envelope.values(envelope) == values else {
      throw NotelogError(.damaged, "the envelope names other large values than the record refers to")
    }
    Envelope.forEachSortKey(in: envelope) { _, _ in keyCount -= 1 }
    guard keyCount == 0 else {
      throw NotelogError(.damaged, "the envelope has a sort key of a field that the record lacks")
    }
  }

  /// Whether a key is that of a value: as it is, or, where the field became optional since it was written, as
  /// of one that is there.
  private static func isKey(_ key: RawSpan, of value: RawSpan, _ entry: FieldEntry) -> Bool {
    let isOptional = entry.flags.contains(.optional)
    let byteCount = SortKey.byteCount(ofValue: value.byteCount)
    if key.byteCount == byteCount,
      key.elementsEqual(
        SortKey.key(of: value, entry.type, isOptional: isOptional, byteCount: byteCount).rawSpan)
    {
      return true
    }
    guard !isOptional, key.byteCount == SortKey.byteCount(ofValue: value.byteCount + 1), key.byte(at: 0) == 1
    else { return false }
    let rest = key.extracting(droppingFirst: 1)
    return rest.elementsEqual(
      SortKey.key(of: value, entry.type, isOptional: false, byteCount: rest.byteCount).rawSpan)
  }
}
