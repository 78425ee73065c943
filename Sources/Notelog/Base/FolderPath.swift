// Paths of folders: which lies inside which, and why none can be made or opened at one.

import Foundation
import NotelogStorage

/// Judges paths by where they lead, not by how they are spelt.
enum FolderPath {
  /// Links are followed so often, and then taken for folders.
  private static let maximumLinkCount = 40

  /// Refuses a new folder that lies inside another one or around it.
  static func refuseNesting(_ path: String, with other: String) throws(NotelogError) {
    let (new, old) = (resolved(path), resolved(other))
    guard new != old else { return }
    if new.starts(with: old) {
      throw NotelogError(.invalidArgument, "'\(path)' lies inside '\(other)': name a folder elsewhere")
    }
    if old.starts(with: new) {
      throw NotelogError(.invalidArgument, "'\(other)' lies inside '\(path)': name a folder of its own")
    }
  }

  /// Why no folder can be made or opened at a path, where the path is to blame and not the disk.
  ///
  /// - Parameters:
  ///   - path: The path.
  ///   - errno: What the system said.
  /// - Returns: The error; nil where the path is not to blame.
  static func fault(of path: String, _ errno: Int32) -> NotelogError? {
    let isFolder = try? URL(filePath: path).resolvingSymlinksInPath().resourceValues(forKeys: [
      .isDirectoryKey
    ])
    .isDirectory
    let words: String
    switch errno {
    case _ where path.isEmpty: words = "the path is empty"
    case SystemErrno.notFound: words = "the folder that it should lie in does not exist"
    case SystemErrno.notFolder, SystemErrno.exists:
      if isFolder == true || isFolder == nil && errno == SystemErrno.exists { return nil }
      words = isFolder != nil ? "that is a file, not a folder" : "the folder that it should lie in is a file"
    default: return nil
    }
    var error = NotelogError(.invalidArgument, "'\(path)': \(words)", errno: errno)
    error.path = path
    error.sentence = words.prefix(1).uppercased() + words.dropFirst() + "."
    return error
  }

  /// The names from the root on, without `.`, `..` and links; of what is not there yet, as they are given.
  static func resolved(_ path: String) -> [Substring] {
    let absolute = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    var rest = Array(absolute.split(separator: "/").reversed())
    var done: [Substring] = []
    var linkCount = 0
    while let name = rest.popLast() {
      if name == "." { continue }
      if name == ".." {
        _ = done.popLast()
        continue
      }
      let place = "/" + (done + [name]).joined(separator: "/")
      let link = try? FileManager.default.destinationOfSymbolicLink(atPath: place)
      guard let link, linkCount < maximumLinkCount else {
        done.append(name)
        continue
      }
      linkCount += 1
      if link.hasPrefix("/") { done = [] }
      rest += link.split(separator: "/").reversed()
    }
    return done
  }
}
