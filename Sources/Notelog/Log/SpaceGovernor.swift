// How much may be written, what must be freed first, and what is set aside: FORMAT.md §23, and §24, "Space".

import NotelogBase
import NotelogFormat
import NotelogStorage
import Synchronization

/// Governs the space that a store takes: the reserve on a full disk, and the space contract.
final class SpaceGovernor: Sendable {
  private let storage: any Storage
  private let catalog: Catalog
  private let options: JournalOptions
  /// The bytes of the head's file, those promised by the system among them.
  let headByteCount: Atomic<Int>
  /// By how much whoever has the turn to write may make the files longer.
  private let promised = Atomic<Int>(0)
  /// The length of the longest segment that the reserve is enough for: 0 where it is not there in full, -1
  /// where nobody has looked since the store was opened.
  private let reservedFor = Atomic<Int>(-1)
  /// Whether there was no room to set more aside, for longer segments, when that was last tried.
  private let isRefused = Flag(false)
  /// Whether all that was set aside is used up: then compaction goes segment by segment.
  private let tightness = Flag(false)
  /// One thread at a time changes the reserve's file.
  private let reserving = Lock(())

  init(_ storage: any Storage, _ catalog: Catalog, _ options: JournalOptions, headByteCount: Int) {
    self.storage = storage
    self.catalog = catalog
    self.options = options
    self.headByteCount = Atomic(headByteCount)
  }

  // MARK: How long segments become

  /// The size that the next segment aims at.
  var aim: Int { options.segmentByteCount ?? SegmentSize.aim(liveByteCount: catalog.remainingByteCount) }

  /// The same in steps: as the store grows, so does the aim, with every commit.
  private var nextSegment: Int {
    let step = 256 << 10
    return options.segmentByteCount ?? (aim + step - 1) / step * step
  }

  /// No longer than what the reserve is enough for, so that segments can be compacted on a full disk.
  var affordableAim: Int {
    let reserved = reservedFor.load(ordering: .relaxed)
    return min(aim, max(reserved > 0 ? reserved : longestSegment, SegmentSize.choices.lowerBound))
  }

  /// The length of the longest segment. It grows only when something is added, as what it asks for does.
  private var longestSegment: Int {
    catalog.segments.all.reduce(headByteCount.load(ordering: .relaxed)) { max($0, $1.byteCount) }
  }

  // MARK: What is set aside

  /// Whether the reserve is there in full, also for a segment as long as a transaction of so many bytes may
  /// make it: **INV-H1**.
  func isReserved(for byteCount: Int) -> Bool {
    let reserved = reservedFor.load(ordering: .relaxed)
    // A disk that has no room for longer segments goes on with such as there are.
    return reserved > 0 && reserved >= (isRefused.isSet ? byteCount : max(nextSegment, byteCount))
  }

  /// Whether the reserve is known not to be there in full. What is left is then taken by the byte, and
  /// nothing is added.
  var isSparing: Bool { reservedFor.load(ordering: .relaxed) == 0 }

  /// Whether the disk is not full, or no longer.
  var hasRoomToSpare: Bool { reservedFor.load(ordering: .relaxed) > 0 || setAside(for: 0) == nil }

  /// Whether nobody has looked after the reserve since the store was opened.
  var isUnknown: Bool { reservedFor.load(ordering: .relaxed) < 0 }

  /// Fills the reserve for segments of so many bytes, and as long as the next one should be; where there is
  /// no room for that, of so many bytes, and as there are.
  ///
  /// - Returns: Why it is not there in full.
  @discardableResult
  func fill(for byteCount: Int = 0) -> NotelogError? {
    let wished = max(nextSegment, byteCount)
    if reservedFor.load(ordering: .relaxed) >= wished { return nil }
    let isFilled = setAside(for: wished) == nil
    _ = isRefused.exchange(!isFilled)
    return isFilled ? nil : setAside(for: byteCount)
  }

  /// Fills the reserve for a segment that is about to be made, and such as there are. What it has too much is
  /// given back.
  private func setAside(for byteCount: Int) -> NotelogError? {
    reserving.withLock { _ in
      let longest = max(byteCount, longestSegment)
      let least = byteCountForCompaction(longest)
      do throws(StorageError) {
        try storage.fillReserve(forCompaction: least, all: least + options.deletionReserve)
      } catch {
        // What else may be wrong with the file is no reason to refuse writes: the disk is not full, as far as
        // is known.
        guard !error.isNoSpace else {
          reservedFor.store(0, ordering: .relaxed)
          return NotelogError(error)
        }
      }
      reservedFor.store(longest, ordering: .relaxed)
      return nil
    }
  }

  /// What is set aside for compaction in a store whose longest segment has so many bytes: what it takes before
  /// it frees anything, with the closing, the recovery and the segments it may have to begin.
  ///
  /// Compaction copies what lives in one segment, at most all of it. The footer of a segment that was closed
  /// and is gone on in has no room any longer: it takes at most half of a segment, as no footer is longer
  /// than the frames it lists. Of segments that hold nothing but a live set there may be one from a recovery
  /// and one that the log goes on in, and as many again where that was interrupted. A file system takes
  /// something for itself: a folder's block, the extents of a file in many pieces.
  private func byteCountForCompaction(_ longest: Int) -> Int {
    let liveSet = (catalog.segments.count + 64) / 64 * 64 * Layout.liveEntryByteCount
    let start = Layout.firstFrameOffset + liveSet + 1024
    return longest + longest / 2 + 4 * start + (16 << 10)
  }

