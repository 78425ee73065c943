// What a store holds and what it takes.

import NotelogFormat
import NotelogBase
import NotelogCrypto
import NotelogStorage

/// Figures about a store; all of them are known without a key.
public struct StoreInfo: Sendable {
  /// A segment file.
  public struct Segment: Sendable {
    /// Its number.
    public let number: Int
    /// What it is: `log`, `recovered` or `compacted`.
    public let kind: String
    /// Whether it is the one that is written to.
    public let isHead: Bool
    /// The file's length.
    public let byteCount: Int
    /// How much of it is live.
    public let liveByteCount: Int
    /// Of the others, the bytes that compaction keeps, in a store that keeps versions.
    public let keptByteCount: Int
  }

  /// A slot of the keyring.
  public struct Slot: Sendable {
    /// Its number.
    public let number: UInt32
    /// What opens it: `password`, `key` or `recovery key`.
    public let kind: String
    /// For a password, the exponent of scrypt's *N*.
    public let work: Int?
    /// The names of the keys that it opens, or their generations' numbers while names are locked; nil for one
    /// that unlocks the store.
    public let grant: [String]?
  }

  /// A named key.
  public struct Key: Sendable {
    /// The number of the generation that new values are sealed under.
    public let number: UInt32
    /// Its name; nil while names are locked.
    public let name: String?
    /// When it may be used.
    public let keyClass: String
    /// The numbers of its generations that values may be under, the oldest first.
    public let generations: [UInt32]
    /// Whether it can be shredded.
    public let isShreddable: Bool
    /// What can be done with it now.
    public let state: KeyState
  }

  /// What can be done with a named key.
  public enum KeyState: String, Sendable {
    /// It is open.
    case open
    /// It is locked.
    case locked
    /// It stayed on the device that it was made on.
    case elsewhere
    /// The file is missing that it can't be opened without: this is a copy of the store, or somebody removed
    /// it.
    case missingFile
    /// It was shredded.
    case shredded
  }

  /// The store's id: random, the same in every copy.
  public let id: String
  /// The branch of the store's history, random: a restored and a salvaged store have one of their own.
  public let branch: String
  /// Whether commits have their times.
  public let keepsCommitTimes: Bool
  /// How long versions are kept after they were replaced; nil where they are not.
  public let keepsVersions: Duration?
  /// How many records there are, the store's own not counted.
  public let recordCount: Int
  /// The bytes of all segment files.
  public let byteCount: Int
  /// The bytes of what is live.
  public let liveByteCount: Int
  /// The bytes of versions that are kept, their large values and their commits' times; 0 where the store keeps
  /// none.
  public let keptByteCount: Int
  /// The bytes that all of the store's files take for what was written: segments up to the log's end, index,
  /// keyring and schemas.
  public let usedByteCount: Int
  /// The bytes that are set aside beside them: for compaction on a full disk, and for what is written next.
  /// Files of a backup or of what a crash tore off are in neither.
  public let reservedByteCount: Int
  /// The bytes that compaction can give back, about.
  public let deadByteCount: Int
  /// Segments that were replaced, and whose files are kept for a backup that is under way.
  public let pinnedSegments: [Int]
  /// Segments that compaction left as they are because they are damaged.
  public let damagedSegments: [Int]
  /// How many snapshots are in use; what compaction removes takes up space until they go.
  public let snapshotCount: Int
  /// The revision that the next transaction will have.
  public let nextRevision: UInt64
  /// The segments.
  public let segments: [Segment]
  /// The keyring's slots.
  public let slots: [Slot]
  /// The named keys.
  public let keys: [Key]
  /// What the keyring's two files were like when the store was opened; `sound` where nothing was wrong.
  public let keyring: String
  /// What the two places of the schemas were like when the store was opened; `sound` where nothing was wrong.
  public let schemas: String
  /// How the store was left, and what was met since; of the keyring and the schemas too.
  public let verdict: Verdict
  /// Whether the store had been closed in order.
  public let wasClosed: Bool
  /// Whether the keys are unlocked.
  public let isUnlocked: Bool
  /// The version of the format that the store is written in.
  public let formatVersion: Int
  /// Where the durable floor is: what lies before this place in the log is on the disk for certain.
  public let floor: (segment: Int, offset: Int)
  /// How the memory that holds secrets is less protected than it should be; nil where the system granted
  /// everything.
  public let memoryNote: String?
}

