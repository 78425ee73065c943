// Verification: every byte without a key, every sealed value with one. It never writes.

import NotelogCare
import NotelogStorage
import NotelogBase
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
  /// How many bytes were cut, or would be when the store is opened: what a crash leaves. Nothing in the store says that they were
  /// durable; the last of them may have been.
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
  /// What the backup is, where it is one that was verified; nil for a store.
  public internal(set) var backup: Backup?

  /// What is known of a backup that was verified.
  public struct Backup: Sendable, Hashable {
    /// The store that it is a backup of; nil where its manifest can't be read.
    public let storeID: RecordID?
    /// How many files it consists of, the keyring and the manifest not counted.
    public let partCount: Int
  }

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
  /// A folder with a backup in it is verified as the store that it would be restored to, and so are the files that only a backup has.
  ///
  /// - Parameters:
  ///   - path: The folder's path.
  ///   - credential: What unlocks it; nil checks what can be checked without a key.
  ///   - threadCount: How many threads share the work.
  ///   - progress: Told, from time to time, how much of how much is done; its answer says whether to go on.
  /// - Returns: What was found. A damaged store is a finding, not an error.
  /// - Throws: `notFound`, `wrongPassword`, `inputOutput`, `unsupportedVersion`, `cancelled`; `busy` where others change the store
  ///   faster than it can be read.
  public static func verify(
    at path: String, unlocking credential: Credential? = nil, threadCount: Int = 1,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(NotelogError) -> Verification {
    precondition(threadCount > 0, "a store is verified by one thread or more")
    return try verify(
      in: SystemStorage(path: path), unlocking: credential, threadCount: threadCount, progress: progress)
  }

  static func verify(
    in storage: any Storage, unlocking credential: Credential?, threadCount: Int = 1,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(NotelogError) -> Verification {
    if let backup = try journaling({ () throws(JournalError) in try BackupFolder.find(in: storage) }) {
      return try verify(backup, unlocking: credential, threadCount: threadCount, progress: progress)
    }
    try Creation.refuseUnfinished(in: storage)
    var attempts = ReadingAttempts(of: storage)
    while true {
      attempts.begin()
      do throws(NotelogError) {
        var (verification, nextRevision) = try verifyOnce(in: storage, credential, threadCount, progress)
        let finding = verification.findings.filter(\.isDamage).map { "\($0)" }.sorted().joined()
        if try believes(&attempts, finding, since: nextRevision) {
          if verification.tornByteCount > 0, attempts.isDisturbed(since: nextRevision) {
            verification.tornByteCount = 0
          }
          return verification
        }
      } catch {
        guard error.code == .damaged || error.code == .inputOutput,
          try !believes(&attempts, "\(error)", errno: error.errno)
        else { throw error }
      }
    }
  }

  private static func believes(
    _ attempts: inout ReadingAttempts, _ finding: String, since nextRevision: UInt64? = nil,
    errno: Int32? = nil
  ) throws(NotelogError) -> Bool {
    do { return try attempts.isBelievable(finding, since: nextRevision, errno: errno) } catch {
      throw NotelogError(journal: error)
    }
  }

  /// Verifies a store once, and says which revision came next when it was opened.
  private static func verifyOnce(
    in storage: any Storage, _ credential: Credential?, _ threadCount: Int,
    _ progress: @escaping (_ done: Int, _ total: Int) -> Bool
  ) throws(NotelogError) -> (Verification, nextRevision: UInt64?) {
    var options = Options()
    options.isReadOnly = true
    options.acceptsUnprovenDamage = true
    let (store, refusal): (Store, NotelogError?)
    do {
      (store, refusal) = try openToVerify(storage, credential, options)
    } catch {
      // What can be checked without schemas is; where not even that can be, its error is the better one.
      var verification = Verification()
      let verdict = try verification.check(storage, nil, threadCount, progress)
      if error.code != .damaged && error.code != .tampered { throw error }
      verification.wasUnlocked = credential != nil
      verification.add(error, verdict.isDamaged ? .structure : .keyring)
      return (verification, nil)
    }
    var verification = Verification()
    verification.wasUnlocked = credential != nil && refusal == nil
    do throws(NotelogError) { _ = try verification.check(storage, store, threadCount, progress) } catch {
      // The error that stopped the work is the one to report.
      try? store.close()
      throw error
    }
    let finding = store.keyringFinding.withLock { $0 }
    if finding != .bothSound || store.vault.isServedByOtherCopy {
      let isDamage = finding.isDamage || store.vault.isServedByOtherCopy
      verification.add("keyring: \(store.info.keyring)", .keyring, isDamage: isDamage)
    }
    if let refusal { verification.add(refusal, .keyring) }
    if store.schemaFinding != SchemaFinding() {
      verification.add(
        "schemas: \(store.info.schemas)", .records, isDamage: store.schemaFinding.isDamage)
    }
    let nextRevision = store.journal.nextRevision
    try store.close()
    return (verification, nextRevision)
  }

  /// Opens a store that is to be verified.
  ///
  /// - Returns: The store. Where the credential is refused and one of the keyring's files is not as it should be, it is locked, and the
  ///   refusal comes with it: what is wrong with the file is to be told, and all that needs no key.
  private static func openToVerify(
    _ storage: any Storage, _ credential: Credential?, _ options: Options
  ) throws(NotelogError) -> (Store, NotelogError?) {
    do { return (try open(in: storage, unlocking: credential, options: options), nil) } catch {
      guard error.code == .wrongPassword else { throw error }
      let store = try open(in: storage, unlocking: nil, options: options)
      if store.keyringFinding.withLock({ $0.isDamage }) { return (store, error) }
      try? store.close()
      throw error
    }
  }
}

extension Verification {
  /// Checks all bytes, and the records in them where there is a store that knows their schemas.
  fileprivate mutating func check(
    _ storage: any Storage, _ store: Store?, _ threadCount: Int,
    _ progress: @escaping (_ done: Int, _ total: Int) -> Bool
  ) throws(NotelogError) -> RecoveryReport {
    let parts = Lock<[RecordVerifier.Found]>([])
    let structure = try journaling { () throws(JournalError) in
      try Journal.verifyOnce(storage, threadCount: threadCount, progress: progress) { inspect in
        guard let store else { return inspect { _, _, _ in } }
        var verifier = RecordVerifier(store)
        inspect { verifier.check($0, $1, $2) }
        let found = verifier.found
        parts.withLock { $0.append(found) }
      }
    }
    segmentCount = structure.segmentCount
    frameCount = structure.frameCount
    byteCount = structure.byteCount
    tornByteCount = structure.report.torn.reduce(0) { $0 + $1.byteCount }
    findings = structure.report.damages.map(Finding.init)
    note(structure.report.checkpoint)
    note(structure.index)
    let found = parts.withLock { $0 }
    let withoutSchema = found.reduce(into: [:]) { $0.merge($1.withoutSchema, uniquingKeysWith: +) }
    for (collection, count) in withoutSchema.sorted(by: { $0.key < $1.key }) {
      add("\(count) records of collection \(collection) have no schema", .records, isDamage: true)
    }
    for part in found {
      recordCount += part.recordCount
      openedCount += part.openedCount
      lockedCount += part.lockedCount
    }
    for finding in found.flatMap(\.errors).sorted(by: { $0.revision < $1.revision }) {
      add(finding.error, finding.part, record: finding.record)
    }
    return structure.report
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

  /// Says how what an opening would take for the index differs from what the segments say.
  fileprivate mutating func note(_ index: IndexComparison) {
    if index.wrongEntryCount > 0 {
      let records = index.records.map { RecordID($0).description }.joined(separator: ", ")
      add(
        "index: names \(index.wrongEntryCount) records elsewhere than they are\(records.isEmpty ? "" : ", among them \(records)")",
        .index, isDamage: true)
    }
    if index.listsOtherSchemas { add("index: lists other schemas than there are", .index, isDamage: true) }
    for order in index.orders {
      add(
        "index: its order of field \(order.field) of collection \(order.collection) lacks keys that records have",
        .index, isDamage: true)
    }
    if !index.segments.isEmpty {
      let numbers = index.segments.prefix(5).map(String.init).joined(separator: ", ")
      add(
        "index: counts other live bytes than there are in \(index.segments.count) segments, among them \(numbers)",
        .index, isDamage: true)
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
    case .chunks: "a record refers to a large value of which chunks are missing"
    case .backupFile: "the backup's file of the segment is not as it was written"
    case .endsBeforeBackup:
      "the store's log ends before its backup does, which stays as it is; a store that was restored or salvaged needs a new backup folder"
    }
  }
}

extension Verification.Finding {
  /// Something in a record that can't be read.
  init(_ error: NotelogError, _ record: RecordID) {
    self.init(
      part: error.code == .tampered ? .tags : .records, isDamage: true, message: error.message,
      segment: error.segment.map(Int.init), offset: error.offset.map(Int.init), record: record)
  }

  init(_ damage: Damage) {
    self.init(
      part: .structure, isDamage: true, message: damage.words, segment: Int(damage.segment),
      offset: damage.offset, record: damage.record.map { RecordID($0) })
  }
}
