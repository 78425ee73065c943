// Which of the index's candidates is a record's: the id in the frame decides. docs/format-derived.md §31.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Catalog {
  /// The candidate whose frame bears the id.
  func resolve(_ id: ID16, _ fingerprint: UInt64) throws(StorageError) -> Location? {
    var ordinal = 0
    while let place = try index.candidate(fingerprint, ordinal) {
      switch try segments.candidateState(at: place, cache) {
      case .frame(let entry):
        if entry.id == id { return Location(entry, segment: place.segment) }
        ordinal += 1
      case .unreadable:
        ordinal += 1
      case .gone:
        // Moved in between, the entry holds another place by now. If it doesn't, it is nobody's any longer.
        if try index.candidate(fingerprint, ordinal) == place { ordinal += 1 }
      }
    }
    return nil
  }
}

/// Whether a frame that the index does not name is dead.
enum Supersession {
  /// The index names a later frame of the same record.
  case proven
  /// It names none, or an earlier one, or other records' frames in its place: the index is wrong.
  case refuted
  /// What it names can't be read, or is not there.
  case unknown
}

extension Catalog {
  /// Whether a frame that the index does not name is dead. The index's word alone is not enough for destroying it: it may come
  /// from a checkpoint that is wrong.
  ///
  /// Where it names nothing at all the frame is not dead: a tombstone goes only when no footer lists its id any longer.
  func supersession(of id: ID16, at old: Location) throws(StorageError) -> Supersession {
    if old.chunk != nil { return .proven }
    let fingerprint = index.fingerprint(of: id)
    var ordinal = 0
    var isUnknown = false
    while let place = try index.candidate(fingerprint, ordinal) {
      switch try segments.candidateState(at: place, cache) {
      case .frame(let entry) where entry.id == id:
        let known = Location(entry, segment: place.segment)
        // Of one frame there are two where a recovery copied again what a compaction had copied before.
        let isCopy = known.sequence == old.sequence && known.segment != old.segment
        return known.supersedes(old) || isCopy ? .proven : .refuted
      case .frame: ordinal += 1
      case .unreadable:
        isUnknown = true
        ordinal += 1
      case .gone:
        // Moved in between, the entry holds another place by now.
        guard try index.candidate(fingerprint, ordinal) == place else { continue }
        isUnknown = true
        ordinal += 1
      }
    }
    return isVacated(old.segment) ? .proven : isUnknown ? .unknown : .refuted
  }
}
