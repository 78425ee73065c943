// Space set aside for the day when the disk is full: FORMAT.md §23.

import NotelogFormat
import NotelogStorage

/// The file `reserve`. Nothing that only adds is written while there is no room for it.
extension Storage {
  /// Sets the space aside, or what compaction needs where there is no room for all. What is too much is given
  /// back.
  ///
  /// - Throws: What stood in the way: then it is not there in full.
  func fillReserve(forCompaction least: Int, all byteCount: Int) throws(StorageError) {
    let file = try openFile(FileName.reserve, .createIfMissing)
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
  func releaseReserve(keeping byteCount: Int = 0) -> Bool {
    guard let file = try? openFile(FileName.reserve, .update) else { return false }
    defer { file.close() }
    guard let present = try? file.byteCount(), present > byteCount else { return false }
    do { try file.truncate(to: byteCount) } catch { return false }
    return true
  }

  /// Deletes what can be made anew: the checkpoint, finished or not.
  func removeDisposables() {
    for suffix in ["", FileName.partialSuffix] { try? unlink(FileName.index + suffix) }
  }
}
