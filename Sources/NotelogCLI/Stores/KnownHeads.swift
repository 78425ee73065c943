// What the tool remembers of stores that keep evidence, beside this device's secret.

import Foundation
import Notelog

/// The heads of a store, as they were when the tool wrote to it last, by the path that it was at.
struct KnownHeads {
  private let file: URL
  private let path: String

  init(of id: RecordID, at path: String) {
    let place = URL(filePath: path).standardizedFileURL
    // Links above the store's folder are followed; one in its place is another place.
    let folder = place.deletingLastPathComponent().resolvingSymlinksInPath()
    self.path = folder.appending(path: place.lastPathComponent).path(percentEncoded: true)
    file = URL(filePath: DeviceSecret.standard.path ?? "").deletingLastPathComponent().appending(
      path: "heads/\(id.shown)")
  }

  /// Those that are known now, the latest last.
  private var known: [(path: String, head: StoreHead)] {
    ((try? String(contentsOf: file, encoding: .utf8)) ?? "").split(separator: "\n").compactMap { line in
      let parts = line.split(separator: "\t").map(String.init)
      guard parts.count == 2, let head = try? StoreHead(text: parts[1]) else { return nil }
      return (parts[0], head)
    }
  }

  /// The one that is known of this path.
  var head: StoreHead? { known.last { $0.path == path }?.head }

  /// Where else the store was seen, where nothing is known of this path.
  var elsewhere: String? { head == nil ? known.last?.path.removingPercentEncoding : nil }

  /// Remembers how the store is now, durably: not where anything is wrong with it.
  func remember(_ store: Store) {
    guard store.isUnlocked, store.keepsEvidence, let now = try? store.head(), now != head else { return }
    let all = known.filter { $0.path != path } + [(path, now)]
    let text = all.suffix(100).map { "\($0.path)\t\($0.head)\n" }.joined()
    do {
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
      try Data(text.utf8).write(to: file, options: .atomic)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    } catch { Console.say("warning", "the store's head can't be remembered in '\(file.path)'") }
  }
}

extension Store {
  /// What a first look at its evidence says that is wrong; nil where nothing is, or nothing can be told.
  var alarm: String? {
    guard isUnlocked else { return nil }
    return (try? audit(lookingAtRecords: false))?.findings.first?.message
  }

  /// What an audit finds; nothing where the store keeps no evidence.
  func auditFindings() throws -> [Finding] {
    do { return try audit().findings } catch let error as NotelogError where error.code == .notFound {
      return []
    }
  }
}
