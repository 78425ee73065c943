// How far a rotation is (FORMAT.md 21.4).

import NotelogBase
import NotelogCrypto

/// How far the rotation of a key is. It is kept in memory: what is not known any more is looked for again.
struct RotationProgress {
  var generation: KeyReference
  /// Finished segments in which no current record has a value under an old generation: none will ever be in
  /// them.
  var resealed: Set<UInt32> = []
  /// Records with such values that were found and not seen to yet, and the segment that they were found in.
  var pending: [(id: ID16, collection: UInt16)] = []
  var segment: (number: UInt32, isFinished: Bool, byteCount: Int)?
  var failed: Set<ID16> = []
}
