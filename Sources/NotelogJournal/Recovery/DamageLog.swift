// What turned out to be damaged while a store was in use: FORMAT.md §12.3.

import NotelogConcurrency

/// Damage that reading came upon since a store was opened. Opening looks at few of a store's bytes; what it found is in the
/// `RecoveryReport`.
package final class DamageLog: Sendable {
  private struct State {
    var damages: [Damage] = []
    /// Where they are: one place may be come upon in several ways.
    var places: Set<LogPosition> = []
  }

  /// How many places are kept. Whoever comes upon more has a store to salvage, and `verify` lists them all.
  private static let maximumCount = 10_000

  private let state = Lock(State())
  private let isEmptyFlag = Flag(true)

  /// Whether nothing was found.
  package var isEmpty: Bool { isEmptyFlag.isSet }
  /// What was found, in the order in which it was.
  package var damages: [Damage] { state.withLock { $0.damages } }

  /// Notes a finding, once.
  func note(_ damage: Damage) {
    _ = isEmptyFlag.exchange(false)
    state.withLock { state in
      let place = LogPosition(segment: damage.segment, offset: damage.offset)
      guard state.damages.count < Self.maximumCount, state.places.insert(place).inserted else { return }
      state.damages.append(damage)
    }
  }

  /// Notes what an error says, where it is about damage.
  func note(_ error: JournalError) {
    guard error.code == .damaged, let segment = error.segment else { return }
    note(Damage(.payload, segment: segment, offset: error.offset ?? 0, record: error.record))
  }
}

extension Journal {
  /// Everything that is known to be damaged: what opening found, and what reading came upon since.
  package var damages: [Damage] {
    report.damages + damageLog.damages.filter { !report.damages.contains($0) }
  }

  /// Whether anything is known to be damaged.
  package var isDamaged: Bool { report.isDamaged || !damageLog.isEmpty || !knowsWhatIsCurrent }

  /// Whether every record that is served is known to be its newest version. Where it isn't, nothing may be written, and no
  /// checkpoint be made: each opening has to find that out.
  package var knowsWhatIsCurrent: Bool { catalog.staleness.below == 0 }

  /// Records with a lower revision may be older than they were; 0 where all are current.
  package var staleBelow: UInt64 { catalog.staleness.below }

  /// What came up while the store was in use.
  package var damageLog: DamageLog { catalog.damageLog }

  /// How many records are lost in some places, as far as the index says where they were.
  ///
  /// - Complexity: O(*n*) in the records of the store: all of the index is brought into memory.
  package func lostRecordCount(in damages: [Damage]) throws(JournalError) -> Int {
    var ranges: [UInt32: [Range<Int>]] = [:]
    for damage in damages where damage.kind.mayLoseRecords {
      // Of a frame, where it begins is enough; of a segment, all of it is meant where nothing is said.
      let isFrame = damage.kind == .payload
      let end = isFrame ? damage.offset + 8 : damage.byteCount > 0 ? damage.offset + damage.byteCount : .max
      ranges[damage.segment, default: []].append(damage.offset..<end)
    }
    guard !ranges.isEmpty else { return 0 }
    var count = 0
    try journaling { () throws(StorageError) in
      try catalog.index.forEachShard { table, _ in
        table.forEach { entry in
          let place = entry.place
          guard !place.isTombstone, let lost = ranges[place.segment] else { return }
          if lost.contains(where: { $0.contains(place.offset) }) { count += 1 }
        }
      }
    }
    return count
  }
}

extension Damage.Kind {
  /// Whether records that were in the place can't be read any more. Of the other kinds another copy serves, or nothing depends
  /// on them.
  package var mayLoseRecords: Bool {
    switch self {
    case .missingSegment, .unreadableSegment, .foreignSegment, .truncated, .lostFrames, .payload: true
    case .headerCopy, .replacedSegment, .footer, .liveSet, .notZero, .commitMark, .chunks, .backupFile,
      .endsBeforeBackup:
      false
    }
  }
}

extension Journal {
  /// Notes that a record can't be read, for a reason that only its reader can tell: its body, or a tag.
  package func noteDamage(of record: RecordKey) {
    let location = try? catalog.location(of: record)
    damageLog.note(
      Damage(.payload, segment: location?.segment ?? 0, offset: Int(location?.offset ?? 0), record: record))
  }
}
