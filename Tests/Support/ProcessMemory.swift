// Searching another process's memory for what should not be there: Linux only.

#if os(Linux)
  import Glibc

  /// memmem(3), which the C library's module does not declare.
  @_silgen_name("memmem") private func find(
    _ haystack: UnsafeRawPointer, _ haystackCount: Int, _ needle: UnsafeRawPointer, _ needleCount: Int
  ) -> UnsafeMutableRawPointer?

  package enum ProcessMemory {
    /// Why a process's memory can't be searched.
    package struct Unreadable: Error {
      package let path: String
      package let errno: Int32
    }

    /// How often each pattern stands in a process's memory, anywhere, also where the process itself may not
    /// read.
    package static func occurrences(of patterns: [[UInt8]], in process: Int32) throws -> [Int] {
      var counts = [Int](repeating: 0, count: patterns.count)
      let maps = try readWhole("/proc/\(process)/maps")
      let path = "/proc/\(process)/mem"
      // SAFETY: open(2) reads the path only.
      let memory = unsafe Glibc.open(path, O_RDONLY)
      guard memory >= 0 else { throw Unreadable(path: path, errno: errno) }
      defer { Glibc.close(memory) }
      for line in maps.split(separator: "\n") {
        let fields = line.split(separator: " ", omittingEmptySubsequences: true)
        guard fields.count >= 2 else { continue }
        let bounds = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
        guard bounds.count == 2, bounds[1] < 1 << 47 else { continue }
        let region = read(memory, from: bounds[0], to: bounds[1])
        for (index, pattern) in patterns.enumerated() { counts[index] += count(pattern, in: region) }
      }
      return counts
    }

    /// A file of /proc, which has no size to go by: read until there is no more.
    private static func readWhole(_ path: String) throws -> String {
      // SAFETY: open(2) reads the path; read(2) writes within the piece.
      let file = unsafe Glibc.open(path, O_RDONLY)
      guard file >= 0 else { throw Unreadable(path: path, errno: errno) }
      defer { Glibc.close(file) }
      var text: [UInt8] = []
      var piece = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = unsafe Glibc.read(file, &piece, piece.count)
        if count <= 0 { return String(decoding: text, as: UTF8.self) }
        text += piece[..<count]
      }
    }

    /// A region's bytes; pages that can't be read (beyond a mapped file's end) are zeros.
    private static func read(_ memory: Int32, from start: UInt64, to end: UInt64) -> [UInt8] {
      var region = [UInt8](repeating: 0, count: Int(end - start))
      // SAFETY: pread(2) writes within the rest of the region.
      unsafe region.withUnsafeMutableBytes { bytes in
        var offset = 0
        while offset < bytes.count {
          let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[offset...])
          let count = unsafe pread(memory, rest.baseAddress, rest.count, off_t(start) + off_t(offset))
          offset += count > 0 ? count : 4096
        }
      }
      return region
    }

    private static func count(_ pattern: [UInt8], in region: [UInt8]) -> Int {
      // SAFETY: memmem(3) reads within both; the offset stays within the region.
      unsafe region.withUnsafeBytes { region in
        unsafe pattern.withUnsafeBytes { pattern in
          guard let needle = pattern.baseAddress, let start = region.baseAddress else { return 0 }
          var count = 0
          var offset = 0
          while let found = unsafe find(start + offset, region.count - offset, needle, pattern.count) {
            count += 1
            offset = unsafe UnsafeRawPointer(found) - start + 1
          }
          return count
        }
      }
    }
  }
#endif
