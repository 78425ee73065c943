// A store's folder as this machine knows it: one descriptor, and names relative to it.

import Synchronization

/// A store's folder, and the folders in it.
///
/// The path is followed once, when the folder is first needed, and may be a link. From then on everything happens in the folder
/// that was found there, wherever its path leads by then, until this object goes. Below it no link is followed: not in the place of a folder, nor
/// of a file.
final class SystemFolder: Sendable {
  let path: String
  /// The descriptor, once the folder was opened; negative until then.
  private let opened = Atomic<Int32>(-1)

  init(path: String) { self.path = path }

  /// The path of a name in it; its own where the name is empty.
  func path(of name: String) -> String {
    name.isEmpty ? path : path.hasSuffix("/") ? path + name : path + "/" + name
  }

  deinit {
    let descriptor = opened.load(ordering: .acquiring)
    if descriptor >= 0 { Syscall.closeFile(descriptor) }
  }

  /// The folder's descriptor. Of two threads that open it at once, the later closes what it opened.
  private func root() -> Result<Int32, Errno> {
    let present = opened.load(ordering: .acquiring)
    if present >= 0 { return .success(present) }
    return Syscall.openFolder(path).map { descriptor in
      let (exchanged, original) = opened.compareExchange(
        expected: -1, desired: descriptor, ordering: .acquiringAndReleasing)
      if exchanged { return descriptor }
      Syscall.closeFile(descriptor)
      return original
    }
  }

  /// Runs a call with the folder that a name lies in, and the name that it has there. A name has at most one folder in it.
  func with<Value>(
    _ name: String, _ call: (Int32, String) -> Result<Value, Errno>
  ) -> Result<Value, Errno> {
    root().flatMap { root in
      guard let slash = name.utf8.firstIndex(of: UInt8(ascii: "/")) else { return call(root, name) }
      let (folder, rest) = (String(name[..<slash]), String(name[name.utf8.index(after: slash)...]))
      guard ![".", "..", ""].contains(folder), !rest.utf8.contains(UInt8(ascii: "/")) else {
        return .failure(Errno(SystemErrno.invalidArgument))
      }
      return Syscall.openFolder(root, folder).flatMap { descriptor in
        defer { Syscall.closeFile(descriptor) }
        return call(descriptor, rest)
      }
    }
  }

  /// A descriptor of its own of a folder in it, or of itself where the name is empty; the caller closes it.
  func open(_ folder: String) -> Result<Int32, Errno> {
    root().flatMap { Syscall.openFolder($0, folder.isEmpty ? "." : folder) }
  }

  /// Opens a file.
  func openFile(_ name: String, _ flags: Int32) -> Result<OpenedFile, Errno> {
    with(name) { Syscall.openFile($0, $1, flags) }
  }
}
