// Which process holds a lock, where the system says so: on Linux in /proc/locks.

import NotelogBase

extension OpenedFile.Identity {
  /// How much of one of the system's files is read at most.
  private static let byteCountMax = 1 << 20

  /// Which process holds a `flock` on the file, as part of a sentence: `process 4711 (notes)`; nothing where
  /// nobody does, it is somebody in another container, or there is no such list.
  var lockHolder: String? {
    guard let locks = Self.text("/proc", "locks") else { return nil }
    for line in locks.split(separator: "\n") {
      // "3: FLOCK  ADVISORY  WRITE 10373 fe:00:16220192 0 EOF"
      let words = line.split(separator: " ")
      guard words.count >= 6, words[1] == "FLOCK", let process = Int32(words[4]), process > 0,
        Self(listed: words[5]) == self
      else { continue }
      if process == processIdentifier { return "this process" }
      // Its name, where the system says it.
      let name = Self.text("/proc/\(process)", "comm")?.split(separator: "\n").first
      return "process \(process)" + (name.map { " (\($0))" } ?? "")
    }
    return nil
  }

  /// A file as the list has it: major and minor number of the device in hexadecimal, and the file's own.
  private init?(listed word: Substring) {
    let parts = word.split(separator: ":")
    guard parts.count == 3, let major = UInt64(parts[0], radix: 16), let minor = UInt64(parts[1], radix: 16),
      let number = UInt64(parts[2])
    else { return nil }
    let device = (major & 0xFFF) << 8 | (major & ~0xFFF) << 32 | minor & 0xFF | (minor & ~0xFF) << 12
    self.init(device: device, number: number)
  }

  /// What is in one of the system's files, whose length nobody says beforehand.
  private static func text(_ folder: String, _ name: String) -> String? {
    guard let file = try? SystemStorage(path: folder).openFile(name, .read) else { return nil }
    var found = Buffer()
    _ = try? found.fill(byteCountMax, from: file, at: 0)
    return String(decoding: found.bytes.array(), as: UTF8.self)
  }
}
