// What an open store knows of its checkpoint.

import Synchronization

/// Whether the next opening will take the checkpoint, and whether the one that was taken turned out to be damaged.
///
/// It outlives the shards' source, which goes with its files when all shards are in memory.
final class CheckpointHealth: Sendable {
  private let damage = Atomic(false)
  private let usability: Atomic<Bool>

  init(isThere: Bool) { usability = Atomic(isThere) }

  var isDamaged: Bool { damage.load(ordering: .relaxed) }
  var isUsable: Bool { usability.load(ordering: .relaxed) }

  func noteDamage() {
    damage.store(true, ordering: .relaxed)
    usability.store(false, ordering: .relaxed)
  }

  /// Notes that there is a new one.
  func noteCheckpoint() { usability.store(true, ordering: .relaxed) }
}
