// Zeros ahead of durable commits: decision 0050.

import NotelogStorage
import NotelogBase

extension Log {
  /// How many zeros are written at first, where no durable commit used the last ones up, and at most.
  private static let leastZerosByteCount = 4 << 10
  private static let mostZerosByteCount = 256 << 10

  /// Sees to it that a durable commit of so many bytes, and those that follow it, go where bytes were written before, and not
  /// only promised: a file system notes of each promised block that it holds something now, and a sync waits for that too.
  ///
  /// While the gate is held, nobody else has a place behind the head's end. What promised space holds is zeros:
  /// whether these are written, and survive, makes no difference to what is read.
  func writeZeros(_: borrowing GateHeld, aheadOf byteCount: Int) {
    let place = state.withLock(waking: .nobody) { state -> (file: any StorageFile, range: Range<Int>)? in
      guard let end = state.head?.end, let allocatedEnd = state.head?.allocatedEnd,
        let zerosEnd = state.head?.zerosEnd, let zerosByteCount = state.head?.zerosByteCount,
        let file = state.head?.segment.file, end + byteCount > zerosEnd
      else { return nil }
      let start = end + byteCount
      guard start < allocatedEnd else { return nil }
      let isOvertaken = zerosEnd < end
      let count = isOvertaken ? Self.leastZerosByteCount : min(2 * zerosByteCount, Self.mostZerosByteCount)
      let newEnd = min(start + count, allocatedEnd)
      state.head?.zerosEnd = newEnd
      state.head?.zerosByteCount = count
      return (file, start..<newEnd)
    }
    guard let place else { return }
    // Where that fails, the commit will say what is wrong.
    try? place.file.writeZeros(place.range)
  }
}
