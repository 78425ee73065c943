// Hearing of changes in a folder, or of a file.

/// What the system tells of a folder or a file: owns its descriptor.
final class SystemWatch: StorageWatch {
  private let descriptor: Int32

  /// Nothing where the system can't tell.
  init?(_ folder: SystemFolder, _ name: String) {
    let opened =
      name.isEmpty
      ? folder.open("") : folder.openFile(name, StorageOpenMode.read.flags).map { $0.descriptor }
    guard case .success(let watched) = opened else { return nil }
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
