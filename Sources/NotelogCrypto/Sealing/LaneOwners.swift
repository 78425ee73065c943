// Which thread uses which lane of a sealing key.

import Synchronization

/// A small open-addressed table of thread numbers, one for each lane.
///
/// A thread looks where its number hashes to, and goes on from there to a place of its own or a free one.
/// Places change hands only when all are taken, so the table is read by everybody and written by hardly
/// anyone.
struct LaneOwners: ~Copyable {
  static let count = 64

  private let threads: InlineArray<64, Atomic<UInt>>

  init() {
    threads = InlineArray { _ in Atomic<UInt>(0) }
  }

  /// Where a thread's search starts.
  @inline(__always)
  static func start(for thread: UInt) -> Int {
    // Thread numbers are addresses some pages apart: multiply, and take the top six bits.
    Int(truncatingIfNeeded: (UInt64(thread) &* 0x9E37_79B9_7F4A_7C15) >> 58)
  }

  @inline(__always)
  borrowing func owner(of lane: Int) -> UInt {
    threads[lane].load(ordering: .relaxed)
  }

  /// Whether the lane is the thread's, or was nobody's and is now.
  borrowing func claim(_ lane: Int, for thread: UInt) -> Bool {
    let (claimed, owner) = threads[lane].compareExchange(expected: 0, desired: thread, ordering: .relaxed)
    return claimed || owner == thread
  }

  borrowing func reassign(_ lane: Int, to thread: UInt) {
    threads[lane].store(thread, ordering: .relaxed)
  }
}
