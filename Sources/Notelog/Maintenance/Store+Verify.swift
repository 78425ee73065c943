// Verification: every byte without a key, every sealed value with one. It never writes.

import NotelogCrypto
import NotelogJournal

/// What verifying a store found.
public struct Verification: Sendable {
  /// What is verified, part by part.
  public enum Part: String, Sendable, CaseIterable {
    /// Segments, frames, checksums and the live set.
    case structure
    /// The checkpoint of the index.
    case index
    /// The two copies of the keyring.
    case keyring
    /// Records, as their schemas describe them.
    case records
    /// What authenticates sealed values; looked at with a key only.
    case tags
  }

  /// Something that is not as it should be.
  public struct Finding: Sendable, Hashable {
    /// The part that it is found in.
    public let part: Part
    /// Whether it is damage, and not merely something to know.
    public let isDamage: Bool
    /// What it is, in words.
    public let message: String
    /// The segment, where it is about one.
    public let segment: Int?
    /// The offset in the segment.
    public let offset: Int?
    /// The record, where it is about one.
    public let record: RecordID?
  }

  /// What is wrong, or should be known, in the order in which it was found.
  public internal(set) var findings: [Finding] = []
  /// How many bytes were cut, or would be when the store is opened: never acknowledged as durable.
  public internal(set) var tornByteCount = 0
  /// How many segments were read.
  public internal(set) var segmentCount = 0
  /// How many frames were checked.
  public internal(set) var frameCount = 0
  /// How many bytes were read.
  public internal(set) var byteCount = 0
  /// How many records were read by their schemas.
  public internal(set) var recordCount = 0
  /// How many sealed values were opened; 0 where no credential was given.
  public internal(set) var openedCount = 0
  /// Whether a credential was given, so that tags could be checked.
  public internal(set) var wasUnlocked = false
  /// How many sealed values could not be looked into because their key is locked.
  public internal(set) var lockedCount = 0

  /// The verdict on all that was checked.
  public var condition: StoreCondition {
    findings.contains(where: \.isDamage) ? .damaged : tornByteCount > 0 ? .torn : .clean
  }

  /// Whether nothing in a part is damaged.
  public func isSound(_ part: Part) -> Bool { !findings.contains { $0.part == part && $0.isDamage } }

  init() {}

  mutating func add(_ error: NotelogError, _ part: Part, record: RecordID? = nil) {
    findings.append(
      Finding(
        part: part, isDamage: true, message: error.message, segment: error.segment.map(Int.init),
        offset: error.offset.map(Int.init), record: record))
  }

  mutating func add(_ message: String, _ part: Part, isDamage: Bool) {
    findings.append(
      Finding(part: part, isDamage: isDamage, message: message, segment: nil, offset: nil, record: nil))
  }
}

