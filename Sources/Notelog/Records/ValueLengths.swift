// The lengths that values can have, by type and flags: asked for fields of each record that is read, so it is worked out
// without a branch for each type, and without a table that somebody would have to make first.

/// The lengths that values of an entry's type and flags can have: those between two, and that of one that is absent.
struct ValueLengths {
  let least: UInt32
  let most: UInt32
  let absent: UInt32

  @inline(__always)
  func contain(_ length: UInt32) -> Bool { (length >= least && length <= most) || length == absent }
}

extension ValueLengths {
  /// The sets of flags that go together, chunked ones left out: a bit for each.
  private static var validFlags: UInt64 { 0b1010_0000_1010_1111 }

  /// How long a value of each type is, five bits for each.
  private static var byteCounts: UInt64 {
    let (any, eight): (UInt64, UInt64) = (anyByteCount, 8)
    return 1 << 5 | eight << 10 | eight << 15 | eight << 20 | any << 25 | any << 30 | eight << 35 | 16 << 40
      | any << 45 | any << 50
  }
  private static var anyByteCount: UInt64 { 31 }

  /// Those that the rules permit (**INV-D3**, **INV-D4**, **INV-D5**), given the first eight bytes of a directory entry: number,
  /// type, flags and key reference. Nothing where these don't go together, or the value is chunked, of which more is asked.
  @inline(__always)
  init?(_ head: UInt64) {
    let (type, flags, isSealed) = (head &>> 16 & 0xFF, head &>> 24 & 0xFF, head &>> 24 & 1)
    guard type <= 10, flags < 16, Self.validFlags &>> flags & 1 == 1, (head &>> 32 != 0) == (isSealed == 1)
    else { return nil }
    let byteCount = Self.byteCounts &>> (5 &* type) & 31
    let seal = UInt32(isSealed) * UInt32(RecordBody.sealOverhead)
    // An optional value that is absent is its presence byte alone.
    let presence = UInt32(flags &>> 1 & 1)
    if byteCount == 0 { return nil }
    if flags & UInt64(FieldFlags.padded.rawValue) != 0 {
      least = seal + UInt32(Limits.paddingBucket)
      most = .max
      absent = least
    } else if byteCount == Self.anyByteCount {
      least = seal + presence
      most = .max
      absent = least
    } else {
      least = seal + presence + UInt32(byteCount)
      most = least
      absent = presence == 1 ? seal + 1 : least
    }
  }
}
