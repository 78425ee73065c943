// What a backup consists of: FORMAT.md §26.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// The list of a backup's files. It is there twice; each of the two is replaced in one step, one after the
/// other.
struct BackupManifest: Equatable, Sendable {
  static let magic: UInt64 = 0x0A1A_4B42_4C4E_0D89
  static let fileName = "manifest"
  static let copyName = "manifest.copy"
  static let names = [fileName, copyName]
  /// What is refused before anything is allocated for it.
  static let maximumByteCount = 1 << 26
  private static let partsStart = 64 + Layout.headerByteCount

  /// What is known of the log's last segment besides its file, so that a damaged file of it is never taken
  /// for a whole one.
  struct End: Equatable, Sendable {
    var header: SegmentHeader
    /// The close mark that the copy of the log ends in, where the backup does.
    var mark: CloseMark
  }

  var storeID: ID16
  /// Where the backup ends.
  var position = LogPosition.zero
  /// Grows with each backup: tells the newer of the two files.
  var generation: UInt64 = 0
  /// The log's last segment; nothing where it is finished.
  var end: End?
  /// The files, those among them that only the last backup of a sound store consists of.
  var parts: [Part] = []
}

extension BackupManifest {
  init?(_ bytes: RawSpan) {
    guard bytes.byteCount >= Self.partsStart + 4, bytes.load(UInt64.self, at: 0) == Self.magic,
      bytes.load(UInt32.self, at: 8) == 1
    else { return nil }
    let count = Int(bytes.load(UInt32.self, at: 12))
    let partsEnd = Self.partsStart + count * Layout.liveEntryByteCount
    guard bytes.byteCount == partsEnd + 4,
      bytes.load(UInt32.self, at: partsEnd) == Checksum.of(bytes.extracting(first: partsEnd))
    else { return nil }
    storeID = ID16(bytes, at: 16)
    position = LogPosition(bytes, at: 32)
    generation = bytes.load(UInt64.self, at: 40)
    guard position.isValid, position.offset <= FormatLimits.maximumSegmentByteCount else { return nil }
    parts = []
    var numbers: Set<UInt32> = []
    for place in stride(from: Self.partsStart, to: partsEnd, by: Layout.liveEntryByteCount) {
      guard let part = Part(bytes, at: place) else { return nil }
      if part.isCurrent, !numbers.insert(part.entry.number).inserted { return nil }
      parts.append(part)
    }
    if !bytes.extracting(64..<Self.partsStart).isZero {
      guard let header = try? SegmentHeader(bytes, at: 64), header.number == position.segment,
        position.offset >= Layout.firstFrameOffset, position.offset % 8 == 0
      else { return nil }
      var mark = CloseMark(
        place: position, live: LiveSet(), nextSequence: bytes.load(UInt64.self, at: 48))
      mark.liveCount = Int(bytes.load(UInt32.self, at: 56))
      mark.liveChecksum = bytes.load(UInt32.self, at: 60)
      end = End(header: header, mark: mark)
    }
  }

  func append(to buffer: inout Buffer) {
    buffer.removeAll()
    buffer.appendZeros(Self.partsStart)
    for part in parts { part.append(to: &buffer) }
    var bytes = buffer.mutableBytes
    bytes.store(Self.magic, at: 0)
    bytes.store(UInt32(1), at: 8)
    bytes.store(UInt32(parts.count), at: 12)
    storeID.write(into: &bytes, at: 16)
    position.write(into: &bytes, at: 32)
    bytes.store(generation, at: 40)
    if let end {
      bytes.store(end.mark.nextSequence, at: 48)
      bytes.store(UInt32(end.mark.liveCount), at: 56)
      bytes.store(end.mark.liveChecksum, at: 60)
      end.header.write(into: &bytes, at: 64)
    }
    let checksum = Checksum.of(buffer.bytes)
    let place = buffer.count
    buffer.appendZeros(4)
    var whole = buffer.mutableBytes
    whole.store(checksum, at: place)
  }

  // MARK: - A file of a backup: FORMAT.md §26.

  /// What a file of a backup is.
  enum Kind: UInt32, CaseIterable {
    /// A finished segment, every byte of it verified.
    case segment = 0
    /// The log's end, every byte of it verified.
    case end = 1
    /// A segment, or the log's end, of which something does not check in the store.
    case damaged = 2

    /// What a file's name ends in: the case's own name.
    var suffix: String { ".\(self)" }
  }

  /// One file: a segment, or the log's end.
  struct Part: Equatable, Sendable {
    /// The segment's number, length and salt. The checksum is its footer's; of another kind, that of all the
    /// file's bytes.
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

  // MARK: - What is wrong with a file of a backup: FORMAT.md §26.

  /// What does not check in the part's file, which is read from its first byte to its last.
  func damages(in storage: any Storage) throws(StorageError) -> [Finding] {
    guard let file = try openIfThere(in: storage) else {
      return [Finding(.missingSegment, segment: entry.number)]
    }
    defer { file.close() }
    return try damages(in: ForgivingFile(file))
  }