  /// Gives up what is set aside for deletions, or all of the reserve.
  ///
  /// - Returns: Whether there was any.
  func release(forDeletions isForDeletions: Bool = false) -> Bool {
    reserving.withLock { _ in
      reservedFor.store(0, ordering: .relaxed)
      let kept = isForDeletions ? byteCountForCompaction(longestSegment) : 0
      return storage.releaseReserve(keeping: kept)
    }
  }

  /// Runs what takes room for a moment and then no more than before. On a full disk the share of the
  /// deletions has room for it.
  func lendingReserve(_ body: () throws(NotelogError) -> Void) throws(NotelogError) {
    do { try body() } catch {
      guard error.code == .full, release(forDeletions: true) else { throw error }
      defer { fill() }
      try body()
    }
  }

  /// Has the reserve looked after again, as others may have used it, and counts what the head's file has.
  func forget(headByteCount byteCount: Int) {
    reservedFor.store(-1, ordering: .relaxed)
    _ = isRefused.exchange(false)
    headByteCount.store(byteCount, ordering: .relaxed)
  }

  // MARK: What is freed where compaction finds no room

  /// Whether compaction goes segment by segment.
  var isTight: Bool { tightness.isSet }

  /// Frees more after something found no room: the reserve, and where that is not enough what can be made
  /// anew. Then compaction goes segment by segment, those with the least to copy first: each leaves more room
  /// for the next. The caller has loaded all of the index: nothing is read from the checkpoint any longer.
  ///
  /// - Throws: The error, where nothing is left to free, or it says something else.
  func free(after error: NotelogError) throws(NotelogError) {
    guard error.code == .full else { throw error }
    if release() { return }
    catalog.checkpointHealth.noteCheckpoint(nil)
    storage.removeDisposables()
    if tightness.exchange(true) { throw error }
  }

  /// Sets the reserve aside again, if there is room now.
  func endTightness() {
    fill()
    _ = tightness.exchange(false)
  }

  // MARK: The space contract

  // At most 1.5 × the live and the kept bytes and two segments. Compaction is due well before that; its output takes room
  // while it is written, so writers wait when that room is all that is left.

  /// The bytes of the finished segments and of the head, with what was preallocated for it.
  private var byteCount: Int { catalog.segments.finishedByteCount + headByteCount.load(ordering: .relaxed) }

  /// What is taken beside what lives, or is kept.
  var wastedByteCount: Int { byteCount - catalog.remainingByteCount }

  /// Whether compaction should begin.
  var isDue: Bool { wastedByteCount > catalog.remainingByteCount * 2 / 5 + aim }

  /// The room that writers may take before they have to wait; what is set aside for compaction's output is
  /// not theirs. A segment that grew for a large transaction counts as it is where that is asked for.
  func room(longest: Int = 0) -> Int {
    let (taken, remaining) = (byteCount, catalog.remainingByteCount)
    let segmentByteCount = max(aim, longest)
    let outputByteCount = min(remaining, segmentByteCount) + Segment.overheadByteCount
    return remaining + remaining / 2 + 2 * segmentByteCount - taken - outputByteCount
  }

  /// Lets others know by how much the files are about to grow, until they have.
  ///
  /// What dies while they grow lowers the space contract's limit. Either the deleter sees our promise, or we
  /// see the lower limit.
  func promise(_ byteCount: Int) {
    promised.store(byteCount, ordering: .releasing)
    atomicMemoryFence(ordering: .sequentiallyConsistent)
  }

  /// What was promised and may not be there yet.
  var promisedGrowth: Int {
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    return promised.load(ordering: .acquiring)
  }
}

// MARK: - How large a segment becomes: FORMAT.md §24, "Space".

/// The size that segments aim at.
enum SegmentSize {
  static let smallest = 1 << 20
  static let largest = 64 << 20
  /// What may be chosen. Smaller ones are many files for little, and a place in larger ones can't be said.
  static let choices = 16 << 10...largest
  /// The most that is preallocated at a time.
  static let allocationStep = 4 << 20

  /// The size for a store with that many live bytes.
  static func aim(liveByteCount: Int) -> Int { min(max(liveByteCount / 16, smallest), largest) }
}

// MARK: - Space set aside for the day when the disk is full: FORMAT.md §23.

/// The file `reserve`. Nothing that only adds is written while there is no room for it.
extension Storage {
  /// Sets the space aside, or what compaction needs where there is no room for all. What is too much is given
  /// back.
  ///
  /// - Throws: What stood in the way: then it is not there in full.
  func fillReserve(forCompaction least: Int, all byteCount: Int) throws(StorageError) {
    let file = try openFile(FileName.reserve, .createIfMissing)
    let present = try file.byteCount()
    if present > byteCount { try file.truncate(to: byteCount) }
    guard present < byteCount else { return }
    do { try file.promise(present..<byteCount) } catch {
      if error.isNoSpace, present < least { try file.promise(present..<least) }
      throw error
    }
  }

  /// Gives space up, but for so many bytes.
  ///
  /// - Returns: Whether there was any to give.
  func releaseReserve(keeping byteCount: Int = 0) -> Bool {
    guard let file = try? openFile(FileName.reserve, .update) else { return false }
    guard let present = try? file.byteCount(), present > byteCount else { return false }
    do { try file.truncate(to: byteCount) } catch { return false }
    return true
  }

  /// Deletes what can be made anew: the checkpoint, finished or not.
  func removeDisposables() {
    for suffix in ["", FileName.partialSuffix] { try? unlink(FileName.index + suffix) }
  }
}
