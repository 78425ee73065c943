// The end of the log: reservations, the order in which they become visible, and durability. FORMAT.md §6.

import NotelogBase
import NotelogFormat
import NotelogStorage
import Synchronization

/// Says that the caller holds the log's gate: only entering it makes one.
struct GateHeld: ~Copyable {
  fileprivate init() {}
}

/// Where the next transactions are written.
///
/// Writers take *turns*: who has the turn decides which records change next. Who holds the *gate* may reserve
/// space, which compaction does too, also while a writer keeps the turn and waits for it. Frames are
/// completed and written outside both, side by side; they become visible in the order of their reservations.
final class Log: Sendable {
  let storage: any Storage
  let catalog: Catalog
  let options: JournalOptions
  let storeID: ID16
  /// The branch that everything is written in.
  let branch: Branch
  let turn = Gate()
  private let gate = Gate()
  /// Who wants to know what becomes visible.
  let watch = Watch()
  /// How much may be written, and what is set aside.
  let space: SpaceGovernor
  let state: Monitor<LogState>

  init(
    _ storage: any Storage, catalog: Catalog, options: JournalOptions, storeID: ID16, branch: Branch,
    state: consuming LogState
  ) {
    self.storage = storage
    self.catalog = catalog
    self.options = options
    self.storeID = storeID
    self.branch = branch
    space = SpaceGovernor(storage, catalog, options, headByteCount: state.head?.allocatedEnd ?? 0)
    // What was there when the store was opened may be kept in the cache.
    catalog.segments[state.visibleEnd.segment]?.show(upTo: state.visibleEnd.offset)
    self.state = Monitor(state, roomCount: Self.roomCount)
  }

  /// Waits for the gate and takes it.
  ///
  /// - Returns: What functions ask for that must only run while their caller holds the gate.
  func enterGate() -> GateHeld {
    gate.enter()
    return GateHeld()
  }

  /// Gives the gate back.
  func leaveGate() { gate.leave() }

  /// A transaction's place in the log.
  struct Reservation {
    let sequence: UInt64
    let segment: Segment
    let offset: Int
    let floor: LogPosition
  }

  /// Reserves space for a batch, which is to be as durable as that.
  func reserve(
    _ held: borrowing GateHeld, for batch: borrowing Batch, _ durability: Durability
  ) throws(NotelogError) -> Reservation {
    let byteCount = batch.byteCount
    let footerByteCount = batch.footerByteCount
    guard byteCount <= FormatLimits.maximumTransactionByteCount else {
      throw NotelogError(.limitExceeded, "a transaction of \(byteCount) bytes is larger than 64 MiB")
    }
    // Not before somebody writes: most of what is opened is read.
    if space.isUnknown { space.fill() }
    try makeRoom(
      held, byteCount: byteCount, footerByteCount: footerByteCount, takesReserve: batch.takesReserve)
    if durability == .durable { writeZeros(held, aheadOf: byteCount) }
    let (hasVersions, collection) = (batch.hasVersions, batch.collection)
    return try state.withLock(waking: .nobody) { state throws(NotelogError) in
      try state.checkWritable(at: storage.path)
      guard state.nextSequence < FormatLimits.maximumSequence else {
        throw NotelogError(
          .limitExceeded, "the store has used all of its revisions; dump it and import it anew")
      }
      // `makeRoom` left a head, and nobody else changes that while the gate is ours.
      guard let segment = state.head?.segment, let offset = state.head?.end else {
        throw NotelogError.closed(storage.path)
      }
      let reservation = Reservation(
        sequence: state.nextSequence, segment: segment, offset: offset, floor: state.floor)
      if hasVersions { state.noteWriting(in: collection) }
      state.written.note(batch, at: state.nextSequence)
      state.nextSequence += 1
      state.head?.end += byteCount
      state.head?.footerByteCount += footerByteCount
      return reservation
    }
  }

  /// Looks up what a batch's frames replace: out of the others' way, and before anything is written. It is
  /// looked at again when it is the batch's turn.
  ///
  /// - Throws: `alreadyExists` where that is a record of another collection, or another frame of the batch
  ///   is, and records stay in theirs.
  func lookUp(_ batch: inout Batch) throws(NotelogError) {
    for frame in batch.frames[batch.previousVersions.count...] {
      batch.previousVersions.append(
        frame.header.kind.isVersion ? catalog.beginLookup(of: frame.header.id) : .none)
    }
    do throws(StorageError) {
      for index in batch.frames.indices where batch.frames[index].header.kind.isVersion {
        try catalog.find(&batch.previousVersions[index], of: batch.frames[index].header.id)
      }
    } catch {
      // A log that takes no more writes says so, whatever else can't be read.
      try state.withLock { state throws(NotelogError) in try state.checkWritable(at: storage.path) }
      throw NotelogError(error)
    }
    guard options.keepsCollections else { return }
    for index in batch.frames.indices {
      guard let known = batch.previousVersions[index].location, !known.isTombstone else { continue }
      try require(batch.frames[index].header, in: known.collection)
    }
    if batch.collection == nil, batch.hasVersions {
      var collections: [ID16: UInt16] = [:]
      for frame in batch.frames where frame.header.kind.isVersion {
        try require(frame.header, in: collections[frame.header.id])
        collections[frame.header.id] = frame.header.collection
      }
    }
  }

