// The files of a pile, sorted by what they are and whether they count: docs/maintenance.md, "Salvage".

import NotelogBase
import NotelogFormat
import NotelogStorage

/// The segments that were found, and what they say of one another.
struct SalvagePile {
  private(set) var files: [SalvageFile] = []
  private(set) var storeID = ID16.zero
  /// What says how far the log went.
  private(set) var witnesses: Witnesses
  /// The highest position that any of them names as durable.
  var floor: LogPosition { witnesses.floor }
  /// The live set of the newest segment of the log in which one can be read.
  private(set) var live: LiveSet?
  /// The number of that segment.
  private(set) var liveNumber: UInt32 = 0

  /// Segments whose files are there, and can't be opened.
  private(set) var unopened: Set<UInt32> = []

  /// Files of a store that hold no frames.
  private static let otherNames: Set<String> = [
    FileName.lock, FileName.reserve, FileName.torn, FileName.index, FileName.keyring, FileName.keyringCopy,
    FileName.schemas, FileName.pins, FileName.creating, FileName.created,
  ]

  init(
    _ storage: any Storage, storeID expected: ID16?, _ report: inout SalvageSummary
  ) throws(NotelogError) {
    witnesses = Witnesses(in: storage)
    let (found, unopened) = try Self.files(in: storage)
    for (name, errno) in unopened {
      let number = FileName.segmentNumber(name)
      report.add(
        Finding(
          .unreadableFile, in: name, segment: number,
          words: "it can't be read: \(SystemErrno.message(errno))"))
      if let number { self.unopened.insert(number) }
    }
    guard let id = expected ?? Self.commonest(found) else {
      throw NotelogError(.notFound, "there is no segment with a readable header here; give the store's id")
    }
    storeID = id
    for file in found {
      if let header = file.header, header.storeID != id {
        report.others.append((file.name, header.storeID))
      } else {
        files.append(file)
      }
    }
    try findLive()
    try findSalts(&report)
    noteDoubled(&report)
    findReplaced()
    witnesses.hear(of: storeID, headers)
    try fromStorage(findEnds())
  }

  /// The files that frames are looked for in, and the names of segments that can't be opened.
  private static func files(
    in storage: any Storage
  ) throws(NotelogError) -> (found: [SalvageFile], unopened: [(name: String, errno: Int32)]) {
    var found: [SalvageFile] = []
    var unopened: [(name: String, errno: Int32)] = []
    for name in try fromStorage(storage.names(in: "")).sorted() where !otherNames.contains(name) {
      do throws(StorageError) {
        let file = try SalvageFile(name, in: storage)
        // A file of any name may be a segment, if it says so, or if its frames do.
        let mayHoldFrames = file.byteCount > Layout.firstFrameOffset
        if file.header != nil || name.contains(".journal") || mayHoldFrames { found.append(file) }
      } catch {
        if name.contains(".journal") { unopened.append((name, error.errno)) }
      }
    }
    return (found, unopened)
  }

  /// The store that a pile is of: the keyring's, if any file is; otherwise the one that most bytes belong to.
  static func store(in storage: any Storage, keyring: ID16?) throws(NotelogError) -> ID16? {
    let found = try files(in: storage).found
    if let keyring, found.contains(where: { $0.header?.storeID == keyring }) { return keyring }
    return commonest(found) ?? keyring
  }

  /// The headers of all files that have one.
  private var headers: [SegmentHeader] { files.compactMap(\.header) }

  /// Takes in the marks of a file that is not finished: a finished one names no position above its
  /// successor's.
  mutating func hearMarks(of file: SalvageFile) throws(StorageError) {
    guard !file.isCompacted, file.trailer == nil else { return }
    var walk = file.walk()
    try witnesses.hear(&walk)
  }

  /// Finds where the frames end of segments without a trailer, as an opening does: where they make the footer
  /// that the live set speaks of, none is missing. What follows them is that footer, or space that was
  /// promised to it when the process died.
  private mutating func findEnds() throws(StorageError) {
    for index in files.indices where files[index].trailer == nil && files[index].keptByteCount == .max {
      let file = files[index]
      guard let header = file.header, let entry = live?[header.number], entry.salt == header.salt else {
        continue
      }
      let segment = Segment(
        number: header.number, kind: header.kind, salt: SegmentSalt(header.salt), file: file.file,
        entry: entry)
      let reading = try segment.forEachEntry(upTo: entry.byteCount) { _, _ in }
      if let end = reading.framesEnd { files[index].keptByteCount = end }
    }
  }

