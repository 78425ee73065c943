// Space set aside for the day when the disk is full: FORMAT.md §23.

import NotelogBase
import NotelogFormat
import NotelogStorage
import Synchronization

/// The file `reserve`. Nothing that only adds is written while there is no room for it.
struct Reserve {
  let storage: any Storage

  init(_ storage: any Storage) { self.storage = storage }

  /// What is set aside.
  struct Need: Sendable {
    /// What compaction takes before it frees anything, with the closing, the recovery and the segments it may have to begin.
    let compactionByteCount: Int
    /// What deletions may take before that.
    let deletionByteCount: Int

    var byteCount: Int { compactionByteCount + deletionByteCount }

    /// What a store needs whose longest segment has so many bytes.
    ///
    /// Compaction copies what lives in one segment, at most all of it. The footer of a segment that was closed and is gone on in
    /// has no room any longer: it takes at most half of a segment, as no footer is longer than the frames it lists. Of segments
    /// that hold nothing but a live set there may be one from a recovery and one that the log goes on in, and as many again
    /// where that was interrupted.
    init(longest: Int, segmentCount: Int, deletionByteCount: Int) {
      let start = Layout.firstFrameOffset + (segmentCount + 64) / 64 * 64 * Layout.liveEntryByteCount + 1024
      compactionByteCount = longest + longest / 2 + 4 * start + Self.fileSystemByteCount
      self.deletionByteCount = deletionByteCount
    }

    /// What a file system takes for itself: a folder's block, the extents of a file in many pieces.
    private static let fileSystemByteCount = 16 << 10
  }

  /// Sets the space aside, or what compaction needs where there is no room for all. What is too much is given back.
  ///
  /// - Throws: What stood in the way: then it is not there in full.
  func fill(_ need: Need) throws(StorageError) {
    let file = try storage.openFile(FileName.reserve, .createIfMissing)
    defer { file.close() }
    let present = try file.byteCount()
    if present > need.byteCount { try file.truncate(to: need.byteCount) }
    guard present < need.byteCount else { return }
    do { try file.promise(present..<need.byteCount) } catch {
      if error.isNoSpace, present < need.compactionByteCount {
        try file.promise(present..<need.compactionByteCount)
      }
      throw error
    }
  }

  /// Gives space up, but for so many bytes.
  ///
  /// - Returns: Whether there was any to give.
  func release(keeping byteCount: Int = 0) -> Bool {
    guard let file = try? storage.openFile(FileName.reserve, .update) else { return false }
    defer { file.close() }
    guard let present = try? file.byteCount(), present > byteCount else { return false }
    do { try file.truncate(to: byteCount) } catch { return false }
    return true
  }

  /// Deletes what can be made anew: the checkpoint, finished or not.
  static func removeDisposables(in storage: any Storage) {
    for suffix in ["", FileName.partialSuffix] { try? storage.unlink(FileName.index + suffix) }
  }
}

// MARK: - Who may use the reserve, and when: FORMAT.md §23.

extension Log {
  /// Whether the reserve is known not to be there in full. What is left is then taken by the byte, and nothing is added.
  var isSparing: Bool { isReserveSought.isSet && reservedFor.load(ordering: .relaxed) == 0 }

  /// Sees to it that the reserve is there in full before anything is added, also for a segment as long as the transaction
  /// may make it: **INV-H1**.
  func requireReserve(_: borrowing GateHeld, for byteCount: Int) throws(NotelogError) {
    let wished = max(nextSegment, byteCount)
    let reserved = reservedFor.load(ordering: .relaxed)
    if reserved >= min(wished, max(byteCount, refusedFor.load(ordering: .relaxed))), reserved > 0 { return }
    // A log that takes no more writes says so, whatever room there is.
    try state.withLock(waking: .nobody) { state throws(NotelogError) in
      try state.checkWritable(at: storage.path)
    }
    guard refillReserve(for: wished) != nil else { return }
    // A disk that has no room for longer segments goes on with such as there are.
    refusedFor.store(0, ordering: .relaxed)
    if let error = refillReserve(for: byteCount) { throw error }
  }

  /// Has the reserve looked after again, as others may have used it, and counts what the head's file has.
  func forgetReserve(allocated byteCount: Int) {
    reservedFor.store(0, ordering: .relaxed)
    refusedFor.store(.max, ordering: .relaxed)
    _ = isReserveSought.exchange(false)
    allocatedByteCount.store(byteCount, ordering: .relaxed)
  }

  /// Fills the reserve for segments as long as the next one should be, or where there is no room for that, as there are.
  func seekReserve() {
    if reservedFor.load(ordering: .relaxed) >= nextSegment { return }
    let error = refillReserve(for: nextSegment)
    refusedFor.store(error == nil ? .max : 0, ordering: .relaxed)
    if error != nil { refillReserve() }
  }

  /// How long segments become: no longer than what the reserve is enough for, so that they can be compacted on a full disk.
  var affordableAim: Int {
    let reserved = reservedFor.load(ordering: .relaxed)
    return min(aim, max(reserved > 0 ? reserved : longestSegment(), SegmentSize.choices.lowerBound))
  }

  /// Fills the reserve, if there is room; what it has too much is given back.
  ///
  /// - Parameter byteCount: The length of a segment that is about to be made.
  /// - Returns: Why it is not there in full.
  @discardableResult
  func refillReserve(for byteCount: Int = 0) -> NotelogError? {
    reserving.withLock { _ in
      _ = isReserveSought.exchange(true)
      let longest = longestSegment(or: byteCount)
      do throws(StorageError) { try Reserve(storage).fill(need(longest)) } catch {
        // What else may be wrong with the file is no reason to refuse writes: the disk is not full, as far as is known.
        guard !error.isNoSpace else {
          reservedFor.store(0, ordering: .relaxed)
          return NotelogError(error)
        }
      }
      reservedFor.store(longest, ordering: .relaxed)
      return nil
    }
  }

  /// Gives up what is set aside for deletions, or all of the reserve.
  ///
  /// - Returns: Whether there was any.
  func releaseReserve(forDeletions isForDeletions: Bool = false) -> Bool {
    reserving.withLock { _ in
      _ = isReserveSought.exchange(true)
      reservedFor.store(0, ordering: .relaxed)
      let kept = isForDeletions ? need(longestSegment()).compactionByteCount : 0
      return Reserve(storage).release(keeping: kept)
    }
  }

  private func need(_ longest: Int) -> Reserve.Need {
    Reserve.Need(
      longest: longest, segmentCount: catalog.segments.count, deletionByteCount: options.deletionReserve)
  }

  /// The length of the longest segment. It grows only when something is added, as what it asks for does.
  private func longestSegment(or byteCount: Int = 0) -> Int {
    let finished = catalog.segments.all.reduce(0) { max($0, $1.byteCount) }
    return max(byteCount, finished, allocatedByteCount.load(ordering: .relaxed))
  }

  /// What the next segment aims at, in steps: as the store grows, so does the aim, with every commit.
  var nextSegment: Int {
    let step = 256 << 10
    return options.segmentByteCount ?? (aim + step - 1) / step * step
  }
}
