// What an open journal knows of damage.

import NotelogFormat
import NotelogStorage
import NotelogBase

extension Journal {
  /// Everything that is known to be damaged: what opening found, and what reading came upon since.
  var damages: [Finding] {
    report.damages + damageLog.damages.filter { !report.damages.contains($0) }
  }

  /// Whether anything is known to be damaged.
  var isDamaged: Bool { report.isDamaged || !damageLog.isEmpty || !knowsWhatIsCurrent }

  /// Whether every record that is served is known to be its newest version. Where it isn't, nothing may be written, and no
  /// checkpoint be made: each opening has to find that out.
  var knowsWhatIsCurrent: Bool { catalog.staleness.below == 0 }

  /// Records with a lower revision may be older than they were; 0 where all are current.
  var staleBelow: UInt64 { catalog.staleness.below }

  /// What came up while the store was in use.
  var damageLog: DamageLog { catalog.damageLog }

  /// How many records are lost in some places, as far as the index says where they were.
  ///
  /// - Complexity: O(*n*) in the records of the store: all of the index is brought into memory. Segments that are not as long as they were, or
  ///   are others, are read.
  func lostRecordCount(in damages: [Finding]) throws(NotelogError) -> Int {
    var ranges: [UInt32: [Range<Int>]] = [:]
    var listed: [UInt32: Set<Int>] = [:]
    for damage in damages where damage.kind.mayLoseRecords {
      // What a footer that is not complete lists is there; of a file that is not as long as it was, or is another, what still checks.
      let place = damage.place
      let isOther = damage.kind == .truncated || damage.kind == .replacedSegment
      if isOther || damage.kind == .lostFrames && damage.byteCount == 0,
        let offsets = try? catalog.segments[place.segment]?.soundOffsets()
      {
        listed[place.segment] = offsets
        continue
      }
      // Of a frame, where it begins is enough; of a segment, all of it is meant where nothing is said.
      let isFrame = damage.kind == .payload
      let end = isFrame ? place.offset + 8 : damage.byteCount > 0 ? damage.range.upperBound : .max
      ranges[place.segment, default: []].append(place.offset..<end)
    }
    guard !ranges.isEmpty || !listed.isEmpty else { return 0 }
    var count = 0
    try fromStorage { () throws(StorageError) in
      try catalog.index.forEachShard { table in
        table.forEach { entry in
          let place = entry.place
          guard !place.isTombstone else { return }
          let isInRange = ranges[place.segment]?.contains { $0.contains(place.offset) } == true
          if isInRange || listed[place.segment]?.contains(place.offset) == false { count += 1 }
        }
      }
    }
    return count
  }

  /// Notes that a record can't be read, for a reason that only its reader can tell: its body, or a tag.
  func noteDamage(_ kind: Finding.Kind = .payload, of record: ID16) {
    let location = try? catalog.location(of: record)
    damageLog.note(
      Finding(kind, segment: location?.segment ?? 0, offset: Int(location?.offset ?? 0), record: record))
  }

  /// Notes that a record's large value can't be read, where that is known: the record itself is there.
  func noteDamagedValue(of record: ID16, segment: UInt32?, offset: Int?) {
    if let segment, let offset {
      return damageLog.note(Finding(.payload, segment: segment, offset: offset, record: record))
    }
    noteDamage(.chunks, of: record)
  }
}
