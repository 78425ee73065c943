// The directories of a collection's records are nearly all alike but for the lengths (FORMAT.md 7.1, 7.2).

import NotelogBase
import NotelogJournal

/// What the directory that was checked last is like: of the next one, what is the same needs no rule but that it is the same.
///
/// It belongs to whoever reads one record after another, and doesn't need to know which record types they are of.
struct DirectoryForm: ~Copyable {
  /// What there is of an entry that doesn't change from record to record.
  private struct Line {
    /// Number, type, flags and key reference.
    let head: UInt64
    /// Its bits, but for those in which a record may differ from the next.
    let constant: UInt64
    let lengths: ValueLengths

    init?(_ head: UInt64) {
      // Of a value that is elsewhere, more is to be checked than its length.
      guard let lengths = ValueLengths(head) else { return nil }
      self.head = head
      self.lengths = lengths
      // A padded value is compressed where that makes it shorter; the rules are the same for both.
      constant = head & Self.bits(.padded) == 0 ? .max : ~Self.bits(.compressed)
    }

    @inline(__always)
    func permits(_ head: UInt64, _ length: UInt32) -> Bool {
      (head ^ self.head) & constant == 0 && lengths.contain(length)
    }

    private static func bits(_ flags: FieldFlags) -> UInt64 { UInt64(flags.rawValue) << 24 }
  }

  /// The body's header, in which is how many lines there are.
  private var header: UInt32 = 0
  /// None where nothing is remembered.
  private var lines: [Line] = []

  /// Checks the whole directory of a body of so many bytes, which begins with these: **INV-D1** … **INV-D5**.
  mutating func check(_ bytes: RawSpan, of byteCount: Int) throws(NotelogError) {
    _ = try check(bytes, of: byteCount, lookingFor: 0)
  }

  /// The same, and finds the entry with a number on the way.
  mutating func find(
    _ number: UInt16, checking bytes: RawSpan, of byteCount: Int
  ) throws(NotelogError) -> FieldEntry? {
    let found = try check(bytes, of: byteCount, lookingFor: number)
    return found.offset == 0 ? nil : try RecordBody.entry(bytes, at: found.offset, found.start)
  }

  /// - Returns: Where the entry and the value of one of the fields begin.
  @inline(__always)
  private mutating func check(
    _ bytes: RawSpan, of byteCount: Int, lookingFor number: UInt16
  ) throws(NotelogError) -> (offset: Int, start: Int) {
    if let found = compare(bytes, of: byteCount, lookingFor: number) { return found }
    let found = try RecordBody.check(bytes, of: byteCount, lookingFor: number)
    remember(bytes, fieldCount: found.fieldCount)
    return (found.offset, found.start)
  }

  /// - Returns: Where the entry and the value of one of the fields begin; nothing where that isn't known to be sound, or nothing
  ///   is remembered.
  @inline(__always)
  func compare(
    _ bytes: RawSpan, of byteCount: Int, lookingFor number: UInt16
  ) -> (offset: Int, start: Int)? {
    var offset = RecordBody.headerByteCount
    var end = DirectoryWriter.byteCount(fieldCount: lines.count)
    guard !lines.isEmpty, bytes.byteCount >= end, byteCount <= Limits.recordBytes,
      bytes.load(UInt32.self, at: 0) == header
    else { return nil }
    var found = (offset: 0, start: 0)
    for line in lines {
      let (head, length) = (bytes.load(UInt64.self, at: offset), bytes.load(UInt32.self, at: offset &+ 8))
      guard line.permits(head, length) else { return nil }
      if UInt16(truncatingIfNeeded: head) == number { found = (offset, end) }
      end &+= Int(length)
      offset &+= RecordBody.entryByteCount
    }
    return end == byteCount ? found : nil
  }

  /// Takes note of a directory that was checked.
  private mutating func remember(_ bytes: RawSpan, fieldCount: Int) {
    lines.removeAll(keepingCapacity: true)
    for index in 0..<fieldCount {
      let head = bytes.load(UInt64.self, at: RecordBody.headerByteCount + index * RecordBody.entryByteCount)
      guard let line = Line(head) else { return lines.removeAll(keepingCapacity: true) }
      lines.append(line)
    }
    header = bytes.load(UInt32.self, at: 0)
  }
}