  /// The number of the newest segment of the log.
  private var newestLogNumber: UInt32? {
    files.compactMap { $0.header?.kind.isLog == true ? $0.number : nil }.max()
  }

  /// The store that most bytes belong to.
  private static func commonest(_ files: [SalvageFile]) -> ID16? {
    var byteCounts: [ID16: Int] = [:]
    for file in files {
      if let id = file.header?.storeID { byteCounts[id, default: 0] += file.byteCount }
    }
    return byteCounts.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key
  }

  /// The live set of the newest log segment that has a readable one, with the changes committed since.
  private mutating func findLive() throws(NotelogError) {
    let log = files.filter { $0.header?.kind.isLog == true }
      .sorted { ($0.header?.number ?? 0, $0.byteCount) > ($1.header?.number ?? 0, $1.byteCount) }
    for file in log {
      guard let header = file.header,
        let set = try fromStorage(Self.live(of: file))
      else { continue }
      live = set
      liveNumber = header.number
      let present = unopened.union(files.compactMap(\.number))
      live?.addUnlisted(
        files.compactMap { file in file.header.map { ($0, file.entry) } },
        isMissing: { !present.contains($0) })
      return
    }
  }

  private static func live(of file: SalvageFile) throws(StorageError) -> LiveSet? {
    var reader = file.reader()
    guard let header = file.header, let (set, end) = try reader.liveSet(of: header) else { return nil }
    var live = set
    var walk = file.walk(from: end)
    try walk.applyLiveChanges(to: &live)
    return live
  }

  /// Finds the salts of files without a header: from the live set, or from their own frames.
  private mutating func findSalts(_ report: inout SalvageSummary) throws(NotelogError) {
    var withSalt: [SalvageFile] = []
    for var file in files {
      if file.salt == nil {
        file.salt = try fromStorage(salt(of: file))
        guard file.salt != nil else {
          if try isInterruptedCreation(file) { continue }
          if file.name.contains(".journal") {
            report.add(
              Finding(
                .unreadableFile, in: file.name, segment: FileName.segmentNumber(file.name),
                byteCount: file.byteCount))
          }
          file.file.close()
          continue
        }
        if file.number == nil {
          // Without a name, its own marks say which one it is: they name places in it, once there was a sync.
          let named = try fromStorage(namedSegment(in: file))
          if named > 0, !files.contains(where: { $0.number == named }) { file.number = named }
        }
        report.headerless.append(file.name)
      }
      withSalt.append(file)
    }
    files = withSalt
  }

  /// The segment that the highest mark of a file without a header names.
  private func namedSegment(in file: SalvageFile) throws(StorageError) -> UInt32 {
    var walk = file.walk()
    var named = LogPosition.zero
    while let header = try walk.advance() { named = max(named, try walk.witness(header) ?? .zero) }
    return named.segment
  }

  /// Whether nothing was ever in a file: the process died while it created the next segment.
  private func isInterruptedCreation(_ file: SalvageFile) throws(NotelogError) -> Bool {
    guard file.number ?? 0 > newestLogNumber ?? 0 else { return false }
    return try fromStorage(Survey.isInterruptedCreation(file.file))
  }

  private func salt(of file: SalvageFile) throws(StorageError) -> SegmentSalt? {
    if let number = file.number, let entry = live?[number] {
      let salt = SegmentSalt(entry.salt)
      if try SalvageFile.hasFrame(file.file, file.byteCount, under: salt) { return salt }
    }
    return try SegmentSalt(framesOf: file.file, byteCount: file.byteCount)
  }

  private func noteDoubled(_ report: inout SalvageSummary) {
    var seen: Set<UInt32> = []
    for file in files {
      if let salt = file.salt, !seen.insert(salt.share).inserted { report.duplicates.append(file.name) }
    }
  }

  /// Says which files, or which parts of them, something else has taken the place of.
  private mutating func findReplaced() {
    let (replaced, kept) = (headers.replaced, headers.keptByteCounts)
    for index in files.indices {
      guard let number = files[index].number else { continue }
      if let live, number < liveNumber {
        // A file that the live set names may also be an older, or another, under the same number.
        let entry = live[number]
        files[index].isReplaced =
          entry == nil || files[index].header.map { $0.salt != entry?.salt } ?? false
      } else {
        files[index].isReplaced = number != liveNumber && replaced.contains(number)
      }
      if let kept = kept[number], kept > 0 { files[index].keptByteCount = kept }
    }
  }

