// The lengths that values can have, by type and flags: worked out once, and looked up for each field of each record that is
// read.

/// The lengths that stored values of one type and one set of flags can have: a range of them, or one more.
struct ValueLengths: Sendable, BitwiseCopyable {
  private var least: UInt32 = 1
  private var most: UInt32 = 0
  private var other: UInt32 = .max

  /// By flags and type: five bits and four. Where a form is unknown, or more than its length has to be looked at, no
  /// length is permitted.
  private static let table: InlineArray<512, ValueLengths> = InlineArray { line in
    let flags = FieldFlags(rawValue: UInt8(line >> 4))
    guard let type = FieldType(rawValue: UInt8(line & 15)), flags.isValid, !flags.contains(.chunked) else {
      return ValueLengths()
    }
    return ValueLengths(type, flags)
  }

  private init() {}

  /// What **INV-D5** says, the seal included.
  private init(_ type: FieldType, _ flags: FieldFlags) {
    let seal = flags.contains(.sealed) ? UInt32(RecordBody.sealOverhead) : 0
    let presence: UInt32 = flags.contains(.optional) ? 1 : 0
    most = .max - 1
    if flags.contains(.padded) {
      least = seal + UInt32(Limits.paddingBucket)
    } else if let fixed = type.fixedByteCount {
      least = seal + presence + UInt32(fixed)
      most = least
      if presence == 1 { other = seal + 1 }
    } else {
      least = seal + presence
    }
  }

  /// Whether a value can have a length, given the first eight bytes of its directory entry: number, type, flags and key
  /// reference. There is a key if it is sealed, and none if it isn't.
  @inline(__always)
  static func permit(_ length: Int, _ head: UInt64) -> Bool {
    let (type, flags) = (head >> 16 & 0xFF, head >> 24 & 0xFF)
    guard type < 16, flags < 32, (head >> 32 != 0) == (flags & 1 == 1) else { return false }
    let lengths = table[Int(flags << 4 | type)]
    return (length >= Int(lengths.least) && length <= Int(lengths.most)) || length == Int(lengths.other)
  }
}
