// Which folder lies inside which: nothing is made inside of what it is made of.

import Foundation

/// Compares folders by where they are, not by how they are named.
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