  /// Whether a checkpoint is of these segments: those that both know, by a file or by the live set, have the
  /// same salts. Frames that were moved within a file without a header check under another one, and none is
  /// where the checkpoint says that it was.
  func isKnown(to head: CheckpointHead) -> Bool {
    var known: [(number: UInt32?, salt: SegmentSalt?)] = files.filter { !$0.isReplaced }.map {
      ($0.number, $0.salt)
    }
    known += live?.entries.map { ($0.number, SegmentSalt($0.salt)) } ?? []
    return known.allSatisfy { number, salt in
      guard let figures = number.flatMap(head.figures(of:)) else { return true }
      return SegmentSalt(figures.salt).share == salt?.share
    }
  }

  /// How long a file was, where it ends too early: every segment is finished but the newest of the log.
  func expectedByteCount(of file: SalvageFile) -> Int? {
    guard let number = file.number, file.trailer == nil, file.keptByteCount == .max else { return nil }
    if let entry = live?[number] { return max(file.byteCount, entry.byteCount) }
    guard let header = file.header, header.kind != .log || number != newestLogNumber else {
      let known = floor.segment == number ? floor.offset : Layout.firstFrameOffset
      return file.byteCount < known ? known : nil
    }
    return file.byteCount
  }

  /// The segments that the live set, or a witness, speaks of, and no file is.
  var missing: [UInt32] {
    let present = Set(files.filter { !$0.isReplaced }.compactMap(\.number))
    var named = Set(live?.entries.map(\.number) ?? [])
    let newest = files.filter { $0.header?.kind.isLog == true && !$0.isReplaced }.max {
      ($0.number ?? 0) < ($1.number ?? 0)
    }
    if floor.segment > newest?.number ?? 0 {
      named.insert(floor.segment)
    } else if let newest, let number = newest.number, newest.header?.kind == .log, newest.trailer != nil {
      // A segment of the log gets its footer when the next one is there.
      named.insert(number + 1)
    }
    return named.filter { !present.contains($0) }.sorted()
  }
}

// MARK: - One file of a pile of segments, and what it is: docs/maintenance.md, "Salvage".

/// A file that frames are looked for in.
struct SalvageFile {
  let name: String
  let file: ForgivingFile
  let byteCount: Int
  let header: SegmentHeader?
  let trailer: Trailer?
  /// What frame headers are checked with; found late where the header is lost.
  var salt: SegmentSalt?
  /// The header's number, or the one in the name where there is no header; found late where neither is there.
  var number: UInt32?
  /// Whether something else holds what is live of it.
  var isReplaced = false
  /// Where a recovery cut it; what is behind that counts no longer.
  var keptByteCount = Int.max

  /// Whether all frames in it happened: it was finished, or is all copies.
  var isFinished: Bool { trailer != nil || header.map { $0.kind != .log } ?? false }
  var isCompacted: Bool { header?.kind.isLog == false }
  /// How a live set would name it.
  var entry: LiveEntry? {
    guard let header, let trailer else { return nil }
    return LiveEntry(
      number: header.number, byteCount: byteCount, salt: header.salt, footerChecksum: trailer.footerChecksum)
  }

  /// Reads what a file says of itself.
  ///
  /// - Throws: Why it can't be opened, or is no file.
  init(_ name: String, in storage: any Storage) throws(StorageError) {
    let base = try storage.openFile(name, .read)
    let length = try base.byteCount()
    self.name = name
    byteCount = min(length, FormatLimits.maximumSegmentByteCount)
    file = ForgivingFile(base, byteCount: byteCount)
    let trailer = try? Trailer.read(file, byteCount: byteCount)
    self.trailer = trailer
    let places = [0, Layout.headerCopyOffset, trailer.map { $0.footerOffset + Layout.frameHeaderByteCount }]
    let copies = places.compactMap(\.self).compactMap { [file] in try? Survey.readHeader(file, at: $0) }
    // The first that is valid; where others are of another segment, that under which something was written.
    let isOne = copies.allSatisfy { $0.salt == copies[0].salt }
    header =
      isOne
      ? copies.first
      : copies.first { [file, byteCount] in
        (try? Self.hasFrame(file, byteCount, under: SegmentSalt($0.salt))) == true
      } ?? copies.first
    salt = header.map { SegmentSalt($0.salt) }
    // A segment's name is what a file's name may begin with: `000000000007.journal.bak` was a copy of that
    // segment.
    number = header?.number ?? FileName.segmentNumber(String(name.prefix(20)))
  }

