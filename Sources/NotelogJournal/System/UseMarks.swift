// One mark for each slot of the block cache: set while many threads read, taken back when room is made.

import Synchronization

/// A fixed number of marks with one owner; none is set at first.
@safe struct UseMarks: ~Copyable {
  private let base: UnsafeMutablePointer<Atomic<Bool>>
  private let count: Int

  init(count: Int) {
    self.count = count
    // SAFETY: allocated here, owned by this value alone, every mark initialised, freed in deinit.
    unsafe base = .allocate(capacity: max(count, 1))
    for index in 0..<count { unsafe (base + index).initialize(to: Atomic(false)) }
  }

  deinit {
    // SAFETY: this value alone owns the memory, and nobody uses it any more.
    unsafe base.deinitialize(count: count)
    unsafe base.deallocate()
  }

  /// Sets a mark. One that is set already is only looked at: threads that read the same slots don't take its line away
  /// from each other.
  @inline(__always)
  func set(_ index: Int) {
    precondition(index >= 0 && index < count, "a mark is set within the store")
    // SAFETY: the bounds were checked, and every mark is initialised.
    let mark = unsafe base + index
    if unsafe !mark.pointee.load(ordering: .relaxed) { unsafe mark.pointee.store(true, ordering: .relaxed) }
  }

  /// Takes a mark back.
  ///
  /// - Returns: Whether it was set.
  func take(_ index: Int) -> Bool {
    precondition(index >= 0 && index < count, "a mark is taken within the store")
    // SAFETY: as above.
    return unsafe base[index].exchange(false, ordering: .relaxed)
  }
}

// SAFETY: the marks are atomic, and their memory has one owner, the value, which can't be copied.
extension UseMarks: @unchecked Sendable {}
