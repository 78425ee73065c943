// A file for another program to change, in memory and never on a disk, that nobody else can read.
import CSystem
import Foundation
import Synchronization

/// A file in a folder of its own, which goes with all that a program left beside it: when it is removed, and
/// when a signal ends the tool.
final class EditedFile: Sendable {
  let path: String
  private let folder: String
  /// The folder, which has a lock for as long as it is in use.
  private let held: Descriptor
  /// The program that has it open; 0 while none has.
  private let program = Atomic<pid_t>(0)
  /// Whether a signal is about to end the tool.
  private let isEnding = Atomic(false)

  /// Makes the file.
  ///
  /// - Parameters:
  ///   - parent: The folder that its own is made in; made where it is missing.
  ///   - name: The file's name.
  ///   - text: What it holds.
  /// - Throws: Where the parent is on a disk, or not the user's alone.
  init(in parent: String, named name: String, holding text: String) throws {
    folder = parent + "/edit-" + UUID().uuidString
    path = folder + "/" + name
    guard let descriptor = try Descriptor.privateFolder(parent, creating: true),
      is_in_memory(descriptor.number)
    else {
      throw ToolError(
        .failed, "'\(parent)' is on a disk, where what is edited would stay",
        hint: "have XDG_RUNTIME_DIR name a folder in memory: mkdir -m 700 /dev/shm/mine")
    }
    // What is locked no longer was left by a tool that was killed.
    for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
    where name.hasPrefix("edit-") {
      let left = parent + "/" + name
      guard let folder = try? Descriptor.privateFolder(left), flock(folder.number, LOCK_EX | LOCK_NB) == 0
      else { continue }
      Self.remove(left)
    }
    guard let held = try Descriptor.privateFolder(folder, creating: true), flock(held.number, LOCK_SH) == 0
    else { throw ToolError(.failed, "cannot lock the folder '\(folder)'") }
    self.held = held
    try Interrupt.beforeEnding { [self] number in
      isEnding.store(true, ordering: .releasing)
      let process = program.load(ordering: .acquiring)
      if process > 0 {
        kill(process, number)
        // What it writes as it ends goes too, if that takes no second.
        for _ in 0..<100 where program.load(ordering: .acquiring) > 0 { usleep(10_000) }
      }
      remove()
    }
    // SAFETY: the path outlives the call, whose last argument is the mode that the flags ask for.
    let opened = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_t(0o600))
    let bytes = Array(text.utf8)
    // SAFETY: bytes are bytes.
    let error = opened < 0 ? errno : unsafe Descriptor.write(bytes.span.bytes, to: opened)
    _ = Descriptor(owning: opened)
    guard error == 0 else {
      remove()
      throw ToolError(.failed, "cannot make the file to be edited: \(systemError(error))")
    }
  }

  /// Has a program change it.
  ///
  /// - Parameter words: The program's name and arguments; the file's path is the last.
  /// - Returns: The program's exit code.
  /// - Throws: Where it can't be started.
  func change(by words: [String]) throws -> Int32 {
    let code = try Program.runOnTerminal(words + [path], program)
    // What a program does that was told to end is nothing to go on with.
    while isEnding.load(ordering: .acquiring) { usleep(10_000) }
    return code
  }

  /// Whether it is a file still: a program may have put a link or a pipe in its place.
  var isFile: Bool { Self.size(of: path) != nil }

  /// The size of a file that has this name only; nil of what is none, or has others.
  private static func size(of path: String) -> Int? {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    guard attributes?[.type] as? FileAttributeType == .typeRegular, attributes?[.referenceCount] as? Int == 1
    else { return nil }
    return attributes?[.size] as? Int
  }

  /// Overwrites the file and what lies beside it, and removes them.
  func remove() { Self.remove(folder) }

  private static func remove(_ folder: String) {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      // What a link leads to is none of ours. A file with holes may be of any size.
      guard let size = size(of: folder + "/" + name) else { continue }
      // SAFETY: the path outlives the call, and the flags ask for no mode argument.
      let opened = unsafe open(folder + "/" + name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard let file = Descriptor(owning: opened) else { continue }
      let zeros = [UInt8](repeating: 0, count: 1 << 16)
      for _ in 0...min(size, 64 << 20) / zeros.count {
        // SAFETY: bytes are bytes.
        guard unsafe Descriptor.write(zeros.span.bytes, to: file.number) == 0 else { break }
      }
    }
    try? FileManager.default.removeItem(atPath: folder)
  }
}