extension Store {
  /// Figures as of now.
  public func info() -> StoreInfo {
    // Chunks count as live once it is known which are; where that can't be found out now, records alone are
    // counted.
    try? journal.loadChunks()
    journal.moveHorizonIfDue(unlessKnown: true)
    let statistics = journal.statistics
    let (floor, nextRevision) = journal.log.state.withLock { ($0.floor, $0.nextSequence) }
    let (pinned, damaged) = journal.compactor.state.withLock { state in
      (state.deferred.keys.sorted(), state.damaged.sorted())
    }
    let keyring = vault.keyring
    let keptSeconds = journal.log.branch.keptSeconds
    // They are listed in memory, also when the store is closed.
    let own = journal.catalog.listed.entries.count
    let others = [FileName.index, KeyringFiles.name, KeyringFiles.copyName, SchemaFile.name]
    let written = others.reduce(0) { $0 + journal.byteCount(of: $1) }
    return StoreInfo(
      id: RecordID(storeID).description, branch: RecordID(journal.log.branch.id).description,
      keepsCommitTimes: journal.log.branch.keepsTimes,
      keepsVersions: keptSeconds > 0 ? .seconds(Int64(keptSeconds)) : nil,
      recordCount: journal.catalog.index.recordCount - own, byteCount: statistics.segments.byteCount,
      liveByteCount: statistics.segments.liveByteCount,
      keptByteCount: statistics.segments.reduce(0) { $0 + $1.keptByteCount },
      usedByteCount: statistics.writtenByteCount + written,
      reservedByteCount: statistics.reservedByteCount, deadByteCount: statistics.segments.deadByteCount,
      pinnedSegments: pinned.map(Int.init), damagedSegments: damaged.map(Int.init),
      snapshotCount: journal.catalog.oldVersions.snapshotCount,
      nextRevision: nextRevision, segments: statistics.segments,
      slots: keyring.slots.map { slot in
        StoreInfo.Slot(
          number: slot.id, kind: slot.kind?.name ?? "of a later version",
          work: slot.kind == .password ? Int(slot.logN) : nil,
          grant: slot.grant == 0
            ? nil
            : keyring.keys(grantedTo: slot).map {
              vault.name(ofKey: $0.number) ?? "\($0.current.rawValue)"
            })
      },
      keys: keyring.namedKeys.map { key in
        StoreInfo.Key(
          number: key.current.rawValue, name: vault.name(ofKey: key.number),
          keyClass: key.accessClass.description,
          generations: keyring.generations(of: key.number).map(\.rawValue), isShreddable: key.isEffaceable,
          state: state(of: key))
      },
      keyring: keyringWords,
      schemas: schemaWords,
      verdict: verdict,
      wasClosed: journal.report.wasClosed,
      isUnlocked: vault.isUnlocked, formatVersion: Int(SegmentHeader.version),
      floor: (Int(floor.segment), floor.offset), memoryNote: SecretMemory.shared.note)
  }
}

// MARK: - What a journal holds and what it takes.

extension [StoreInfo.Segment] {
  /// The bytes of finished segments and of the head that are neither live nor kept, nor a segment's own.
  var deadByteCount: Int {
    reduce(0) {
      $0 + Swift.max(0, $1.byteCount - $1.liveByteCount - $1.keptByteCount - Segment.overheadByteCount)
    }
  }
  /// The bytes of all segments' files.
  var byteCount: Int { reduce(0) { $0 + $1.byteCount } }
  /// The bytes of live frames and their footer entries.
  var liveByteCount: Int { reduce(0) { $0 + $1.liveByteCount } }
}

