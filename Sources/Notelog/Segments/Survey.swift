// Which segments are in a folder, by their headers: FORMAT.md §12, line 1.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// A segment's file as found, before anything is believed of it but its header.
struct FoundSegment {
  let number: UInt32
  let file: any StorageFile
  let byteCount: Int
  let header: SegmentHeader
  /// Offsets at which a header should be and isn't, or is another.
  let badCopies: [Int]
  /// Where the trailer says that the footer is; nothing where there is no valid trailer.
  let trailer: Trailer?
  /// Whether its footer says that frames had been lost before it was made.
  let isIncomplete: Bool
  /// Where a recovered segment cut it, if it was not finished there since.
  var cutEnd: Int?

  /// Where reading it ends.
  var end: Int { cutEnd ?? byteCount }
  var isCut: Bool { cutEnd != nil }
  var salt: SegmentSalt { SegmentSalt(header.salt) }
  /// How the live set would identify it.
  var entry: LiveEntry? {
    trailer.map {
      LiveEntry(number: number, byteCount: byteCount, salt: header.salt, footerChecksum: $0.footerChecksum)
    }
  }

  /// What is wrong with it as a segment of the live set; nothing where it is what that says.
  func difference(from entry: LiveEntry) -> Finding? {
    if self.entry == entry { return nil }
    let isShort = header.salt == entry.salt && byteCount < entry.byteCount
    return Finding(isShort ? .truncated : .replacedSegment, segment: number, offset: byteCount)
  }

  /// Goes through its frames, up to a limit.
  func walk(from start: Int = Layout.firstFrameOffset, to limit: Int = .max) -> SegmentWalk {
    SegmentWalk(file, salt: salt, end: min(limit, end), from: start)
  }

  var reader: SegmentReader { SegmentReader(file, salt: salt, end: end) }

  /// Where its first unit starts, or would.
  func unitsStart() throws(StorageError) -> Int {
    var reader = reader
    return try reader.unitsStart()
  }

  /// The close mark that it ends in; nothing where it ends otherwise.
  func closing() throws(StorageError) -> CloseMark? {
    var reader = reader
    var mark = try reader.closing()
    // Its offset was checked. Its segment is the one that was read, whatever number the mark has.
    mark?.place.segment = number
    return mark
  }

  /// Whether the footer that its trailer speaks of checks.
  func hasSoundFooter() throws(StorageError) -> Bool {
    guard let trailer else { return false }
    var reader = reader
    return try reader.forEachFooterEntry(trailer) { _, _ in } != .unreadable
  }
}

/// The segments of a folder.
struct Survey {
  private(set) var segments: [UInt32: FoundSegment] = [:]
  private(set) var storeID: ID16?
  /// Numbers of files without any valid header.
  private(set) var unreadable: [UInt32] = []
  /// Numbers of those among them that hold nothing behind the place of a header and an empty live set: their
  /// creation was interrupted.
  private(set) var interruptedCreations: [UInt32] = []
  /// Numbers of files whose header is of another store, or of another number.
  private(set) var foreign: [UInt32] = []
  let names: FolderNames

  /// Reads the headers of all segments in the store's folder.
  ///
  /// The store's id, where it is not given, is the one that most segments bear: a file that was being created
  /// when the power went may hold anything, the header of another store's segment among it. For who forgives,
  /// unreadable sectors read as zeros; who writes does not: what a recovery can't read it must not cut.
  init(_ storage: any Storage, storeID expected: ID16?, forgiving: Bool = false) throws(StorageError) {
    names = try FolderNames(storage)
    var found: [FoundSegment] = []
    for number in names.numbers {
      let file = try Self.open(number, in: storage, forgiving: forgiving)
      if let segment = try Self.read(file, number) {
        found.append(segment)
      } else {
        unreadable.append(number)
        if try Self.isInterruptedCreation(file) { interruptedCreations.append(number) }
      }
    }
    storeID = expected ?? Self.mostFrequentStoreID(in: found)
    for segment in found {
      if segment.header.storeID == storeID, segment.header.number == segment.number {
        segments[segment.number] = segment
      } else {
        foreign.append(segment.number)
      }
    }
  }

  private static func mostFrequentStoreID(in segments: [FoundSegment]) -> ID16? {
    var counts: [ID16: Int] = [:]
    for segment in segments where segment.header.number == segment.number {
      counts[segment.header.storeID, default: 0] += 1
    }
    // Of equally many, the smallest: the same whenever the store is opened.
    return counts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
  }

  /// Whether there is no segment at all, but for interrupted creations.
  var isEmpty: Bool { segments.isEmpty && foreign.isEmpty && unreadable == interruptedCreations }

  /// Whether a folder has a segment of a log, and whether what an app wrote is in any of its segments, or may
  /// be: records that are no schemas, deletions, large values.
  static func contents(
    of storage: any Storage
  ) throws(StorageError) -> (hasLog: Bool, hasRecords: Bool) {
    var (hasLog, hasRecords) = (false, false)
    for number in try storage.names(in: "").compactMap(FileName.segmentNumber) {
      let file = try open(number, in: storage)
      guard let found = try read(file, number) else {
        if try !isInterruptedCreation(file) { hasRecords = true }
        continue
      }
      if found.header.kind.isLog { hasLog = true }
      var walk = found.walk()
      while !hasRecords, let header = try walk.advance() {
        // Collection 0 holds schemas.
        hasRecords = header.kind == .chunk || header.kind.isVersion && header.collection != 0
      }
    }
    return (hasLog, hasRecords)
  }

