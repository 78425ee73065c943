// Verification: every byte without a key, every sealed value with one. It never writes.

import NotelogCrypto
import NotelogJournal

/// What verifying a store found.
public struct Verification: Sendable {
  /// Something that is not as it should be.
  public struct Finding: Sendable, Hashable {
    /// What it is, in words.
    public let message: String
    /// The segment, where it is about one.
    public let segment: Int?
    /// The offset in the segment.
    public let offset: Int?
    /// The record, where it is about one.
    public let record: RecordID?
  }

  /// The verdict on all that was checked.
  public internal(set) var condition: StoreCondition
  /// What is wrong, in the order in which it was found.
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
  /// How many sealed values could not be looked into because their key is locked.
  public internal(set) var lockedCount = 0

  mutating func add(_ error: NotelogError, record: RecordID? = nil) {
    condition = .damaged
    findings.append(
      Finding(
        message: error.message, segment: error.segment.map(Int.init), offset: error.offset.map(Int.init),
        record: record))
  }
}

extension Store {
  /// Reads every byte of a store and checks it; with a credential, every sealed value is opened too.
  ///
  /// - Parameters:
  ///   - path: The folder's path.
  ///   - credential: What unlocks it; nil checks what can be checked without a key.
  /// - Returns: What was found. A damaged store is a finding, not an error.
  /// - Throws: `notFound`, `wrongPassword`, `inputOutput`, `unsupportedVersion`.
  public static func verify(
    at path: String, unlocking credential: Credential? = nil
  ) throws(NotelogError) -> Verification {
    try verify(in: SystemStorage(path: path), unlocking: credential)
  }

  static func verify(
    in storage: any Storage, unlocking credential: Credential?
  ) throws(NotelogError) -> Verification {
    let structure = try journaling { () throws(JournalError) in try Journal.verify(storage) }
    var verification = Verification(condition: StoreCondition(structure.report.verdict))
    verification.segmentCount = structure.segmentCount
    verification.frameCount = structure.frameCount
    verification.byteCount = structure.byteCount
    verification.tornByteCount = structure.report.torn.reduce(0) { $0 + $1.byteCount }
    verification.findings = structure.report.damages.map { damage in
      Verification.Finding(
        message: damage.words, segment: Int(damage.segment), offset: damage.offset,
        record: damage.record.map { RecordID($0) })
    }
    var options = Options()
    options.isReadOnly = true
    let store: Store
    do {
      store = try open(in: storage, unlocking: credential, options: options)
    } catch {
      if error.code != .damaged && error.code != .tampered { throw error }
      verification.add(error)
      return verification
    }
    store.verifyRecords(&verification)
    try store.close()
    return verification
  }

  private func verifyRecords(_ verification: inout Verification) {
    if keyringFinding != .bothSound || vault.isServedByOtherCopy {
      verification.findings.append(
        Verification.Finding(message: "keyring: \(info.keyring)", segment: nil, offset: nil, record: nil))
      if keyringFinding.isDamage || vault.isServedByOtherCopy { verification.condition = .damaged }
    }
    for collection in collections {
      do {
        try collection.forEach { entry in
          verification.recordCount += 1
          for field in entry.fields where collection.plan.index(of: UInt16(field.number)) != nil {
            verify(entry, field, &verification)
          }
          return true
        } damaged: { id, error in
          verification.add(error, record: id)
          return true
        }
      } catch let error as NotelogError {
        verification.add(error)
      } catch {}
    }
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
        verification.add(error, record: entry.id)
      }
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
