// Versions that were overwritten while a snapshot lives that sees them.

import NotelogBase
import Synchronization

/// A version that is no longer in the index.
struct OldVersion: Sendable {
  /// The sequence number of the transaction that wrote it.
  let sequence: UInt64
  /// The sequence number of the transaction that overwrote it.
  let supersededBy: UInt64
  let place: FrameAddress
  /// Holding the segment keeps its file readable, even after compaction has unlinked it.
  let segment: Segment

  func isVisible(at sequence: UInt64) -> Bool { self.sequence <= sequence && sequence < supersededBy }
}

/// What live snapshots see and the index no longer says.
final class OldVersions: Sendable {
  private struct State {
    /// How many live snapshots there are of each sequence number.
    var snapshots: [UInt64: Int] = [:]
    var versions: [ID16: [OldVersion]] = [:]
    /// Segments that another process has compacted away. Here a large value lives as long as a snapshot sees
    /// it, there it does not.
    var departed: [Segment] = []
  }

  private let state = Lock(State())
  private let liveCount = Atomic<Int>(0)

  /// Whether there is a live snapshot: without one, nothing is noted and nothing is looked up.
  var isNeeded: Bool { liveCount.load(ordering: .acquiring) > 0 }

  /// How many snapshots live.
  var snapshotCount: Int { liveCount.load(ordering: .acquiring) }

  /// Begins to keep what a snapshot sees. Nothing becomes visible meanwhile: the caller sees to that.
  func begin(_ sequence: UInt64) {
    liveCount.add(1, ordering: .acquiringAndReleasing)
    state.withLock { $0.snapshots[sequence, default: 0] += 1 }
  }

  /// Keeps segments that another process has compacted away, as long as there is a snapshot.
  func keep(_ segments: [Segment]) {
    state.withLock { state in if !state.snapshots.isEmpty { state.departed += segments } }
  }

  /// The segments that another process has compacted away since the oldest snapshot was made.
  var departed: [Segment] { state.withLock { $0.departed } }

  /// Forgets what only a snapshot of this sequence number saw, where it is the last.
  func end(_ sequence: UInt64) {
    state.withLock { state in
      state.snapshots[sequence, default: 0] -= 1
      guard state.snapshots[sequence] == 0 else { return }
      state.snapshots[sequence] = nil
      if state.snapshots.isEmpty {
        state.versions = [:]
        state.departed = []
        return
      }
      let sequences = state.snapshots.keys
      for (id, versions) in state.versions {
        let kept = versions.filter { version in sequences.contains { version.isVisible(at: $0) } }
        state.versions[id] = kept.isEmpty ? nil : kept
      }
    }
    liveCount.subtract(1, ordering: .acquiringAndReleasing)
  }

  /// Keeps a version that is about to be overwritten, if a snapshot sees it.
  func note(_ id: ID16, _ version: OldVersion) {
    state.withLock { state in
      guard state.snapshots.keys.contains(where: { version.isVisible(at: $0) }) else { return }
      // Noted before at another place: compaction moved it in between.
      state.versions[id, default: []].removeAll { $0.sequence == version.sequence }
      state.versions[id, default: []].append(version)
    }
  }

  /// The version of a record that was overwritten since and that a snapshot sees.
  func version(of id: ID16, at sequence: UInt64) -> OldVersion? {
    state.withLock { state in state.versions[id]?.first { $0.isVisible(at: sequence) } }
  }
}
