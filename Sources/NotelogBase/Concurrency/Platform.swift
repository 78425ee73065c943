// What depends on the C library and the system: memory, mutexes with their condition variables, threads that
// may wait.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import CSystem
internal import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A number below 64 that is the calling thread's, to spread threads over copies of what they share; others
/// may have the same.
public var threadNumber: Int {
  // Threads' addresses lie some pages apart: multiplied, their highest bits differ.
  Int(truncatingIfNeeded: (UInt64(threadIdentity) &* 0x9E37_79B9_7F4A_7C15) >> 58)
}

/// A number that is the calling thread's alone.
@inline(__always)
public var threadIdentity: UInt {
  #if canImport(Darwin)
    UInt(bitPattern: pthread_self())
  #else
    UInt(pthread_self())
  #endif
}

/// This process.
package var processIdentifier: Int32 { getpid() }

/// Calls `body` on a thread that may wait, on which no task waits to run.
public func onWaitingThread(_ body: @escaping @Sendable () -> Void) {
  #if canImport(Darwin)
    let queue = DispatchQueue.global()
  #else
    // The cooperative pool is one of the global queues: tasks would wait for a thread behind whoever waits
    // here, and get one a second. A serial queue of its own gets a thread at once, as long as there are fewer
    // than 255.
    let queue = DispatchQueue(label: "notelog.waiting")
  #endif
  queue.async(execute: body)
}

/// The time of the system's clock.
package func millisecondsSince1970() -> UInt64 {
  var time = timespec()
  // SAFETY: the call writes one `timespec`, which `time` is.
  guard unsafe clock_gettime(CLOCK_REALTIME, &time) == 0, time.tv_sec >= 0 else { return 0 }
  return UInt64(time.tv_sec) * 1000 + UInt64(time.tv_nsec) / 1_000_000
}

/// Lets a time pass.
package func pauseThread(_ duration: Duration) {
  let parts = duration.components
  usleep(UInt32(clamping: parts.seconds * 1_000_000 + parts.attoseconds / 1_000_000_000_000))
}

/// A mutex that lies where its owner wants it: beside what it guards, or on a cache line of its own.
// SAFETY: whoever makes one keeps its memory where it is, ends it once, and uses it by these calls alone.
@safe public struct PlacedMutex: @unchecked Sendable {
  // SAFETY: as said above.
  @usableFromInline nonisolated(unsafe) let memory: UnsafeMutableRawPointer

  // SAFETY: only its size is asked for.
  /// The bytes that it takes.
  public static let byteCount = unsafe MemoryLayout<pthread_mutex_t>.size

  /// Makes a mutex in memory that nothing else is in.
  public init(at memory: UnsafeMutableRawPointer) {
    // SAFETY: the caller gives memory of this size, aligned for anything.
    unsafe self.memory = memory
    var attributes = pthread_mutexattr_t()
    unsafe pthread_mutexattr_init(&attributes)
    #if canImport(Glibc)
      // Most are held for a microsecond or two: less than a thread needs to fall asleep and wake.
      unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
    #endif
    unsafe pthread_mutex_init(
      memory.initializeMemory(as: pthread_mutex_t.self, to: pthread_mutex_t()), &attributes)
    unsafe pthread_mutexattr_destroy(&attributes)
  }

  /// The mutex that was made in this memory.
  @inlinable
  public init(existingAt memory: UnsafeMutableRawPointer) {
    // SAFETY: as the caller says, a mutex was made here and has not ended.
    unsafe self.memory = memory
  }

  fileprivate var mutex: UnsafeMutablePointer<pthread_mutex_t> {
    // SAFETY: it is one from the beginning until `end`.
    unsafe memory.assumingMemoryBound(to: pthread_mutex_t.self)
  }

  /// Ends the mutex; the memory is its owner's again.
  public func end() {
    // SAFETY: nobody holds or waits for a mutex whose owner ends it.
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deinitialize(count: 1)
  }

  // SAFETY: the mutex is initialised until `end`.
  public func lock() { unsafe pthread_mutex_lock(mutex) }

  // SAFETY: as above.
  public func unlock() { unsafe pthread_mutex_unlock(mutex) }
}

/// A mutex, and the rooms in which threads wait for what it guards: each room has a condition variable of its
/// own.
// SAFETY: all live at addresses that never move, are reached by the pthread calls alone, and end with this
// object.
@safe public final class ConditionMutex: Sendable {
  private let mutex: PlacedMutex
  // SAFETY: as said above.
  private nonisolated(unsafe) let rooms: UnsafeMutablePointer<pthread_cond_t>
  private let roomCount: Int

