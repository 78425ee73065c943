// A record that was read: FORMAT.md §5.

import NotelogBase
import NotelogFormat

/// A record as it is stored. Its bytes are in the buffer it was read into.
struct StoredRecord: Sendable, BitwiseCopyable {
  let id: ID16
  let collection: UInt16
  /// The sequence number of the transaction that wrote it; 0 for one that is not committed yet.
  let revision: UInt64
  /// Whether frames that are lost may have held a newer version.
  let isPossiblyStale: Bool

  init(id: ID16, collection: UInt16, revision: UInt64, isPossiblyStale: Bool) {
    self.id = id
    self.collection = collection
    self.revision = revision
    self.isPossiblyStale = isPossiblyStale
  }
}