  /// Refuses a frame whose id is another collection's.
  private func require(_ header: FrameHeader, in collection: UInt16?) throws(NotelogError) {
    guard let collection, collection != header.collection else { return }
    let id = RecordID(header.id)
    var error = NotelogError(.alreadyExists, "there is a record of another type under the same id: \(id)").of(
      id)
    error.collections = (header.collection, collection)
    error.sentence = "There is something else of the same identity."
    throw error
  }

  /// Whether nobody has begun to write in other collections than a batch does since a transaction: what was
  /// looked up then may be another version by now, but not another collection's. Whoever asks has the turn.
  func isUncontested(_ batch: borrowing Batch, since seen: UInt64) -> Bool {
    let collection = batch.collection
    return !options.keepsCollections || !batch.hasVersions
      || state.withLock(waking: .nobody) { state in
        state.nextSequence == seen
          || collection != nil && collection == state.latest.collection && state.latest.since <= seen
      }
  }

  /// Whether nobody has begun to write a record of a batch's since a transaction: what was looked up then is
  /// still so. Whoever asks has the turn.
  func isUntouched(_ batch: borrowing Batch, since seen: UInt64) -> Bool {
    state.withLock(waking: .nobody) { state in
      state.nextSequence == seen || state.written.isOlder(batch, than: seen)
    }
  }

  /// Whether a transaction has its place, and is not visible yet.
  func isUnderWay(_ sequence: UInt64) -> Bool {
    state.withLock(waking: .nobody) { $0.nextVisible..<$0.nextSequence ~= sequence }
  }

  /// Writes a batch into its place, and makes it visible when everything before it is.
  func fill(_ reservation: Reservation, with batch: inout Batch) throws(NotelogError) {
    batch.complete(
      sequence: reservation.sequence, salt: reservation.segment.salt, place: reservation.offset,
      floor: reservation.floor, time: branch.keepsTimes ? options.clock() : 0)
    do { try reservation.segment.file.writeAll(batch.buffer.bytes, at: reservation.offset) } catch {
      throw poison(error)
    }
    let end = LogPosition(
      segment: reservation.segment.number, offset: reservation.offset + batch.buffer.count)
    let frames = batch.frames
    // Taken out of the batch, whose bytes are lent meanwhile.
    var previousVersions: [Catalog.PreviousVersion] = []
    swap(&previousVersions, &batch.previousVersions)
    defer { swap(&previousVersions, &batch.previousVersions) }
    try state.withLock(
      when: { $0.nextVisible == reservation.sequence || $0.failure != nil },
      in: { _ in Self.orderRoom(of: reservation.sequence) },
      waking: .rooms(Self.generalRoom, Self.orderRoom(of: reservation.sequence + 1))
    ) { state throws(NotelogError) in
      if let failure = state.failure { throw failure }
      do throws(StorageError) {
        try apply(
          frames, batch.buffer.bytes, in: reservation.segment, at: reservation.offset,
          sequence: reservation.sequence, after: &previousVersions, &state)
      } catch {
        // The transaction is in the log, but what it replaced can't be told: what is indexed would be wrong.
        throw poison(error, &state)
      }
      state.nextVisible += 1
      if frames.first?.header.kind != .liveChange {
        state.counters.commits += 1
        state.counters.bytesCommitted += batch.buffer.count
      }
      state.visibleEnd = end
      reservation.segment.show(upTo: end.offset)
      watch.tell(reservation.sequence, frames)
    }
  }

