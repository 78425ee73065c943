// Verification: every byte without a key, every sealed value with one. It never writes.

import NotelogStorage
import NotelogBase
import NotelogCrypto
import NotelogFormat

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
  ) throws -> Verification {
    precondition(threadCount > 0, "a store is verified by one thread or more")
    let storage = SystemStorage(path: path)
    return try about(storage) { () throws(NotelogError) in
      try verify(in: storage, unlocking: credential, threadCount: threadCount, progress: progress)
    }
  }

  static func verify(
    in storage: any Storage, unlocking credential: Credential?, threadCount: Int = 1,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(NotelogError) -> Verification {
    if let backup = try journaling(at: storage.path, BackupFolder.find(in: storage)) {
      return try verify(backup, unlocking: credential, threadCount: threadCount, progress: progress)
    }
    _ = try Creation.refuseUnfinished(in: storage)
    var attempts = ReadingAttempts(of: storage)
    while true {
      try journaling(at: storage.path, attempts.begin())
      do throws(NotelogError) {
        var (verification, nextRevision) = try verifyOnce(in: storage, credential, threadCount, progress)
        let finding = verification.findings.filter(\.isDamage).map { "\($0)" }.sorted().joined()
        if attempts.isBelievable(finding, since: nextRevision) {
          if !attempts.isTorn(verification.tornByteCount) { verification.tornByteCount = 0 }
          return verification
        }
      } catch {
        guard error.code == .damaged || error.code == .inputOutput,
          !attempts.isBelievable("\(error)", errno: error.errno)
        else { throw error }
      }
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
    store.noteBesideLog { verification.add($0, $1, isDamage: $2) }
    if let refusal, store.hasKeyring { verification.add(refusal, .keyring) }
    let nextRevision = store.journal.nextRevision
    try store.finish()
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
      guard error.code == .wrongPassword || error.code == .damaged else { throw error }
      let store = try open(in: storage, unlocking: nil, options: options)
      if store.keyringFinding.withLock({ $0.isDamage }) { return (store, error) }
      try? store.close()
      throw error
    }
  }
}

extension Store {
  /// Tells what is not as it should be beside the log: of the keyring and the schemas as they were when the store was opened.
  func noteBesideLog(_ note: (_ message: String, Verification.Part, _ isDamage: Bool) -> Void) {
    // A backup has no mark.
    if !(storage is BackupView), let message = Creation.finding(in: storage) {
      note(message, .structure, true)
    }
    let finding = keyringFinding.withLock { $0 }
    if case .noneServes(let reason) = finding {
      note(reason, .keyring, true)
    } else if finding != .bothSound || vault.isServedByOtherCopy {
      note("keyring: \(keyringWords)", .keyring, finding.isDamage || vault.isServedByOtherCopy)
    }
    if schemaFinding != SchemaFinding() {
      note("schemas: \(schemaFinding.words)", .records, schemaFinding.isDamage)
    }
    if let words = missingSchemaWords { note(words, .records, true) }
  }
}

extension Verification {
  /// Checks all bytes, and the records in them where there is a store that knows their schemas.
  fileprivate mutating func check(
    _ storage: any Storage, _ store: Store?, _ threadCount: Int,
    _ progress: @escaping (_ done: Int, _ total: Int) -> Bool
  ) throws(NotelogError) -> RecoveryReport {
    let parts = Lock<[RecordVerifier.Found]>([])
    let structure = try journaling(
      at: storage.path,
      Journal.verifyOnce(storage, threadCount: threadCount, progress: progress) { inspect in
        guard let store else { return inspect { _, _, _ in } }
        var verifier = RecordVerifier(store)
        inspect { verifier.check($0, $1, $2) }
        let found = verifier.found
        parts.withLock { $0.append(found) }
      })
    segmentCount = structure.segmentCount
    frameCount = structure.frameCount
    byteCount = structure.byteCount
    tornByteCount = structure.report.torn.reduce(0) { $0 + $1.byteCount }
    findings = structure.report.damages.map(Finding.init)
    noteLost(structure, store)
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
      shreddedCount += part.shreddedCount
    }
    findings += found.flatMap(\.errors).sorted { $0.revision < $1.revision }.map { $0.finding }
    return structure.report
  }
}

extension Verification {
  /// Names the lost records as far as anything does, and counts the others.
  fileprivate mutating func noteLost(_ structure: Journal.Verification, _ store: Store?) {
    let names = store?.registry.withLock { $0.byNumber.mapValues(\.plan.schema.name) } ?? [:]
    lostRecords = structure.lost.map {
      LostRecord(id: RecordID($0.id), collection: names[$0.collection], revision: $0.sequence)
    }
    let known = try? store?.journal.lostRecordCount(in: structure.report.damages)
    lostRecordCount = max(lostRecords.count, known ?? 0)
  }

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
        "index: its order of field \(order.fields.map(String.init).joined(separator: ", then ")) of collection \(order.collection) lacks keys that records have",
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
    case .copyUnreadable, .keyringUnreadable, .disagree, .noneServes: true
    }
  }
}
