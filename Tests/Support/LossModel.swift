// The ways a crash can treat what was not yet synced.

/// What is left of unsynced work after a crash.
///
/// Synced bytes and entries stay in every model. Where a model chooses, it chooses by the seed it is given.
package enum LossModel: String, CaseIterable, Sendable {
  /// The process died and the system runs on: all stays, still unsynced.
  case processKilled
  /// Power loss; nothing unsynced had reached the medium.
  case allLost
  /// Power loss; everything had.
  case allKept
  /// Of each file and of the entries, the first so many steps.
  case prefixKept
  /// Each step by itself, whatever their order was.
  case subsetKept
  /// Of each file, the first unsynced write is lost and everything after it is there.
  case firstLost
  /// Of each file, the last write reached the medium with only its first sectors.
  case lastTorn
  /// Each 512-byte sector of each write by itself.
  case sectorsTorn
  /// Each 4 KiB page of each write by itself.
  case pagesTorn
  /// Lengths are as they were last; new space holds zeros, and no unsynced write is there.
  case zeroTail
  /// Lengths are as they were last; new space holds what the medium held before, older frames among it, under
  /// some of the writes.
  case staleTail
  /// All bytes are there, and no name change is.
  case entriesLost
  /// All bytes are there, and of the name changes each by itself.
  case entriesSubset
  /// All name changes are there, and no bytes.
  case bytesLost

  /// Whether the machine went down, and not the process alone.
  package var isPowerLoss: Bool { self != .processKilled }
}
