// The few calls to the operating system that secrets need; the only file of this module with platform
// conditions.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Memory for secrets, as the system gives it.
enum Platform {
  static let pageSize = max(4096, Int(sysconf(Int32(_SC_PAGESIZE))))

  /// What the system granted for a mapping.
  struct Granted: OptionSet {
    let rawValue: Int
    /// Never written to swap.
    static let locked = Granted(rawValue: 1)
    /// Not in core dumps.
    static let notDumped = Granted(rawValue: 2)
    /// Zero in a forked child.
    static let wipedOnFork = Granted(rawValue: 4)
  }

  /// Maps zeroed memory between two inaccessible pages.
  ///
  /// - Returns: The first usable byte, or nil where the system has no memory.
  static func mapGuarded(byteCount: Int) -> UnsafeMutableRawPointer? {
    let whole = byteCount + 2 * pageSize
    // SAFETY: a fresh anonymous private mapping aliases nothing; its result is compared with MAP_FAILED.
    let base = unsafe mmap(nil, whole, PROT_NONE, MAP_PRIVATE | mapAnonymous, -1, 0)
    guard let base = unsafe base, unsafe base != UnsafeMutableRawPointer(bitPattern: -1) else { return nil }
    // SAFETY: within the mapping just made.
    let usable = unsafe base + pageSize
    guard unsafe mprotect(usable, byteCount, PROT_READ | PROT_WRITE) == 0 else {
      unsafe munmap(base, whole)
      return nil
    }
    return unsafe usable
  }

  /// Undoes `mapGuarded`.
  static func unmapGuarded(_ usable: UnsafeMutableRawPointer, byteCount: Int) {
    // SAFETY: the caller hands back what `mapGuarded` gave, with the same size.
    _ = unsafe munmap(usable - pageSize, byteCount + 2 * pageSize)
  }

  /// Asks for memory that is not swapped, not dumped, and zero after a fork; says what was granted.
  static func protect(_ usable: UnsafeMutableRawPointer, byteCount: Int, locking: Bool) -> Granted {
    var granted: Granted = []
    // SAFETY: the range is a mapping of ours; none of the calls changes its contents in this process.
    if locking, unsafe mlock(usable, byteCount) == 0 { granted.insert(.locked) }
    #if canImport(Darwin)
      if unsafe minherit(usable, byteCount, VM_INHERIT_ZERO) == 0 { granted.insert(.wipedOnFork) }
    #else
      if unsafe madvise(usable, byteCount, adviceDontDump) == 0 { granted.insert(.notDumped) }
      if unsafe madvise(usable, byteCount, adviceWipeOnFork) == 0 { granted.insert(.wipedOnFork) }
    #endif
    return granted
  }

  /// Fills memory from the system's generator: keys, salts, nonces.
  static func systemRandom(_ buffer: UnsafeMutableRawPointer, byteCount: Int) -> Bool {
    // SAFETY: within the caller's buffer, which holds `byteCount` bytes; getentropy(3) refuses more than 256.
    stride(from: 0, to: byteCount, by: 256).allSatisfy { offset in
      unsafe getentropy(buffer + offset, min(256, byteCount - offset)) == 0
    }
  }

  static func yield() { _ = sched_yield() }

  #if canImport(Darwin)
    private static let mapAnonymous = MAP_ANON
  #else
    private static let mapAnonymous = MAP_ANONYMOUS
    /// MADV_DONTDUMP and MADV_WIPEONFORK of Linux.
    private static let adviceDontDump: Int32 = 16
    private static let adviceWipeOnFork: Int32 = 18
  #endif
}