  func damages(in file: any StorageFile) throws(StorageError) -> [Finding] {
    guard let found = try Survey.read(file, entry.number) else {
      return [Finding(.unreadableSegment, segment: entry.number)]
    }
    var damages = try found.verified(as: kind == .segment ? entry : nil).report.damages
    damages = found.unreadableDamages + damages
    return try hasItsBytes(file) || kind == .segment
      ? damages : damages + [Finding(.backupFile, segment: entry.number)]
  }

  /// Whether the file has the length and checksum that the part has; of a finished segment, the length alone.
  func hasItsBytes(_ file: any StorageFile) throws(StorageError) -> Bool {
    guard try file.byteCount() == entry.byteCount else { return false }
    if kind == .segment { return true }
    return try Checksum.of(file, entry.byteCount).value == entry.footerChecksum
  }

  /// Whether length, header, footer and trailer are a finished segment's, and can be read; what is between
  /// them is not.
  func isWholeAtItsEnds(in storage: any Storage) -> Bool {
    guard let file = try? storage.open(name, .read) else { return false }
    defer { file.close() }
    guard let found = try? Survey.read(file, entry.number), found.entry == entry, found.badCopies.isEmpty
    else {
      return false
    }
    return (try? found.hasSoundFooter()) ?? false
  }

  /// The part that a copy of this one is: of its kind if all of it checks, else a damaged one.
  func asFound(in file: any StorageFile) throws(StorageError) -> Self {
    let byteCount = try file.byteCount()
    let found = LiveEntry(
      number: entry.number, byteCount: byteCount, salt: entry.salt,
      footerChecksum: try Checksum.of(file, byteCount).value)
    var part = self
    if kind == .end { part.entry = found }
    if try part.damages(in: file).isEmpty { return part }
    part.kind = .damaged
    part.entry = found
    return part
  }

  func openIfThere(in storage: any Storage) throws(StorageError) -> (any StorageFile)? {
    do { return try storage.openFile(name, .read) } catch {
      if error.isMissing { return nil }
      throw error
    }
  }
}

// MARK: - The two files of a backup's manifest: FORMAT.md §26.

extension BackupManifest {
  /// Reads both files.
  ///
  /// - Returns: The manifest that is sound, of two, the newer; what is wrong with them; and why the first can't
  ///   be read of those that are there.
  static func readBoth(
    in storage: any Storage
  ) -> (newest: BackupManifest?, findings: [Finding], failure: NotelogError?) {
    var (newest, failure): (BackupManifest?, NotelogError?)
    var generations: [String: UInt64] = [:]
    for name in names {
      do throws(NotelogError) {
        guard let manifest = try read(name, in: storage) else { continue }
        generations[name] = manifest.generation
        if newest.map({ $0.generation < manifest.generation }) ?? true { newest = manifest }
      } catch { failure = failure ?? error }
    }
    guard let newest else {
      let finding = Finding("neither manifest nor manifest.copy can be read", .structure, isDamage: true)
      return (nil, [finding], failure)
    }
    let findings = names.filter { generations[$0] != newest.generation }.map { name in
      let isOlder = generations[name] != nil
      let words = isOlder ? "of the backup before" : "missing, or does not check"
      return Finding("\(name): \(words); the other one serves", .structure, isDamage: !isOlder)
    }
    return (newest, findings, failure)
  }

  private static func read(_ name: String, in storage: any Storage) throws(NotelogError) -> BackupManifest? {
    let bytes: [UInt8]
    do throws(StorageError) { bytes = try storage.readWhole(name, upTo: maximumByteCount) } catch {
      if error.isMissing { return nil }
      throw NotelogError(error)
    }
    guard let manifest = BackupManifest(bytes.rawSpan) else {
      throw NotelogError(.damaged, "the backup's \(name) does not check")
    }
    return manifest
  }

  /// Reads a backup's manifest; nothing where there is none yet.
  ///
  /// - Throws: `damaged` or `inputOutput` where neither of the files can be read.
  static func read(_ storage: any Storage) throws(NotelogError) -> BackupManifest? {
    let files = readBoth(in: storage)
    if let failure = files.failure, files.newest == nil { throw failure }
    return files.newest
  }

  /// Reads the manifest of a store's backup; nothing where a folder is empty.
  ///
  /// - Throws: `alreadyExists` where the folder holds anything but a backup of the store.
  static func read(_ target: any Storage, of storeID: ID16) throws(NotelogError) -> BackupManifest? {
    if let manifest = try read(target) {
      guard manifest.storeID == storeID else {
        throw NotelogError(.alreadyExists, "'\(target.path)' holds a backup of another store")
      }
      return manifest
    }
    let ours = [FileName.lock] + names.map { $0 + FileName.partialSuffix }
    guard try fromStorage(target.names(in: "")).allSatisfy(ours.contains) else {
      throw NotelogError(.alreadyExists, "'\(target.path)' holds something else than a backup")
    }
    return nil
  }

  /// Puts the manifest in the place of the one before, file after file: one of them is whole at any moment.
  func write(to storage: any Storage) throws(StorageError) {
    var buffer = Buffer()
    append(to: &buffer)
    for name in Self.names { try storage.replaceWhole(name, with: buffer.bytes.array()) }
  }
}
