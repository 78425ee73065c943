// Space set aside for the day when the disk is full: FORMAT.md §12, "A full disk".

/// The file `reserve`. A store does without it where there is no room for it.
struct Reserve {
  let storage: any Storage

  init(_ storage: any Storage) { self.storage = storage }

  /// Sets that much space aside, if there is room.
  func fill(_ byteCount: Int) {
    guard let file = try? storage.open(FileName.reserve, .createIfMissing) else { return }
    defer { file.close() }
    guard let present = try? file.byteCount(), present < byteCount else { return }
    // Not having a reserve is no error: the store is the poorer for it only when the disk is full.
    try? file.allocate(0..<byteCount)
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
