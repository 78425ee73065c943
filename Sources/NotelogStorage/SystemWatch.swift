// Hearing of changes in a folder.

/// What the system tells of a folder: owns its descriptor.
final class SystemWatch: StorageWatch {
  private let descriptor: Int32

  /// Nothing where the system can't tell.
  init?(_ folder: SystemFolder) {
    guard case .success(let watched) = folder.open("") else { return nil }
    defer { Syscall.closeFile(watched) }
    guard case .success(let descriptor) = Syscall.openWatch(watched) else { return nil }
    self.descriptor = descriptor
  }

  deinit { Syscall.closeFile(descriptor) }

  func wait(_ limit: Duration) {
    let parts = limit.components
    let milliseconds = parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000
    Syscall.waitForWatch(descriptor, Int32(clamping: milliseconds))
  }
}
