// The files that the rules look at.
import Foundation

enum Repository {
  /// The folder that holds Package.swift.
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  static func file(_ path: String) throws -> File {
    File(path: path, text: try String(contentsOf: root.appending(path: path), encoding: .utf8))
  }

  /// All files below `folders` whose names end in `suffix`, in order of their paths; build folders are left
  /// out.
  static func files(in folders: [String], suffix: String) throws -> [File] {
    let paths = try folders.flatMap { folder in
      try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
        .map { folder == "." ? $0 : folder + "/" + $0 }
    }
    let wanted = paths.filter { path in
      path.hasSuffix(suffix) && !path.split(separator: "/").contains { $0 == ".build" || $0 == ".git" }
    }
    return try wanted.sorted().map(file)
  }

  /// The Swift files below `folders`, but those that a tutorial shows step by step.
  static func swift(in folders: String...) throws -> [File] {
    try folders.flatMap { folder in try swiftFiles.get().filter { $0.path.hasPrefix(folder + "/") } }
  }

  /// Read once for all rules.
  private static let swiftFiles = Result {
    try files(in: ["Sources", "Tests"], suffix: ".swift").filter { !$0.path.contains(".docc/") }
  }
}
