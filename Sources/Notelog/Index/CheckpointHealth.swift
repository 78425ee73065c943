// What an open store knows of its checkpoint.

import NotelogBase
import Synchronization

/// Whether the next opening will take the checkpoint, and whether the one that was taken turned out to be damaged.
///
/// It outlives the shards' source, which goes with its files when all shards are in memory.
final class CheckpointHealth: Sendable {
  private let damage = Atomic(false)
  private let lie = Atomic(false)
  private let usability: Atomic<Bool>
  private let current: Lock<CheckpointHead?>

  init(_ head: CheckpointHead?) {
    usability = Atomic(head != nil)
    current = Lock(head)
  }

  var isDamaged: Bool { damage.load(ordering: .relaxed) }
  var isUsable: Bool { usability.load(ordering: .relaxed) }
  /// The checkpoint that the next opening will take.
  var head: CheckpointHead? { isUsable ? current.withLock { $0 } : nil }

  /// Whether it checks, and names records elsewhere than the segments do. What is in memory of the index may be wrong then.
  var isWrong: Bool { lie.load(ordering: .relaxed) }

  func noteLie() {
    lie.store(true, ordering: .relaxed)
    usability.store(false, ordering: .relaxed)
  }

  func noteDamage() {
    damage.store(true, ordering: .relaxed)
    usability.store(false, ordering: .relaxed)
  }

  /// Notes that it is there no longer, damaged or not.
  func noteRemoval() { usability.store(false, ordering: .relaxed) }

  /// Notes that there is a new one.
  func noteCheckpoint(_ head: CheckpointHead) {
    current.withLock { $0 = head }
    usability.store(true, ordering: .relaxed)
  }
}
