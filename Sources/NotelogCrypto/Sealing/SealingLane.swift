// One thread's place in a sealing key.

import Synchronization

/// A sealing context and who may use it now.
///
/// A lane fills two cache lines, so that threads on neighbouring lanes don't slow each other down.
@safe struct SealingLane: ~Copyable {
  private enum Use {
    static let free: UInt32 = 0
    static let taken: UInt32 = 1
    /// The key was wiped: taken for good.
    static let closed: UInt32 = 2
  }

  private let use = Atomic<UInt32>(Use.free)
  /// The context's address. It belongs to whoever holds the lane, and is atomic only because to change a plain property would be
  /// to claim the whole lane, `use` included, at which other threads look meanwhile.
  private let address = Atomic<UInt>(0)
  private let padding = InlineArray<14, UInt64>(repeating: 0)

  /// The context, once whoever holds the lane has made one.
  @inline(__always) var context: UnsafeMutablePointer<SealingContext>? {
    // SAFETY: the address came from a pointer to a context, which lives until `wipe`.
    unsafe UnsafeMutablePointer(bitPattern: address.load(ordering: .relaxed))
  }

  /// Leaves a context in the lane, which has none. By whoever holds the lane.
  borrowing func keep(_ context: UInt) { address.store(context, ordering: .relaxed) }

  /// Takes the lane, where it is free.
  @inline(__always) borrowing func acquire() -> Bool {
    use.compareExchange(expected: Use.free, desired: Use.taken, ordering: .acquiring).exchanged
  }

  /// Gives the lane back: a plain store, because nobody else writes while it is taken.
  @inline(__always) borrowing func giveBack() { use.store(Use.free, ordering: .releasing) }

  /// Takes the lane for good, once whoever holds it has given it back. To be called once.
  borrowing func close() {
    while !use.compareExchange(expected: Use.free, desired: Use.closed, ordering: .acquiring).exchanged {
      Platform.yield()
    }
  }

  /// Frees the lane's context, which cleanses page and key schedules. After `close`.
  borrowing func wipe() {
    // SAFETY: made by `SealingKey` with one allocation and one initialisation; nobody else points to it.
    guard let wiped = unsafe context else { return }
    address.store(0, ordering: .relaxed)
    unsafe wiped.deinitialize(count: 1)
    unsafe wiped.deallocate()
  }
}