  /// Takes in the frames of a transaction that begins at an offset of a segment: into the index, the chunks,
  /// the head's footer, the live set. Where that fails, none of it is visible.
  func apply(
    _ frames: [PendingFrame], _ bytes: RawSpan, in segment: Segment, at offset: Int, sequence: UInt64,
    after previousVersions: inout [Catalog.PreviousVersion], _ state: inout LogState
  ) throws(StorageError) {
    // All of them first.
    for index in frames.indices where frames[index].header.kind.isVersion {
      try catalog.find(&previousVersions[index], of: frames[index].header.id)
    }
    for index in frames.indices where frames[index].header.kind.isContent {
      let frame = frames[index]
      let entry = FooterEntry(
        frame.header, offset: offset + frame.start, envelopeByteCount: frame.envelopeByteCount)
      let start = frame.start + Layout.frameHeaderByteCount
      state.footer?.add(entry, envelope: bytes.extracting(start..<start + frame.envelopeByteCount))
      try catalog.apply(entry, in: segment, after: previousVersions[index])
    }
    catalog.chunks.apply(frames, bytes, in: segment.number, at: offset, sequence: sequence)
    for frame in frames where frame.header.kind == .liveChange {
      if let change = LiveChange(payload: bytes.extracting(frame.payload)) { state.live.apply(change) }
    }
  }

  /// Waits until all that was reserved so far is visible. For whoever holds the gate, nothing new is reserved
  /// meanwhile; for a writer that has the turn, nothing but what compaction publishes.
  func waitUntilQuiet() throws(NotelogError) {
    try state.withLock(
      when: { $0.nextVisible == $0.nextSequence || $0.failure != nil }, in: { _ in Self.generalRoom }
    ) { state throws(NotelogError) in try state.checkWritable(at: storage.path) }
  }

  /// After a failed write or sync nothing more is written: what the medium holds is no longer known.
  func poison(_ cause: StorageError) -> NotelogError { state.withLock { poison(cause, &$0) } }

  private func poison(_ cause: StorageError, _ state: inout LogState) -> NotelogError {
    let reason = SystemErrno.message(cause.errno)
    var error = NotelogError(
      .poisoned,
      "\(cause.call.rawValue) of '\(cause.name)' failed (\(reason)); reopen the store to write again",
      errno: cause.errno)
    error.cause = cause
    if !cause.folder.isEmpty { error.path = cause.folder }
    if state.failure == nil {
      state.failure = error
      options.tell?(.poisoned(error))
    }
    return error
  }
}

// MARK: - What the log's writers share: FORMAT.md §21.2, INV-T2 to INV-T5.

/// The state of the end of the log.
struct LogState: ~Copyable, Sendable {
  /// The segment that is appended to.
  var head: Head?
  /// What the head's footer will list: nothing where a head was opened, until `Log.readFooter`.
  var footer: FooterBuilder?
  /// The sequence number that the next transaction gets.
  var nextSequence: UInt64 = 1
  /// The lowest sequence number that is not yet visible.
  var nextVisible: UInt64 = 1
  /// Everything below it is durable.
  var nextDurable: UInt64 = 1
  /// Where the last visible transaction ends.
  var visibleEnd = LogPosition.zero
  /// The durable floor.
  var floor = LogPosition.zero
  /// Whether somebody is syncing for all.
  var isSyncing = false
  /// Counts the syncs that waiting threads share: the number of the one under way, or of the last.
  var syncNumber: UInt64 = 0
  /// What that sync makes durable: transactions below it.
  var syncLimit: UInt64 = 0
  /// Segments before the head that have not been synced since they were written.
  var unsynced: [Segment] = []
  /// The finished segments.
  var live = LiveSet()
  /// The highest segment number in use.
  var highestNumber: UInt32 = 0
  /// What was counted since the journal was opened; transactions of compaction are none.
  var counters = StoreCounters()
  /// Why nothing more is written: a write or a sync failed, or the log is closed.
  var failure: NotelogError?
  /// Whether the store's lock was given back: somebody else may be writing.
  var isLent = false
  /// The one collection that the newest transactions write, if it is one, and the first of those
  /// transactions.
  private(set) var latest: (collection: UInt16?, since: UInt64) = (nil, 0)
  /// Which transactions wrote which records last.
  var written = LastWrites()

  /// A segment number that nobody has used: INV-L1. Writers and compaction take them side by side.
  mutating func allocateNumber() throws(NotelogError) -> UInt32 {
    highestNumber = try FileName.segmentNumber(after: highestNumber)
    return highestNumber
  }

  /// Notes in which collections the transaction writes that gets the next number: in one, or nobody knows in
  /// which.
  mutating func noteWriting(in collection: UInt16?) {
    if collection == nil || collection != latest.collection { latest = (collection, nextSequence) }
  }

  /// Goes on with a sequence number: everything before it is visible and durable.
  mutating func expect(_ sequence: UInt64) {
    nextSequence = sequence
    nextVisible = sequence
    nextDurable = sequence
  }

  /// Throws unless the log takes writes; errors name the store's folder, which is at `path`.
  func checkWritable(at path: String) throws(NotelogError) {
    if let failure { throw failure }
    if isLent { throw NotelogError.suspended(path) }
  }

  /// The number of the shared sync that makes a visible transaction durable.
  func syncNumber(covering sequence: UInt64) -> UInt64 { sequence < syncLimit ? syncNumber : syncNumber + 1 }
}