  /// A reader of its frames; only once the salt is known.
  func reader() -> SegmentReader { SegmentReader(file, salt: salt ?? SegmentSalt(0), end: byteCount) }

  /// Goes through its frames, up to a limit; only once the salt is known.
  func walk(from start: Int = Layout.firstFrameOffset, to limit: Int = .max) -> SegmentWalk {
    SegmentWalk(file, salt: salt ?? SegmentSalt(0), end: min(limit, byteCount), from: start)
  }

  /// Whether any frame of a file checks under a salt.
  static func hasFrame(
    _ file: any StorageFile, _ byteCount: Int, under salt: SegmentSalt
  ) throws(StorageError) -> Bool {
    var walk = SegmentWalk(file, salt: salt, end: byteCount)
    return try walk.advance() != nil
  }
}

// MARK: - Finds the salt of a segment whose headers are lost, from its frames alone: docs/maintenance.md, "Salvage".

extension SegmentSalt {
  private static let polynomial: UInt32 = 0xEDB8_8320
  /// Frames with longer payloads don't take part: what looks like a frame must not cost much to be refused.
  private static let maximumPayloadByteCount = 1 << 16
  private static let maximumCandidates = 4096

  /// Works out what a segment's salt contributes to its frames' header checksums; nothing where no two frames
  /// agree.
  ///
  /// A payload's checksum does not depend on the salt, so a frame gives itself away without it. CRC-32 is
  /// linear: from such a frame's header checksum, the checksum of the salt before it follows. Two frames that
  /// agree settle it.
  init?(framesOf file: any StorageFile, byteCount: Int) throws(StorageError) {
    var reader = SegmentReader(file, salt: SegmentSalt(0), end: byteCount)
    var found: Set<UInt32> = []
    for place in stride(
      from: Layout.firstFrameOffset, through: byteCount - Layout.frameHeaderByteCount, by: 8)
    {
      guard let share = try Self.share(of: &reader, at: place, byteCount: byteCount) else { continue }
      if found.count == Self.maximumCandidates { found.removeAll(keepingCapacity: true) }
      if found.insert(share).inserted { continue }
      self.init(share: share)
      return
    }
    return nil
  }

  /// What the salt's share must be if the bytes at a place are a frame with a payload that checks.
  private static func share(
    of reader: inout SegmentReader, at place: Int, byteCount: Int
  ) throws(StorageError) -> UInt32? {
    let headerEnd = place + Layout.frameHeaderByteCount
    let (payloadByteCount, payloadChecksum, headerChecksum) = claim(
      try reader.bytes(place..<headerEnd), at: place)
    guard payloadByteCount > 0, aligned(payloadByteCount) <= byteCount - headerEnd else { return nil }
    let payload = try reader.bytes(headerEnd..<headerEnd + aligned(payloadByteCount))
    guard Checksum.of(payload.extracting(first: payloadByteCount)) == payloadChecksum,
      payload.extracting(droppingFirst: payloadByteCount).isZero
    else { return nil }
    return rewound(headerChecksum, byteCount: 40)
  }

  /// What a frame header at a place says of its payload, none where it can't be one, and what its checksum
  /// is but for the salt's share.
  private static func claim(_ header: RawSpan, at place: Int) -> (Int, UInt32, UInt32) {
    let byteCount = Int(header.load(UInt32.self, at: 4))
    guard let kind = FrameKind(rawValue: header.byte(at: 0)), header.byte(at: 1) <= 1,
      byteCount <= min(kind.maximumPayloadByteCount, maximumPayloadByteCount)
    else { return (0, 0, 0) }
    var rest = Checksum()
    rest.update(UInt32(truncatingIfNeeded: place))
    rest.update(header.extracting(first: 36))
    return (byteCount, header.load(UInt32.self, at: 32), header.load(UInt32.self, at: 36) ^ rest.value)
  }

  /// The checksum that becomes `checksum` when that many zero bytes are appended to its polynomial.
  private static func rewound(_ checksum: UInt32, byteCount: Int) -> UInt32 {
    var checksum = checksum
    for _ in 0..<8 * byteCount {
      let wasOdd = checksum & 0x8000_0000 != 0
      checksum = wasOdd ? ((checksum ^ polynomial) << 1) | 1 : checksum << 1
    }
    return checksum
  }
}
