// Space set aside for the day when the disk is full: FORMAT.md §23.

import NotelogBase
import NotelogFormat
import NotelogStorage
import Synchronization

/// The file `reserve`. Nothing that only adds is written while there is no room for it.
struct Reserve {
  let storage: any Storage

  init(_ storage: any Storage) { self.storage = storage }

  /// What is set aside for compaction in a store whose longest segment has so many bytes: what it takes before
  /// it frees anything, with the closing, the recovery and the segments it may have to begin.
  ///
  /// Compaction copies what lives in one segment, at most all of it. The footer of a segment that was closed
  /// and is gone on in has no room any longer: it takes at most half of a segment, as no footer is longer
  /// than the frames it lists. Of segments that hold nothing but a live set there may be one from a recovery
  /// and one that the log goes on in, and as many again where that was interrupted. A file system takes
  /// something for itself: a folder's block, the extents of a file in many pieces.
  static func byteCountForCompaction(longest: Int, segmentCount: Int) -> Int {
    let start = Layout.firstFrameOffset + (segmentCount + 64) / 64 * 64 * Layout.liveEntryByteCount + 1024
    return longest + longest / 2 + 4 * start + (16 << 10)
  }

  /// Sets the space aside, or what compaction needs where there is no room for all. What is too much is given
  /// back.
  ///
  /// - Throws: What stood in the way: then it is not there in full.
  func fill(forCompaction least: Int, all byteCount: Int) throws(StorageError) {
    let file = try storage.openFile(FileName.reserve, .createIfMissing)
    defer { file.close() }
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
