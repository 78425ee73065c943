// Who may use the reserve, and when: FORMAT.md §23.

import NotelogStorage
import NotelogBase
import Synchronization

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
