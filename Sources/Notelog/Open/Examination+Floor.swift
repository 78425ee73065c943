// Finds the durable floor: FORMAT.md §12, line 3.

import NotelogFormat
import NotelogStorage

extension Examination {
  /// Takes the highest position that any surviving witness names.
  mutating func findFloor() throws(StorageError) {
    for segment in survey.segments.values { witness(segment.header.floor) }
    if let head = checkpoint.found?.head, head.storeID == storeID {
      witness(head.covered)
      noteSequence(before: head.nextSequence)
    }
    if let last = lastClose, last.storeID == storeID {
      witness(last.mark)
      noteSequence(before: last.nextSequence)
    }
    if try findClosing() { return }
    if try endsRecovered() { return }
    for segment in log.suffix(2) { try findMarks(in: segment) }
  }

  /// Looks for a close mark that the log's last file ends in. Where there is one, no mark can name a higher position,
  /// and none has to be looked for.
  private mutating func findClosing() throws(StorageError) -> Bool {
    guard let last = log.last, !last.isCut, last.found.header.kind == .log else { return false }
    var reader = last.reader
    guard let found = try reader.closing() else { return false }
    let position = LogPosition(segment: last.number, offset: found.range.lowerBound)
    guard report.floor <= position else { return false }
    witness(position)
    closing = found.mark
    noteSequence(before: found.nextSequence)
    return true
  }

  /// Whether the log ends with a segment that a recovery finished: its header names its end, and no mark can name a higher
  /// position. Its first sequence number is above all that it holds, and above all of what came before it, if that was there.
  private func endsRecovered() throws(StorageError) -> Bool {
    guard let last = log.last, !last.isCut, last.found.header.kind == .recovered, log.count > 1,
      let footerOffset = last.found.trailer?.footerOffset,
      report.floor == LogPosition(segment: last.number, offset: footerOffset)
    else { return false }
    let before = log[log.count - 2]
    var reader = last.reader
    return try reader.liveSet(of: last.found.header)?.set[before.number]?.salt == before.found.header.salt
  }

  /// All numbers before one were given out: none of them comes again, whatever became of what bore it.
  private mutating func noteSequence(before next: UInt64) {
    if next > 0 { highestSequence = max(highestSequence, next - 1) }
  }

  private mutating func witness(_ position: LogPosition) { report.floor = max(report.floor, position) }

  /// Looks for marks to the segment's end, past anything broken.
  private mutating func findMarks(in segment: LogSegment) throws(StorageError) {
    var reader = segment.reader
    var place = Layout.firstFrameOffset
    while let (next, header) = try reader.nextFrame(from: place) {
      noteSequence(before: header.nextSequence)
      if let position = try reader.witness(header, at: next) { witness(position) }
      place = next + header.frameByteCount
    }
  }
}
