// Whole pages of memory, and what the processor is told of it.

internal import CSystem

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Whole pages of memory.
package enum SystemMemory {
  /// Zeroed pages, as many as hold that many bytes; nothing where the system refuses.
  package static func map(_ byteCount: Int) -> (start: UnsafeMutableRawPointer, byteCount: Int)? {
    let pageByteCount = Int(getpagesize())
    let rounded = (byteCount + pageByteCount - 1) / pageByteCount * pageByteCount
    // SAFETY: an anonymous mapping at an address of the system's choice touches no memory that is in use.
    let start = unsafe mmap(nil, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
    guard let start = unsafe start, unsafe start != MAP_FAILED else { return nil }
    #if os(Linux)
      // Random access to many small pages waits for their translations more than for the bytes.
      if rounded >= 1 << 21 { _ = unsafe madvise(start, rounded, MADV_HUGEPAGE) }
    #endif
    return unsafe (start, rounded)
  }

  /// Asks the processor to fetch what is at an address, if anything is there.
  @inline(__always)
  package static func prefetch(_ address: UInt) {
    // SAFETY: nothing is read, and an address of nothing is no mistake.
    unsafe prefetch_line(UnsafeRawPointer(bitPattern: address))
  }

  /// The same of all the lines that some bytes are on.
  @inline(__always)
  package static func prefetch(_ address: UInt, _ byteCount: Int) {
    var line = address & ~63
    while line < address &+ UInt(byteCount) {
      prefetch(line)
      line &+= 64
    }
  }

  /// Writes zeros, also where the compiler sees that nobody reads them.
  package static func overwrite(_ start: UnsafeMutableRawPointer, _ byteCount: Int) {
    // SAFETY: the caller owns that many bytes.
    #if canImport(Darwin)
      _ = unsafe memset_s(start, byteCount, 0, byteCount)
    #else
      unsafe explicit_bzero(start, byteCount)
    #endif
  }

  /// Gives pages back.
  package static func unmap(_ start: UnsafeMutableRawPointer, _ byteCount: Int) {
    // SAFETY: the caller owns the mapping and does not use it again.
    _ = unsafe munmap(start, byteCount)
  }
}
