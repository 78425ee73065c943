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
    if let backup = try BackupFolder.find(in: storage) {
      return try verify(backup, unlocking: credential, threadCount: threadCount, progress: progress)
    }
    _ = try Creation.refuseUnfinished(in: storage)
    return try ReadingAttempts.verify(storage) { () throws(NotelogError) in
      try verifyOnce(in: storage, credential, threadCount, progress)
    }
  }

  /// Verifies a store once, and says which revision came next when it was opened.
  private static func verifyOnce(
    in storage: any Storage, _ credential: Credential?, _ threadCount: Int,
    _ progress: @escaping (_ done: Int, _ total: Int) -> Bool
  ) throws(NotelogError) -> Verification {
    var options = Options()
    options.isReadOnly = true
    options.acceptsUnprovenDamage = true
    let (store, refusal): (Store, NotelogError?)
    do {
      (store, refusal) = try openToVerify(storage, credential, options)
    } catch {
      // What can be checked without schemas is; where not even that can be, its error is the better one.
      var verification = Verification()
      try verification.check(storage, nil, threadCount, progress)
      if error.code != .damaged && error.code != .tampered { throw error }
      verification.wasUnlocked = credential != nil
      verification.add(error, verification.report.isDamaged ? .structure : .keyring)
      verification.nextSequence = nil
      return verification
    }
    var verification = Verification()
    verification.wasUnlocked = credential != nil && refusal == nil
    do throws(NotelogError) { try verification.check(storage, store, threadCount, progress) } catch {
      // The error that stopped the work is the one to report.
      try? store.close()
      throw error
    }
    store.noteBesideLog { verification.add($0, $1, isDamage: $2) }
    if let refusal, store.hasKeyring { verification.add(refusal, .keyring) }
    verification.nextSequence = store.journal.nextRevision
    try store.finish()
    return verification
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
  func noteBesideLog(_ note: (_ message: String, Finding.Part, _ isDamage: Bool) -> Void) {
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
  ) throws(NotelogError) {
    let parts = Lock<[RecordVerifier.Found]>([])
    let wasUnlocked = wasUnlocked
    self = try Journal.verifyOnce(storage, threadCount: threadCount, progress: progress) { inspect in
      guard let store else { return inspect { _, _, _ in } }
      var verifier = RecordVerifier(store)
      inspect { verifier.check($0, $1, $2) }
      let found = verifier.found
      parts.withLock { $0.append(found) }
    }
    self.wasUnlocked = wasUnlocked
    noteLost(store)
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
  }
}

extension Verification {
  /// Names the lost records as far as anything does, and counts the others.
  fileprivate mutating func noteLost(_ store: Store?) {
    let names = store?.registry.withLock { $0.byNumber.mapValues(\.plan.schema.name) } ?? [:]
    lostRecords = lost.map {
      LostRecord(id: RecordID($0.id), collection: names[$0.collection], revision: $0.sequence)
    }
    let known = try? store?.journal.lostRecordCount(in: report.damages)
    lostRecordCount = max(lostRecords.count, known ?? 0)
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