extension Journal {
  /// Its segments as of now; how long they are up to the log's end; and how much of the files is set aside: the
  /// reserve, and what the head's file has ahead of the log's end.
  var statistics: (segments: [StoreInfo.Segment], writtenByteCount: Int, reservedByteCount: Int) {
    // What came behind the checkpoint counts as live once the index has it.
    _ = catalog.index.recordCount
    // A closed file has no length any more, and ends where the log does.
    let head = log.state.withLock { (end: $0.head?.end ?? 0, allocatedEnd: $0.head?.allocatedEnd ?? 0) }
    let segments = catalog.segments.all.map { segment in
      let byteCount = segment.entry?.byteCount ?? (try? segment.file.byteCount()) ?? head.end
      // The head's footer, which counts as live with each frame, is not written yet: nothing behind the log's
      // end lives.
      let end = !segment.isFinished && head.end > 0 ? head.end : byteCount
      let live = min(segment.liveBytes, end)
      let own = segment.isFinished ? Segment.overheadByteCount : Layout.firstFrameOffset
      let kept = catalog.kept.seconds > 0 ? max(0, end - own - live - segment.expiredByteCount) : 0
      return StoreInfo.Segment(
        number: Int(segment.number), kind: segment.kind.isLog ? "\(segment.kind)" : "compacted",
        isHead: !segment.isFinished, byteCount: byteCount, liveByteCount: live, keptByteCount: kept)
    }
    var (written, reserved) = (segments.byteCount, byteCount(of: FileName.reserve))
    if let last = segments.first(where: \.isHead), head.end > 0 {
      written -= last.byteCount - head.end
      reserved += max(last.byteCount, isClosed ? 0 : head.allocatedEnd) - head.end
    }
    return (segments, written, reserved)
  }

  /// How long one of the store's files is; 0 where there is none.
  fileprivate func byteCount(of name: String) -> Int {
    (try? storage.openFile(name, .read).byteCount()) ?? 0
  }
}

extension Store {
  /// What the two places of the schemas were like, and whether any is missing, in words.
  private var schemaWords: String {
    guard let missing = missingSchemaWords else { return schemaFinding.words }
    return schemaFinding == SchemaFinding() ? missing : schemaFinding.words + "; " + missing
  }

  /// What the keyring's files were like, in words, and whether the one that was chosen turned out to be
  /// altered.
  var keyringWords: String {
    let (name, copy) = (KeyringFiles.name, KeyringFiles.copyName)
    let finding = keyringFinding.withLock { $0 }
    if let refusal = finding.refusal { return refusal }
    if vault.isServedByOtherCopy {
      return finding.first == .older
        ? "\(copy) was altered, \(name) serves" : "\(name) was altered, \(copy) serves"
    }
    if finding.first != .sound { return "\(name) is \(finding.first), \(copy) serves" }
    switch finding.copy {
    case .sound: return "sound"
    case .older: return "sound, \(copy) is older"
    case .missing, .unreadable: return "\(copy) is \(finding.copy)"
    case .different: return "\(name) and \(copy) disagree: one of them was altered"
    }
  }

  /// The verdict on the log and what is beside it.
  private var verdict: Verdict {
    let verdict = journal.verdict
    return !verdict.isDamaged && findingsBesideLog.contains(where: \.isDamage) ? .contained : verdict
  }

  private func state(of key: Keyring.NamedKey) -> StoreInfo.KeyState {
    if key.isShredded { return .shredded }
    if key.isEffaceable, !EffaceableFile(storage: storage, storeID: storeID, number: key.number).isThere {
      return .missingFile
    }
    switch vault.refusal(of: key.current) {
    case nil: return .open
    case .elsewhere: return .elsewhere
    default: return .locked
    }
  }
}

extension Keyring {
  /// A named key's generations, the oldest first.
  func generations(of number: UInt16) -> [KeyReference] {
    var found: [KeyReference] = []
    for key in dataKeys where key.number == number && found.last != key.reference {
      found.append(key.reference)
    }
    return found
  }
}

extension Keyring.Slot.Kind {
  fileprivate var name: String {
    switch self {
    case .password: "password"
    case .rawKey: "key"
    case .recoveryKey: "recovery key"
    }
  }
}
