// The lengths that values can have, by type and flags: asked for each field of each record that is read, so it is worked out
// without a branch for each type, and without a table that somebody would have to make first.

enum ValueLengths {
  /// The sets of flags that go together, chunked ones left out: a bit for each.
  private static var validFlags: UInt64 { 0b1010_0000_1010_1111 }

  /// How long a value of each type is, five bits for each.
  private static var byteCounts: UInt64 {
    let (any, eight): (UInt64, UInt64) = (anyByteCount, 8)
    return 1 << 5 | eight << 10 | eight << 15 | eight << 20 | any << 25 | any << 30 | eight << 35 | 16 << 40
      | any << 45 | any << 50
  }
  private static var anyByteCount: UInt64 { 31 }

  /// Whether the rules permit a length (**INV-D3**, **INV-D4**, **INV-D5**), given the first eight bytes of a directory entry: number,
  /// type, flags and key reference. Not where these don't go together, or the value is chunked, of which more is asked.
  @inline(__always)
  static func permit(_ length: UInt32, _ head: UInt64) -> Bool {
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
