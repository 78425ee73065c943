// Whether a path leads to a folder; and one that is the user's own, for what no other user may reach.
import Foundation

/// Whether a path leads to a folder, and the system's error where that can't be said.
func lookForFolder(at path: String) -> (isThere: Bool, error: Int32) {
  var status = stat()
  // SAFETY: Swift lends the path as a C string for the call, which fills the structure.
  guard unsafe stat(path, &status) == 0 else { return (false, errno) }
  return (status.st_mode & S_IFMT == S_IFDIR, 0)
}

extension Descriptor {
  /// Opens a folder that belongs to the user and that nobody else may enter; follows no link at its end.
  ///
  /// - Parameters:
  ///   - path: The folder's path.
  ///   - creating: Whether it is made where it is missing.
  /// - Returns: The folder; nil where there is none.
  /// - Throws: Where it is a link, a file, somebody else's, or open to others.
  static func privateFolder(_ path: String, creating: Bool = false) throws -> Descriptor? {
    // SAFETY: the path outlives the call.
    if creating, unsafe mkdir(path, 0o700) != 0, errno != EEXIST {
      throw ToolError(.failed, "cannot make the folder '\(path)': \(systemError(errno))")
    }
    // SAFETY: the path outlives the call, and the flags ask for no mode argument.
    let opened = unsafe Foundation.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard let folder = Descriptor(owning: opened) else {
      if errno == ENOENT { return nil }
      let isLink = errno == ELOOP || errno == ENOTDIR
      throw ToolError(
        .failed,
        "'\(path)' is no folder of its own: \(isLink ? "it is a link or a file" : systemError(errno))")
    }
    var status = stat()
    // SAFETY: the pointer is to one local.
    guard unsafe fstat(folder.number, &status) == 0, status.st_uid == geteuid(), status.st_mode & 0o077 == 0
    else {
      throw ToolError(
        .failed, "the folder '\(path)' is not the user's alone",
        hint: "it must belong to you, and nobody else may enter it: chmod 700 '\(path)'")
    }
    return folder
  }

  /// Whether a name in the folder is a socket of the user's, and no link to one.
  func holdsSocket(_ name: String) -> Bool {
    var status = stat()
    // SAFETY: the name outlives the call, and the pointer is to one local.
    guard unsafe fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return false }
    return status.st_mode & S_IFMT == S_IFSOCK && status.st_uid == geteuid()
  }

  /// Removes a name from the folder, whatever it stands for.
  func remove(_ name: String) {
    // SAFETY: the name outlives the call.
    _ = unsafe unlinkat(number, name, 0)
  }
}
