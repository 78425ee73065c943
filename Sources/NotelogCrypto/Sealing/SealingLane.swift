// One thread's place in a sealing key.

import Synchronization

/// A sealing context and who may use it now.
///
/// A lane fills two cache lines, so that threads on neighbouring lanes don't slow each other down.
@safe
struct SealingLane: ~Copyable {
  /// What is known of a lane, as bits.
  enum Bit {
    static let busy: UInt32 = 1
    /// The key was wiped: no more use, and whoever holds the lane wipes it when done.
    static let wiped: UInt32 = 2
  }

  private let state = Atomic<UInt32>(0)
  /// Belongs to whoever holds the lane.
  var context: UnsafeMutablePointer<SealingContext>?
  private let padding = InlineArray<14, UInt64>(repeating: 0)

  /// Takes the lane, where it is free and the key not wiped.
  @inline(__always)
  borrowing func take() -> Bool {
    state.compareExchange(expected: 0, desired: Bit.busy, ordering: .acquiring).exchanged
  }

  /// Gives the lane back.
  ///
  /// - Returns: False where the key was wiped meanwhile: the caller, still its holder, wipes the context.
  @inline(__always)
  borrowing func giveBack() -> Bool {
    state.compareExchange(expected: Bit.busy, desired: 0, ordering: .releasing).exchanged
  }

  /// Closes the lane for good.
  ///
  /// - Returns: Whether nobody holds it, so that the caller wipes the context.
  borrowing func close() -> Bool {
    let (old, _) = state.bitwiseOr(Bit.wiped, ordering: .acquiringAndReleasing)
    return old == 0
  }

  /// Frees the context, which cleanses page and key schedules. For the lane's holder, or after `close`.
  mutating func wipe() {
    guard let context = unsafe context else { return }
    unsafe self.context = nil
    // SAFETY: made by `SealingKey` with one allocation and one initialisation; nobody else points to it.
    unsafe context.deinitialize(count: 1)
    unsafe context.deallocate()
  }
}
