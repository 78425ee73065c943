// What the log's writers share: FORMAT.md §21.2, INV-T2 to INV-T5.

import NotelogFormat

/// The state of the end of the log.
struct LogState: ~Copyable, Sendable {
  /// The segment that is appended to.
  var head: Head?
  /// The sequence number that the next transaction gets.
  var nextSequence: UInt64
  /// The lowest sequence number that is not yet visible.
  var nextVisible: UInt64
  /// Everything below it is durable.
  var nextDurable: UInt64
  /// Where the last visible transaction ends.
  var visibleEnd: LogPosition
  /// The durable floor.
  var floor: LogPosition
  /// Whether somebody is syncing for all.
  var isSyncing = false
  /// Counts the syncs that waiting threads share: the number of the one under way, or of the last.
  var syncNumber: UInt64 = 0
  /// What that sync makes durable: transactions below it.
  var syncLimit: UInt64 = 0
  /// Segments before the head that have not been synced since they were written.
  var unsynced: [Segment] = []
  /// The finished segments.
  var live: LiveSet
  /// The highest segment number in use.
  var highestNumber: UInt32
  /// How many transactions were written since the journal was opened, those of compaction among them.
  var transactionCount = 0
  /// Why nothing more is written.
  var failure: NotelogError?
  var isClosed = false
  /// Whether the store's lock was given back: somebody else may be writing.
  var isLent = false
  /// The one collection that the newest transactions write, if it is one, and the first of those transactions.
  private(set) var latest: (collection: UInt16?, since: UInt64) = (nil, 0)

  /// A segment number that nobody has used: INV-L1. Writers and compaction take them side by side.
  mutating func allocateNumber() throws(NotelogError) -> UInt32 {
    highestNumber = try FileName.segmentNumber(after: highestNumber)
    return highestNumber
  }

  /// Notes in which collections the transaction writes that gets the next number: in one, or nobody knows in which.
  mutating func noteWriting(in collection: UInt16?) {
    if collection == nil || collection != latest.collection { latest = (collection, nextSequence) }
  }

  /// Goes on with a sequence number: everything before it is visible and durable.
  mutating func expect(_ sequence: UInt64) {
    nextSequence = sequence
    nextVisible = sequence
    nextDurable = sequence
  }

  /// Throws unless the log takes writes.
  ///
  /// - Parameter path: The store's folder, for errors.
  func checkWritable(at path: String) throws(NotelogError) {
    if isClosed { throw NotelogError.closed(path) }
    if let failure { throw failure }
    if isLent { throw NotelogError.suspended(path) }
  }

  /// The number of the shared sync that makes a visible transaction durable.
  func syncNumber(covering sequence: UInt64) -> UInt64 { sequence < syncLimit ? syncNumber : syncNumber + 1 }

  /// Whether all reserved space is filled.
  var isQuiet: Bool { nextVisible == nextSequence || failure != nil }
}

/// Where threads wait for the log, so that each change wakes those it concerns and lets the others sleep.
enum LogRoom {
  private static let orderRoomCount = 8

  static let count = 1 + orderRoomCount + 2
  /// For everything that isn't listed below.
  static let general = 0
  /// For the turn to become visible.
  static func order(of sequence: UInt64) -> Int { 1 + Int(sequence % UInt64(orderRoomCount)) }
  /// For the end of a sync. Only two matter at a time: the one under way and the next.
  static func sync(_ number: UInt64) -> Int { 1 + orderRoomCount + Int(number % 2) }
}

/// The segment that is appended to.
struct Head: ~Copyable, Sendable {
  let segment: Segment
  let header: SegmentHeader
  /// Where the next reservation starts.
  var end: Int
  /// Up to where space has been promised by the system.
  var allocatedEnd: Int
  /// Up to where zeros were written ahead of durable commits, and how many they were last.
  var zerosEnd = 0
  var zerosByteCount = 0
  /// The bytes that the footer will take, reservations that are not filled yet included.
  var footerByteCount: Int
  var footer: FooterBuilder
  /// Whether footer and length are what the frames say: not in a head that was opened, until `Log.readFooter`.
  var isFooterKnown: Bool
  /// Whether anything was written to it, or promised for it, since it was opened.
  var isTouched: Bool
  /// What was there to read when it was opened, but may not be on the medium: the close mark it ended in, or its start
  /// where nothing follows that. It is written again before anything follows it.
  var unsynced: Range<Int>?

  /// Gives its footer away and takes another.
  mutating func exchangeFooter(with other: inout FooterBuilder) { swap(&footer, &other) }

  /// Takes the footer that the head's frames make.
  mutating func know(_ footer: consuming FooterBuilder) {
    footerByteCount = footer.byteCount
    self.footer = footer
    isFooterKnown = true
  }
}

extension Head {
  /// Of a head that is there, what was last appended to it can't be known to be on the medium.
  init(goingOnIn segment: Segment, _ header: SegmentHeader, end: Int, unsynced: Range<Int>) {
    self.init(
      segment: segment, header: header, end: end, allocatedEnd: end, footerByteCount: 0,
      footer: FooterBuilder(), isFooterKnown: false, isTouched: false, unsynced: unsynced)
  }
}
