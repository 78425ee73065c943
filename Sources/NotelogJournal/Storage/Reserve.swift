// Space set aside for the day when the disk is full: FORMAT.md §12, "A full disk".

/// The file `reserve`. A store does without it where there is no room for it.
struct Reserve {
  let storage: any Storage

  init(_ storage: any Storage) { self.storage = storage }

  /// Sets space for two segments of a size aside, if there is room: one for a deletion, one for the compaction after it.
  ///
  /// Not having a reserve is no error: the store is the poorer for it only when the disk is full.
  ///
  /// - Returns: Whether it is there now.
  func fill(segmentByteCount: Int) -> Bool {
    let byteCount = 2 * segmentByteCount
    guard let file = try? storage.open(FileName.reserve, .createIfMissing) else { return false }
    defer { file.close() }
    guard let present = try? file.byteCount() else { return false }
    if present >= byteCount { return true }
    do { try file.promise(present..<byteCount) } catch { return false }
    return true
  }

  /// Gives the space up.
  ///
  /// - Returns: Whether there was any.
  func release() -> Bool {
    guard let file = try? storage.open(FileName.reserve, .update) else { return false }
    defer { file.close() }
    guard let byteCount = try? file.byteCount(), byteCount > 0 else { return false }
    do { try file.truncate(to: 0) } catch { return false }
    return true
  }
}
