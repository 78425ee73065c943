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
    /// What compaction takes before it frees anything, with the closing, the recovery and the segments it may
    /// have to begin.
    let compactionByteCount: Int
    /// What deletions may take before that.
    let deletionByteCount: Int

    var byteCount: Int { compactionByteCount + deletionByteCount }

    /// What a store needs whose longest segment has so many bytes.
    ///
    /// Compaction copies what lives in one segment, at most all of it. The footer of a segment that was
    /// closed and is gone on in has no room any longer: it takes at most half of a segment, as no footer is
    /// longer than the frames it lists. Of segments that hold nothing but a live set there may be one from a
    /// recovery and one that the log goes on in, and as many again where that was interrupted.
    init(longest: Int, segmentCount: Int, deletionByteCount: Int) {
      let start = Layout.firstFrameOffset + (segmentCount + 64) / 64 * 64 * Layout.liveEntryByteCount + 1024
      compactionByteCount = longest + longest / 2 + 4 * start + Self.fileSystemByteCount
      self.deletionByteCount = deletionByteCount
    }

    /// What a file system takes for itself: a folder's block, the extents of a file in many pieces.
    private static let fileSystemByteCount = 16 << 10
  }

  /// Sets the space aside, or what compaction needs where there is no room for all. What is too much is given
  /// back.
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
