// The objects of an archive, and the names that say what they are: FORMAT.md §26.

import NotelogBase
import NotelogFormat

/// An object of an archive, as its name describes it. What is in it, only its bytes tell.
struct ArchivedObject: Hashable, Sendable {
  /// What an object is: the letter that its name begins with.
  enum Kind: String, Sendable {
    case compacted = "s"
    case log = "l"
    case piece = "p"
    case damaged = "d"
    case keyring = "k"

    /// The fields behind the letter, and their digits, a hexadecimal one's negative.
    fileprivate var fields: [(field: Field, digits: Int)] {
      let end: [(field: Field, digits: Int)] = [(.branch, -8), (.next, 15), (.time, 13)]
      let segment: [(field: Field, digits: Int)] = [(.number, 10), (.salt, -16)]
      return switch self {
      case .compacted: segment + [(.checksum, -8), (.upperBound, 10)]
      case .log: segment + [(.checksum, -8), (.upperBound, 10)] + end
      case .piece: segment + [(.lowerBound, 10), (.upperBound, 10)] + end + [(.checksum, -8)]
      case .damaged: segment + [(.upperBound, 10), (.checksum, -8)]
      case .keyring: segment
      }
    }
  }

  fileprivate enum Field { case number, salt, checksum, lowerBound, upperBound, branch, next, time }

  /// The branch that a part of the log is of, the transaction that follows, and the time.
  struct LogEnd: Hashable, Sendable {
    var branch: UInt32 = 0
    var nextSequence: UInt64 = 0
    var time: UInt64 = 0
  }

  /// The highest time that a name has room for.
  static let timeMax: UInt64 = 9_999_999_999_999

  let name: String
  let kind: Kind
  /// The segment's number; a keyring's generation.
  let number: UInt64
  /// The segment's salt; of a keyring, the first bytes of its SHA-256.
  let salt: UInt64
  /// The footer's checksum of a whole segment; of a piece and of damage that of all bytes.
  let checksum: UInt32
  /// Which bytes of the segment it is.
  var range: Range<Int>
  /// Where the log stands at its end; nothing but zeros where it is none of the log's.
  let end: LogEnd

  var byteCount: Int { range.count }
  /// How a live set names the segment that it is whole; nothing where it isn't.
  var entry: LiveEntry? {
    guard kind == .compacted || kind == .log else { return nil }
    return LiveEntry(number: UInt32(number), byteCount: byteCount, salt: salt, footerChecksum: checksum)
  }

  /// A finished segment: with where the log stands, one of the log.
  init(_ entry: LiveEntry, _ end: LogEnd?) {
    self.init(
      end == nil ? .compacted : .log, UInt64(entry.number), entry.salt, 0..<entry.byteCount, end ?? LogEnd(),
      checksum: entry.footerChecksum)
  }

  /// A piece of a head.
  init(_ number: UInt32, salt: UInt64, _ range: Range<Int>, _ end: LogEnd, checksum: UInt32) {
    self.init(.piece, UInt64(number), salt, range, end, checksum: checksum)
  }

  /// A segment that does not check.
  init(damaged number: UInt32, salt: UInt64, byteCount: Int, checksum: UInt32) {
    self.init(.damaged, UInt64(number), salt, 0..<byteCount, checksum: checksum)
  }

  /// A keyring, and the first bytes of its SHA-256.
  init(keyring generation: UInt64, fingerprint: UInt64) {
    self.init(.keyring, generation, fingerprint)
  }

  private init(
    _ kind: Kind, _ number: UInt64, _ salt: UInt64, _ range: Range<Int> = 0..<0, _ end: LogEnd = LogEnd(),
    checksum: UInt32 = 0
  ) {
    (self.kind, self.number, self.salt) = (kind, number, salt)
    (self.range, self.end, self.checksum) = (range, end, checksum)
    func value(_ field: Field) -> UInt64 {
      switch field {
      case .number: number
      case .salt: salt
      case .checksum: UInt64(checksum)
      case .lowerBound: UInt64(range.lowerBound)
      case .upperBound: UInt64(range.upperBound)
      case .branch: UInt64(end.branch)
      case .next: end.nextSequence
      case .time: end.time
      }
    }
    name = kind.fields.reduce(kind.rawValue) { name, field in
      name + "-" + String(value(field.field), digits: field.digits)
    }
  }

  /// What a name says; nothing where no object has such a name.
  init?(name: String) {
    let words = name.split(separator: "-", omittingEmptySubsequences: false)
    guard let kind = Kind(rawValue: String(words[0])), words.count == kind.fields.count + 1 else {
      return nil
    }
    var values: [Field: UInt64] = [:]
    for (word, (field, digits)) in zip(words.dropFirst(), kind.fields) {
      guard let value = UInt64(word, radix: digits < 0 ? 16 : 10) else { return nil }
      values[field] = value
    }
    func value(_ field: Field) -> UInt64 { values[field] ?? 0 }
    let limit = UInt64(FormatLimits.maximumSegmentByteCount)
    guard value(.upperBound) <= limit, value(.lowerBound) <= value(.upperBound) else { return nil }
    let end = LogEnd(
      branch: UInt32(truncatingIfNeeded: value(.branch)), nextSequence: value(.next), time: value(.time))
    self.init(
      kind, value(.number), value(.salt), Int(value(.lowerBound))..<Int(value(.upperBound)), end,
      checksum: UInt32(truncatingIfNeeded: value(.checksum)))
    // Another name may say the same.
    guard self.name == name, isPossible else { return nil }
  }

  /// Whether numbers are within the format's limits.
  private var isPossible: Bool {
    if kind == .keyring { return true }
    let isLog = kind == .log || kind == .piece
    return number > 0 && number <= UInt64(FormatLimits.maximumSegmentNumber)
      && (kind == .damaged || !range.isEmpty) && end.nextSequence <= UInt64(FormatLimits.maximumSequence)
      && (end.nextSequence > 0 || !isLog) && end.time <= Self.timeMax
  }

  // MARK: - The object that says which store an archive is of

  private static let storePrefix = "store-"

  /// The name of the object that says which store an archive is of.
  static func store(_ id: ID16) -> String {
    storePrefix + id.array.map { String($0, digits: -2) }.joined()
  }
  static func isStore(_ name: String) -> Bool {
    let digits = name.utf8.dropFirst(storePrefix.utf8.count)
    return name.hasPrefix(storePrefix) && digits.count == 32
      && digits.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
  }
}

extension String {
  /// The first digits of a branch's id, which stand for it in names.
  init(prefix: UInt32) { self.init(prefix, digits: -8) }
}

extension SegmentHeader {
  /// The branch as names of objects have it.
  var branchPrefix: UInt32 { UInt32(truncatingIfNeeded: branch.id.low).byteSwapped }
}
