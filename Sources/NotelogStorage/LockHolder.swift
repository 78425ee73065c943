// Which process holds a lock, where the system says so: on Linux in /proc/locks.

import NotelogBase

/// A process that holds a lock.
package struct LockHolder: Equatable, Sendable {
  package let process: Int32
  /// What the system calls it; empty where it doesn't say.
  package let name: String

}

extension LockHolder: CustomStringConvertible {
  /// As part of a sentence: `process 4711 (notes)`.
  package var description: String {
    if process == SystemProcess.identifier { return "this process" }
    return name.isEmpty ? "process \(process)" : "process \(process) (\(name))"
  }
}

extension LockHolder {
  /// How much of one of the system's files is read at most.
  private static let byteCountMax = 1 << 20

  /// Who holds a `flock` on a file; nothing where nobody does, it is somebody in another container, or there
  /// is no such list.
  init?(of file: OpenedFile.Identity) {
    guard let locks = Self.text("/proc", "locks") else { return nil }
    for line in locks.split(separator: "\n") {
      // "3: FLOCK  ADVISORY  WRITE 10373 fe:00:16220192 0 EOF"
      let words = line.split(separator: " ")
      guard words.count >= 6, words[1] == "FLOCK", let process = Int32(words[4]), process > 0,
        Self.identity(words[5]) == file
      else { continue }
      let name = Self.text("/proc/\(process)", "comm")?.split(separator: "\n").first
      self.init(process: process, name: name.map(String.init) ?? "")
      return
    }
    return nil
  }

  /// A file as the list has it: major and minor number of the device in hexadecimal, and the file's own.
  private static func identity(_ word: Substring) -> OpenedFile.Identity? {
    let parts = word.split(separator: ":")
    guard parts.count == 3, let major = UInt64(parts[0], radix: 16), let minor = UInt64(parts[1], radix: 16),
      let number = UInt64(parts[2])
    else { return nil }
    let device = (major & 0xFFF) << 8 | (major & ~0xFFF) << 32 | minor & 0xFF | (minor & ~0xFF) << 12
    return OpenedFile.Identity(device: device, number: number)
  }

  /// What is in one of the system's files, whose length nobody says beforehand.
  private static func text(_ folder: String, _ name: String) -> String? {
    guard let file = try? SystemStorage(path: folder).openFile(name, .read) else { return nil }
    var found = Buffer()
    _ = try? found.fill(byteCountMax, from: file, at: 0)
    return String(decoding: found.bytes.array(), as: UTF8.self)
  }
}
