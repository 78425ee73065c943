// How far a rotation is (FORMAT.md 21.4).

import NotelogBase

/// How far the rotation of a key is. It is kept in memory: what is not known any more is looked for again.
struct RotationProgress {
  /// Finished segments in which no current record but those of `pending` has a value under an old generation:
  /// none will ever be in them.
  var resealed: Set<UInt32> = []
  /// Records with such values that were found and not seen to yet.
  var pending: [(id: ID16, collection: UInt16)] = []
  var failed: Set<ID16> = []
}