  public init(roomCount: Int = 1) {
    precondition(roomCount >= 1 && roomCount <= Wake.roomLimit, "a mutex has 1 to \(Wake.roomLimit) rooms")
    self.roomCount = roomCount
    // SAFETY: allocated and initialised before anything uses them.
    mutex = unsafe PlacedMutex(at: .allocate(byteCount: PlacedMutex.byteCount, alignment: 16))
    unsafe rooms = .allocate(capacity: roomCount)
    unsafe rooms.initialize(repeating: pthread_cond_t(), count: roomCount)
    for room in 0..<roomCount { unsafe pthread_cond_init(rooms + room, nil) }
  }

  deinit {
    // SAFETY: nobody holds or waits for a mutex whose last owner is gone.
    for room in 0..<roomCount { unsafe pthread_cond_destroy(rooms + room) }
    unsafe rooms.deallocate()
    mutex.end()
    unsafe mutex.memory.deallocate()
  }

  public func lock() { mutex.lock() }

  // SAFETY: the mutex is initialised as long as this object lives.
  package func lockIfFree() -> Bool { unsafe pthread_mutex_trylock(mutex.mutex) == 0 }

  public func unlock() { mutex.unlock() }

  /// Gives the lock up until somebody wakes the room.
  public func wait(in room: Int) {
    precondition(room >= 0 && room < roomCount, "there is such a room")
    // SAFETY: the room was checked; called with the mutex held, as the condition variable requires.
    unsafe pthread_cond_wait(rooms + room, mutex.mutex)
  }

  /// Gives the lock up, and wakes those who wait in the rooms that are named.
  public func unlock(waking wake: Wake) {
    unlock()
    if wake == .nobody { return }
    // Waking a room in which nobody waits costs next to nothing.
    for room in 0..<roomCount {
      // SAFETY: the condition variables live as long as this object.
      if wake.all >> UInt32(room) & 1 != 0 {
        unsafe pthread_cond_broadcast(rooms + room)
      } else if wake.one >> UInt32(room) & 1 != 0 {
        unsafe pthread_cond_signal(rooms + room)
      }
    }
  }
}

/// Whole pages of memory.
public enum SystemMemory {
  /// Zeroed pages, as many as hold that many bytes; nothing where the system refuses.
  ///
  /// - Parameters:
  ///   - byteCount: How many bytes they hold.
  ///   - isFilled: Whether all of them will be used: then they may be large ones, of which the first byte
  ///     takes 2 MiB.
  /// - Returns: Where they are, and how many bytes they are.
  public static func map(
    _ byteCount: Int, isFilled: Bool = true
  ) -> (start: UnsafeMutableRawPointer, byteCount: Int)? {
    let pageByteCount = Int(getpagesize())
    let rounded = (byteCount + pageByteCount - 1) / pageByteCount * pageByteCount
    // SAFETY: an anonymous mapping at an address of the system's choice touches no memory that is in use.
    let start = unsafe mmap(nil, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
    guard let start = unsafe start, unsafe start != MAP_FAILED else { return nil }
    #if os(Linux)
      // Random access to many small pages waits for their translations more than for the bytes.
      if isFilled, rounded >= 1 << 21 { _ = unsafe madvise(start, rounded, MADV_HUGEPAGE) }
    #endif
    return unsafe (start, rounded)
  }

  /// Asks the processor to fetch what is at an address, if anything is there.
  @inlinable
  @inline(__always)
  public static func prefetch(_ address: UInt) {
    // SAFETY: nothing is read, and an address of nothing is no mistake.
    unsafe prefetch_line(UnsafeRawPointer(bitPattern: address))
  }

  /// The same of all the lines that some bytes are on.
  @inlinable
  @inline(__always)
  public static func prefetch(_ address: UInt, _ byteCount: Int) {
    var line = address & ~63
    while line < address &+ UInt(byteCount) {
      prefetch(line)
      line &+= 64
    }
  }

  /// Writes zeros, also where the compiler sees that nobody reads them.
  public static func overwrite(_ start: UnsafeMutableRawPointer, _ byteCount: Int) {
    // SAFETY: the caller owns that many bytes.
    #if canImport(Darwin)
      _ = unsafe memset_s(start, byteCount, 0, byteCount)
    #else
      unsafe explicit_bzero(start, byteCount)
    #endif
  }

  /// Gives pages back.
  public static func unmap(_ start: UnsafeMutableRawPointer, _ byteCount: Int) {
    // SAFETY: the caller owns the mapping and does not use it again.
    _ = unsafe munmap(start, byteCount)
  }
}
