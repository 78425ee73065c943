// Compaction, which needs no key.

import NotelogJournal

/// What a compaction did.
public struct CompactionSummary: Sendable {
  /// The bytes of all segment files before.
  public let byteCountBefore: Int
  /// The bytes of all segment files after.
  public let byteCountAfter: Int
  /// How many segments went.
  public let removedSegments: Int
  /// How many segments came.
  public let addedSegments: Int
  /// The numbers of segments that are damaged, and were left as they are.
  public let damagedSegments: [Int]
}

/// What a compaction would do.
public struct CompactionForecast: Sendable {
  /// The numbers of the segments that it would replace.
  public internal(set) var segments: [Int]
  /// How many live bytes it would copy.
  public internal(set) var copiedByteCount: Int
  /// How many bytes it would free, about.
  public internal(set) var freedByteCount: Int
}

extension Store {
  /// What ``compact()`` would do now, about. Nothing is written; a store that was opened for reading will do.
  public var compactionForecast: CompactionForecast {
    let estimate = journal.compactionEstimate
    var forecast = CompactionForecast(
      segments: estimate.segments.map(Int.init), copiedByteCount: estimate.copiedByteCount,
      freedByteCount: estimate.freedByteCount)
    // The segment that is being written to is finished first, if something in it is dead.
    if let head = journal.statistics.segments.first(where: \.isHead) {
      let freed = head.byteCount - head.liveByteCount - Self.segmentOverheadByteCount
      if freed > 0 {
        forecast.segments.append(Int(head.number))
        forecast.copiedByteCount += head.liveByteCount
        forecast.freedByteCount += freed
      }
    }
    return forecast
  }

  /// What a finished segment takes beside what is in it: its start, and its footer's.
  private static let segmentOverheadByteCount =
    Layout.firstFrameOffset + Layout.frameHeaderByteCount + Layout.footerPrefixByteCount
    + Layout.trailerByteCount

  /// Copies what is live out of segments that are mostly dead, bytes as they are, and removes those.
  ///
  /// Works on a locked store. A crash at any moment leaves the old segments or the new ones.
  ///
  /// - Returns: What was done.
  /// - Throws: `full`, `poisoned`, `closed`, `readOnly`.
  @discardableResult
  public func compact() throws(NotelogError) -> CompactionSummary {
    let result = try journaling { () throws(JournalError) in try journal.compact() }
    return CompactionSummary(
      byteCountBefore: result.byteCountBefore, byteCountAfter: result.byteCountAfter,
      removedSegments: result.removedSegments, addedSegments: result.addedSegments,
      damagedSegments: result.damagedSegments.map(Int.init))
  }
}