  /// Whether a file without a header has nothing where the first unit would be, and behind.
  static func isInterruptedCreation(_ file: any StorageFile) throws(StorageError) -> Bool {
    let byteCount = try file.byteCount()
    guard byteCount <= FormatLimits.maximumSegmentByteCount else { return false }
    var reader = SegmentReader(file, salt: SegmentSalt(0), end: byteCount)
    return try reader.isZero(from: Layout.firstFrameOffset + Layout.frameHeaderByteCount)
  }

  private static func open(
    _ number: UInt32, in storage: any Storage, forgiving: Bool = false
  ) throws(StorageError) -> any StorageFile {
    let file = try storage.openFile(FileName.segment(number), .read)
    return forgiving ? ForgivingFile(file) : file
  }

  /// Reads a segment's header from the first of its three places that is valid.
  static func read(
    _ number: UInt32, in storage: any Storage, forgiving: Bool = false
  ) throws(StorageError) -> FoundSegment? {
    try read(open(number, in: storage, forgiving: forgiving), number)
  }

  /// Reads the header of an open segment.
  static func read(_ file: any StorageFile, _ number: UInt32) throws(StorageError) -> FoundSegment? {
    var buffer = Buffer(capacity: Layout.firstFrameOffset)
    let byteCount = try file.byteCount()
    // One copy of the header is enough, also for a writer.
    let headerByteCount = min(byteCount, Layout.firstFrameOffset)
    do { try buffer.fill(headerByteCount, from: file, at: 0) } catch {
      guard error.isOfMedium else { throw error }
      try buffer.fill(headerByteCount, from: ForgivingFile(file), at: 0)
    }
    guard byteCount <= FormatLimits.maximumSegmentByteCount else { return nil }
    var isUnsupported = false
    func copy(at place: Int) -> SegmentHeader? {
      do { return try SegmentHeader(buffer.bytes, at: min(place, buffer.count)) } catch {
        if error == .unsupportedVersion { isUnsupported = true }
        return nil
      }
    }
    let (first, second) = (copy(at: 0), copy(at: Layout.headerCopyOffset))
    var copies = [first, second].compactMap(\.self)
    let trailer = try Trailer.read(file, byteCount: byteCount)
    // A footer begins with the third copy. Then it says whether it lists all that was in the segment: what
    // checks the footer checks this. Who can't read that does not go on as if it listed all.
    var isIncomplete = false
    if let trailer {
      let place = trailer.footerOffset + Layout.frameHeaderByteCount
      if !copies.contains(where: { $0.number == number }), let third = try readHeader(file, at: place) {
        copies.append(third)
      }
      var state = Buffer()
      try state.fill(4, from: file, at: place + Layout.headerByteCount + 4)
      isIncomplete = state.count == 4 && state.bytes.load(UInt32.self, at: 0) == 1
    }
    guard let header = copies.first(where: { $0.number == number }) ?? copies.first else {
      if isUnsupported {
        throw StorageError(.version, FileName.segment(number), errno: SystemErrno.notSupported)
      }
      return nil
    }
    var badCopies: [Int] = []
    if first != header { badCopies.append(0) }
    if second != header { badCopies.append(Layout.headerCopyOffset) }
    return FoundSegment(
      number: number, file: file, byteCount: byteCount, header: header, badCopies: badCopies,
      trailer: trailer, isIncomplete: isIncomplete)
  }

  /// The header at a place of a file, if there is one.
  static func readHeader(_ file: any StorageFile, at place: Int) throws(StorageError)
    -> SegmentHeader?
  {
    var buffer = Buffer(capacity: Layout.headerByteCount)
    _ = try buffer.fill(Layout.headerByteCount, from: file, at: place)
    return try? SegmentHeader(buffer.bytes, at: 0)
  }
}

// MARK: - What the names in a store's folder tell, before any file is opened: FORMAT.md §3.

extension FileName {
  /// The number of the next segment.
  static func segmentNumber(after number: UInt32) throws(NotelogError) -> UInt32 {
    guard number < FormatLimits.maximumSegmentNumber else {
      throw NotelogError(
        .limitExceeded, "the store has used all of its segment numbers; dump it and import it anew")
    }
    return number + 1
  }
}

/// The names in a store's folder, as far as they matter to whoever looks for its segments.
struct FolderNames {
  /// All segments' numbers, ascending.
  let numbers: [UInt32]
  /// Output that was never published.
  let partials: [String]
  /// The highest number that any name bears, also of such output and of tails kept aside: none is used twice.
  let highest: UInt32

  init(_ storage: any Storage) throws(StorageError) {
    var (numbers, others) = ([UInt32](), [String]())
    try storage.forEachName(in: "") { name in
      if let number = FileName.segmentNumber(name) {
        numbers.append(number)
      } else if let name = try? UTF8Span(validating: name) {
        others.append(String(copying: name))
      }
    }
    self.numbers = numbers.sorted()
    partials = others.filter(FileName.isPartial)
    numbers += partials.compactMap {
      FileName.segmentNumber(String($0.dropLast(FileName.partialSuffix.count)))
    }
    if others.contains(FileName.torn) {
      numbers += try storage.names(in: FileName.torn).compactMap(FileName.tailSegmentNumber)
    }
    highest = numbers.max() ?? 0
  }
}

extension FoundSegment {
  /// Where the medium has not given bytes that were asked for so far.
  var unreadableDamages: [Finding] {
    ((file as? ForgivingFile)?.unreadable ?? []).map { Finding(.unreadableBytes, segment: number, $0) }
  }
}