/// The last transactions that wrote records, by a hash of their ids.
struct LastWrites {
  /// A batch of more records counts as one that wrote all.
  private static let countMax = 64
  private var sequences = [UInt64](repeating: 0, count: 4096)
  private var ofMany: UInt64 = 0

  private func place(_ frame: PendingFrame) -> Int {
    let id = frame.header.id
    return Int(((id.low ^ id.high) &* 0x9E37_79B9_7F4A_7C15) >> 52)
  }

  mutating func note(_ batch: borrowing Batch, at sequence: UInt64) {
    if batch.count > Self.countMax { return ofMany = sequence }
    for frame in batch.frames { sequences[place(frame)] = sequence }
  }

  /// Whether none since a transaction wrote a record that a batch has.
  func isOlder(_ batch: borrowing Batch, than seen: UInt64) -> Bool {
    batch.count <= Self.countMax && ofMany < seen
      && batch.frames.allSatisfy { sequences[place($0)] < seen }
  }
}

// Where threads wait for the log, so that each change wakes those it concerns and lets the others sleep.
extension Log {
  private static let orderRoomCount = 8

  fileprivate static let roomCount = 1 + orderRoomCount + 2
  /// For everything that isn't listed below.
  static let generalRoom = 0
  /// For the turn to become visible.
  static func orderRoom(of sequence: UInt64) -> Int { 1 + Int(sequence % UInt64(orderRoomCount)) }
  /// For the end of a sync. Only two matter at a time: the one under way and the next.
  static func syncRoom(_ number: UInt64) -> Int { 1 + orderRoomCount + Int(number % 2) }
}

/// The segment that is appended to.
struct Head: Sendable {
  let segment: Segment
  let header: SegmentHeader
  /// Where the next reservation starts.
  var end: Int
  /// Up to where space has been promised by the system.
  var allocatedEnd: Int
  /// Up to where zeros were written ahead of durable commits, and how many they were last.
  var zerosEnd = 0
  var zerosByteCount = 0
  /// The bytes that the footer will take, reservations that are not filled yet included: known where the
  /// footer is.
  var footerByteCount: Int
  /// What was there to read when it was opened, but may not be on the medium: the close mark it ended in, or
  /// its start where nothing follows that. It is written again before anything follows it.
  var unsynced: Range<Int>?

  /// Whether anything was written to it, or promised for it, since it was opened: what is written has room
  /// for a footer behind it.
  var isTouched: Bool { allocatedEnd > end }
}

// MARK: - What all records add up to, in each transaction: FORMAT.md §27.

/// Who adds it to a transaction.
protocol Attester: AnyObject, Sendable {
  /// Adds a frame for it to a batch whose turn it is, and looks at what the others replace.
  ///
  /// - Throws: What refuses the batch, which is as it was.
  func prepare(_ batch: inout Batch) throws(NotelogError)

  /// Fills that frame, once it is known which sequence number the batch gets.
  func seal(_ batch: inout Batch, _ sequence: UInt64) throws(NotelogError)

  /// Takes note that the batch has its place.
  func note(_ reservation: Log.Reservation, of batch: borrowing Batch)
}

// MARK: - Telling of transactions as they become visible, in their order: FORMAT.md §21.2, INV-T2.

/// Who is told of each transaction once it is visible, before any later one is.
final class Watch: Sendable {
  /// Takes the sequence numbers of transactions and the headers of what they wrote and deleted: of one, or of
  /// several where nobody can tell any longer what they changed, and then nothing. Each number is higher than
  /// those before. It must return soon, and not use the journal.
  typealias Watcher = @Sendable (ClosedRange<UInt64>, [FrameHeader]?) -> Void

  /// One function or none: by itself it would be wrapped in another each time that it is reached under the
  /// lock, for ever more of them to go through.
  private let told = Lock<[Watcher]>([])
  private let watched = Atomic(false)

  /// Has a watcher told of what becomes visible from now on, in the place of another.
  func set(_ watcher: @escaping Watcher) {
    told.withLock { $0 = [watcher] }
    watched.store(true, ordering: .releasing)
  }

  func tell(_ sequence: UInt64, _ frames: [PendingFrame]) {
    guard watched.load(ordering: .acquiring) else { return }
    let changes = frames.compactMap { $0.header.kind.isVersion && !$0.header.isState ? $0.header : nil }
    if !changes.isEmpty { told.withLock { $0.first }?(sequence...sequence, changes) }
  }

  /// Tells that transactions with these numbers went by, which can't be told one by one.
  func tellGap(_ sequences: ClosedRange<UInt64>) { told.withLock { $0.first }?(sequences, nil) }
}
