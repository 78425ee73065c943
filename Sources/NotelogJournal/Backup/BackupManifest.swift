// What a backup consists of: FORMAT.md §13, "Backup".

/// The list of a backup's files. It is replaced in one step, so a backup is the one before or the new one.
struct BackupManifest: Equatable, Sendable {
  static let magic: UInt64 = 0x0A1A_4B42_4C4E_0D89
  static let fileName = "manifest"
  static let temporaryName = fileName + FileName.partialSuffix
  /// What is refused before anything is allocated for it.
  static let maximumByteCount = 1 << 26

  /// What a file of a backup is.
  enum Kind: UInt32 {
    /// A finished segment, every byte of it verified.
    case segment = 0
    /// The log's end.
    case end = 1
    /// A finished segment that does not check, as it is in the store.
    case damagedSegment = 2

    var suffix: String {
      switch self {
      case .segment: ".segment"
      case .end: ".end"
      case .damagedSegment: ".damaged"
      }
    }
  }

  /// One file: a segment, or the log's end.
  struct Part: Equatable, Sendable {
    /// The segment's number, length and salt. The checksum is its footer's, or that of all its bytes for the log's end.
    var entry: LiveEntry
    var kind: Kind

    init(entry: LiveEntry, kind: Kind) {
      self.entry = entry
      self.kind = kind
    }

    /// The name that tells it from every other: what has this name already need not be copied.
    var name: String {
      let salt = String(entry.salt, radix: 16)
      let checksum = String(entry.footerChecksum, radix: 16)
      return "\(entry.number)-\(salt)-\(checksum)-\(entry.byteCount)" + kind.suffix
    }

    /// Whether a file of that name is a part of some backup, or one in the making.
    static func isName(_ name: String) -> Bool {
      let whole =
        name.hasSuffix(FileName.partialSuffix) ? name.dropLast(FileName.partialSuffix.count) : name[...]
      return [Kind.segment, .end, .damagedSegment].contains { kind in
        Part(name: whole, kind).map { $0.name == whole } ?? false
      }
    }

    /// What a name says; whether it says it as a name does, the name made of it tells.
    private init?(name: Substring, _ kind: Kind) {
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

  var storeID: StoreID
  /// Where the backup ends.
  var position: LogPosition
  var parts: [Part]

  init(storeID: StoreID, position: LogPosition, parts: [Part]) {
    self.storeID = storeID
    self.position = position
    self.parts = parts
  }

  init?(_ bytes: RawSpan) {
    let partsStart = 48
    guard bytes.byteCount >= partsStart + 4, bytes.load(UInt64.self, at: 0) == Self.magic,
      bytes.load(UInt32.self, at: 8) == 1
    else { return nil }
    let count = Int(bytes.load(UInt32.self, at: 12))
    let end = partsStart + count * Layout.liveEntryByteCount
    guard bytes.byteCount == end + 4,
      bytes.load(UInt32.self, at: end) == Checksum.of(bytes.extracting(first: end))
    else { return nil }
    storeID = RecordKey(bytes, at: 16)
    position = LogPosition(bytes, at: 32)
    parts = []
    for place in stride(from: partsStart, to: end, by: Layout.liveEntryByteCount) {
      guard let kind = Kind(rawValue: bytes.load(UInt32.self, at: place + 20)) else { return nil }
      parts.append(Part(entry: LiveEntry(bytes, at: place), kind: kind))
    }
  }

  func append(to buffer: inout Buffer) {
    let start = buffer.count
    buffer.appendZeros(48)
    for part in parts {
      let place = buffer.count
      part.entry.append(to: &buffer)
      var bytes = buffer.mutableBytes
      bytes.store(part.kind.rawValue, at: place + 20)
    }
    var bytes = buffer.mutableBytes
    bytes.store(Self.magic, at: start)
    bytes.store(UInt32(1), at: start + 8)
    bytes.store(UInt32(parts.count), at: start + 12)
    storeID.write(into: &bytes, at: start + 16)
    position.write(into: &bytes, at: start + 32)
    let checksum = Checksum.of(buffer.bytes.extracting(start..<buffer.count))
    let end = buffer.count
    buffer.appendZeros(4)
    var whole = buffer.mutableBytes
    whole.store(checksum, at: end)
  }

  /// Reads a backup's manifest; nothing where there is none yet.
  static func read(_ storage: any Storage) throws(JournalError) -> BackupManifest? {
    var buffer = Buffer()
    do throws(StorageError) {
      let file = try retryingInterruptions { () throws(StorageError) in try storage.open(fileName, .read) }
      defer { file.close() }
      try buffer.fill(min(try file.byteCount(), maximumByteCount), from: file, at: 0)
    } catch {
      if error.isMissing { return nil }
      throw JournalError(error)
    }
    guard let manifest = BackupManifest(buffer.bytes) else {
      throw JournalError(.damaged, "the backup's manifest does not check")
    }
    return manifest
  }

  /// Puts the manifest in the place of the one before.
  func write(to storage: any Storage) throws(StorageError) {
    var buffer = Buffer()
    append(to: &buffer)
    let file = try storage.openEmpty(Self.temporaryName)
    defer { file.close() }
    try file.writeAll(buffer.bytes, at: 0)
    try file.sync()
    try retryingInterruptions { () throws(StorageError) in
      try storage.rename(Self.temporaryName, to: Self.fileName)
    }
    try retryingInterruptions { () throws(StorageError) in try storage.syncFolder("") }
  }
}
