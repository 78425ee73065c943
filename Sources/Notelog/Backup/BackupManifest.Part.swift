// A file of a backup: FORMAT.md §26.

import NotelogBase
import NotelogFormat

extension BackupManifest {
  /// What a file of a backup is.
  enum Kind: UInt32, CaseIterable {
    /// A finished segment, every byte of it verified.
    case segment = 0
    /// The log's end, every byte of it verified.
    case end = 1
    /// A segment, or the log's end, of which something does not check in the store.
    case damaged = 2

    var suffix: String {
      switch self {
      case .segment: ".segment"
      case .end: ".end"
      case .damaged: ".damaged"
      }
    }
  }

  /// One file: a segment, or the log's end.
  struct Part: Equatable, Sendable {
    /// The segment's number, length and salt. The checksum is its footer's; of another kind, that of all the file's bytes.
    var entry: LiveEntry
    var kind: Kind
    /// Whether it belongs to the newest backup.
    var isCurrent = true
    /// Whether it belongs to the last backup of a sound store.
    var isOfSound = false
  }
}

extension BackupManifest.Part {
  private static let currentFlag: UInt32 = 0x100
  private static let soundFlag: UInt32 = 0x200

  /// Reads a part of a manifest; nothing where it is not one.
  init?(_ bytes: RawSpan, at offset: Int) {
    entry = LiveEntry(bytes, at: offset)
    let word = bytes.load(UInt32.self, at: offset + 20)
    guard let kind = BackupManifest.Kind(rawValue: word & 0xFF),
      word & ~(0xFF | Self.currentFlag | Self.soundFlag) == 0,
      word > 0xFF, FileName.isSegmentNumber(entry.number),
      entry.byteCount <= FormatLimits.maximumSegmentByteCount
    else { return nil }
    self.kind = kind
    isCurrent = word & Self.currentFlag != 0
    isOfSound = word & Self.soundFlag != 0
  }

  func append(to buffer: inout Buffer) {
    let place = buffer.count
    entry.append(to: &buffer)
    let flags = (isCurrent ? Self.currentFlag : 0) | (isOfSound ? Self.soundFlag : 0)
    var bytes = buffer.mutableBytes
    bytes.store(kind.rawValue | flags, at: place + 20)
  }

  /// The name that tells it from every other: what has this name already need not be copied.
  var name: String {
    let salt = String(entry.salt, radix: 16)
    let checksum = String(entry.footerChecksum, radix: 16)
    return "\(entry.number)-\(salt)-\(checksum)-\(entry.byteCount)" + kind.suffix
  }

  /// Whether both are copies of the same segment, however much of it.
  func isOfSegment(_ other: Self) -> Bool {
    entry.number == other.entry.number && entry.salt == other.entry.salt
  }

  /// Whether a file of that name is a part of some backup, or one in the making.
  static func isName(_ name: String) -> Bool {
    let whole =
      name.hasSuffix(FileName.partialSuffix) ? name.dropLast(FileName.partialSuffix.count) : name[...]
    return BackupManifest.Kind.allCases.contains { kind in
      Self(name: whole, kind).map { $0.name == whole } ?? false
    }
  }

  /// What a name says; whether it says it as a name does, the name made of it tells.
  private init?(name: Substring, _ kind: BackupManifest.Kind) {
    guard name.hasSuffix(kind.suffix) else { return nil }
    let parts = name.dropLast(kind.suffix.count).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 4, let number = UInt32(parts[0]), let salt = UInt64(parts[1], radix: 16),
      let checksum = UInt32(parts[2], radix: 16), let byteCount = Int(parts[3])
    else { return nil }
    self.init(
      entry: LiveEntry(number: number, byteCount: byteCount, salt: salt, footerChecksum: checksum),
      kind: kind)
  }
}
