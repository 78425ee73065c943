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

extension Store {
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