extension Store {
  /// Reads every byte of a store and checks it; with a credential, every sealed value is opened too.
  ///
  /// - Parameters:
  ///   - path: The folder's path.
  ///   - credential: What unlocks it; nil checks what can be checked without a key.
  ///   - progress: Told, from time to time, how much of how much is done; its answer says whether to go on.
  /// - Returns: What was found. A damaged store is a finding, not an error.
  /// - Throws: `notFound`, `wrongPassword`, `inputOutput`, `unsupportedVersion`, `cancelled`.
  public static func verify(
    at path: String, unlocking credential: Credential? = nil,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(NotelogError) -> Verification {
    try verify(in: SystemStorage(path: path), unlocking: credential, progress: progress)
  }

  static func verify(
    in storage: any Storage, unlocking credential: Credential?,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(NotelogError) -> Verification {
    try Creation.refuseUnfinished(in: storage)
    // Every byte is read for its checksums, and records once more for their fields.
    let structure = try journaling { () throws(JournalError) in
      try Journal.verify(storage) { done, total in progress(done, 2 * total) }
    }
    var verification = Verification()
    verification.wasUnlocked = credential != nil
    verification.segmentCount = structure.segmentCount
    verification.frameCount = structure.frameCount
    verification.byteCount = structure.byteCount
    verification.tornByteCount = structure.report.torn.reduce(0) { $0 + $1.byteCount }
    verification.findings = structure.report.damages.map { damage in
      Verification.Finding(
        part: .structure, isDamage: true, message: damage.words, segment: Int(damage.segment),
        offset: damage.offset, record: damage.record.map { RecordID($0) })
    }
    verification.note(structure.report.checkpoint)
    var options = Options()
    options.isReadOnly = true
    let store: Store
    do {
      store = try open(in: storage, unlocking: credential, options: options)
    } catch {
      if error.code != .damaged && error.code != .tampered { throw error }
      verification.add(error, structure.report.verdict == .damaged ? .structure : .keyring)
      return verification
    }
    if store.keyringFinding != .bothSound || store.vault.isServedByOtherCopy {
      let isDamage = store.keyringFinding.isDamage || store.vault.isServedByOtherCopy
      verification.add("keyring: \(store.info.keyring)", .keyring, isDamage: isDamage)
    }
    let count = max(1, store.info.recordCount)
    let byteCount = structure.byteCount
    let isDone = store.verifyRecords(&verification) { read in
      progress(byteCount + byteCount / count * min(read, count), 2 * byteCount)
    }
    try store.close()
    guard isDone else { throw NotelogError(.cancelled, "the work was stopped") }
    return verification
  }

  /// Looks into every record.
  ///
  /// - Returns: Whether it came to the end.
  private func verifyRecords(_ verification: inout Verification, progress: (_ read: Int) -> Bool) -> Bool {
    var goesOn = true
    for collection in collections {
      do {
        try collection.forEach { entry in
          verification.recordCount += 1
          for field in entry.fields where collection.plan.index(of: UInt16(field.number)) != nil {
            verify(entry, field, &verification)
          }
          if verification.recordCount % 256 == 0 { goesOn = progress(verification.recordCount) }
          return goesOn
        } damaged: { id, error in
          verification.add(error, .records, record: id)
          return true
        }
      } catch let error as NotelogError {
        verification.add(error, .records)
      } catch {}
      if !goesOn { return false }
    }
    return true
  }

  private func verify(_ entry: DynamicEntry, _ field: DynamicEntry.Field, _ verification: inout Verification)
  {
    do throws(NotelogError) {
      _ = try entry.value(field.name)
      if field.isSealed { verification.openedCount += 1 }
    } catch {
      if error.code == .locked {
        verification.lockedCount += 1
      } else {
        verification.add(error, field.isSealed ? .tags : .records, record: entry.id)
      }
    }
  }
}

extension Verification {
  /// Says what the checkpoint is like, where it does not serve.
  fileprivate mutating func note(_ checkpoint: CheckpointUse) {
    switch checkpoint {
    case .missing, .used: break
    case .stale: add("index: of other segments; it is built anew", .index, isDamage: false)
    case .damaged: add("index: does not check; it is built anew", .index, isDamage: true)
    }
  }
}

extension Keyring.Choice.Finding {
  /// Whether it is more than a change that reached one of the files only.
  fileprivate var isDamage: Bool {
    switch self {
    case .bothSound, .copyOlder, .keyringOlder: false
    case .copyUnreadable, .keyringUnreadable, .disagree: true
    }
  }
}

extension Damage {
  /// The damage in words.
  fileprivate var words: String {
    switch kind {
    case .missingSegment: "the segment is missing"
    case .unreadableSegment: "no copy of the segment's header checks"
    case .headerCopy: "one copy of the segment's header differs, another serves"
    case .foreignSegment: "the segment belongs to another store, or under another name"
    case .replacedSegment: "the segment is not the one that the store means"
    case .truncated: "the segment ends too early"
    case .lostFrames: "\(byteCount) bytes where frames were do not check"
    case .payload: "a frame's content does not check"
    case .footer: "the segment's footer does not check"
    case .liveSet: "the segment's live set does not check"
    case .notZero: "bytes that must be zero are not"
    case .commitMark: "a commit mark does not match its transaction"
    }
  }
}
