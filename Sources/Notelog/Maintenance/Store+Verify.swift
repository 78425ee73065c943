// Verification: every byte without a key, every sealed value with one. It never writes.

import NotelogBase
import NotelogCrypto
import NotelogFormat
import NotelogStorage

extension Store {
  /// Reads every byte of a store and checks it; with a credential, every sealed value is opened too, and a store that keeps
  /// evidence is audited.
  ///
  /// - Parameters:
  ///   - path: The folder's path.
  ///   - credential: What unlocks it; nil checks what can be checked without a key.
  ///   - head: What was seen of a store that keeps evidence: it may not be older now.
  ///   - threadCount: How many threads share the work.
  ///   - progress: Told, from time to time, how much of how much is done; its answer says whether to go on.
  /// - Returns: What was found. A damaged store is a finding, not an error.
  /// - Throws: `notFound`, `wrongPassword`, `inputOutput`, `unsupportedVersion`, `cancelled`; `busy` where
  ///   others change the store faster than it can be read.
  public static func verify(
    at path: String, unlocking credential: Credential? = nil, head: StoreHead? = nil, threadCount: Int = 1,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> Verification {
    precondition(threadCount > 0, "a store is verified by one thread or more")
    let storage = SystemStorage(path: path)
    return try about(
      storage,
      verify(in: storage, unlocking: credential, head: head, threadCount: threadCount, progress: progress))
  }

  static func verify(
    in storage: any Storage, unlocking credential: Credential?, head: StoreHead? = nil, threadCount: Int = 1,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(NotelogError) -> Verification {
    _ = try Creation.refuseUnfinished(in: storage)
    return try ReadingAttempts.verify(storage) { () throws(NotelogError) in
      try verifyOnce(in: storage, credential, head, threadCount, progress)
    }
  }

  /// Verifies a store once, and says which revision came next when it was opened.
  private static func verifyOnce(
    in storage: any Storage, _ credential: Credential?, _ head: StoreHead?, _ threadCount: Int,
    _ progress: @escaping (_ done: Int, _ total: Int) -> Bool
  ) throws(NotelogError) -> Verification {
    var options = Options()
    options.isReadOnly = true
    options.acceptsUnprovenDamage = true
    options.head = head
    let (store, refusal): (Store, NotelogError?)
    do {
      (store, refusal) = try openToVerify(storage, credential, options)
    } catch {
      // What can be checked without schemas is; where not even that can be, its error is the better one.
      var verification = Verification()
      try verification.check(storage, nil, threadCount, progress)
      if error.code != .damaged && error.code != .tampered { throw error }
      verification.wasUnlocked = credential != nil
      verification.add(Finding(error, verification.report.isDamaged ? .structure : .keyring))
      verification.nextSequence = nil
      return verification
    }
    var verification = Verification()
    verification.wasUnlocked = credential != nil && refusal == nil
    do throws(NotelogError) {
      try verification.check(storage, store, threadCount, progress)
      verification.keepsEvidence = store.keepsEvidence || head != nil
      if verification.keepsEvidence, store.isUnlocked {
        let audit = try store.makeAudit()
        for finding in audit.findings { verification.add(finding) }
        verification.audit = audit
      }
    } catch {
      // The error that stopped the work is the one to report.
      try? store.close()
      throw error
    }
    for finding in store.findingsBesideLog { verification.add(finding) }
    if let refusal, store.hasKeyring { verification.add(Finding(refusal, .keyring)) }
    verification.nextSequence = store.journal.log.state.withLock { $0.nextSequence }
    try store.finish()
    return verification
  }

  /// Opens a store that is to be verified.
  ///
  /// - Returns: The store. Where the credential is refused and one of the keyring's files is not as it should
  ///   be, it is locked, and the refusal comes with it: what is wrong with the file is to be told, and all
  ///   that needs no key.
  private static func openToVerify(
    _ storage: any Storage, _ credential: Credential?, _ options: Options
  ) throws(NotelogError) -> (Store, NotelogError?) {
    do { return (try open(in: storage, unlocking: credential, options: options), nil) } catch {
      guard error.code == .wrongPassword || error.code == .damaged else { throw error }
      let store = try open(in: storage, unlocking: nil, options: options)
      if store.keyringFinding.withLock({ $0.isDamage || $0.refusal != nil }) { return (store, error) }
      try? store.close()
      throw error
    }
  }

  /// What is not as it should be beside the log: of the keyring and the schemas as they were when the store
  /// was opened.
  var findingsBesideLog: [Finding] {
    var findings: [Finding] = []
    func note(_ message: String, _ part: Finding.Part, _ isDamage: Bool) {
      findings.append(Finding(message, part, isDamage: isDamage))
    }
    // An archive has no mark.
    if !(storage is ArchiveView), let message = Creation.finding(in: storage) {
      note(message, .structure, true)
    }
    let finding = keyringFinding.withLock { $0 }
    if let refusal = finding.refusal {
      note(refusal, .keyring, true)
    } else if finding != TwinFinding() || vault.isServedByOtherCopy {
      note("keyring: \(keyringWords)", .keyring, finding.isDamage || vault.isServedByOtherCopy)
    }
    var schemas = schemaFinding
    // Nor has it their second copy.
    if storage is ArchiveView { schemas.file = .sound }
    if schemas != SchemaFinding() { note("schemas: \(schemas.words)", .records, schemas.isDamage) }
    if let words = missingSchemaWords { note(words, .records, true) }
    return findings
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
      inspect { record, payload, body in
        verifier.check(record, payload.extracting(first: body.lowerBound), payload.extracting(body))
      }
      let found = verifier.found
      parts.withLock { $0.append(found) }
    }
    self.wasUnlocked = wasUnlocked
    // The lost records are named as far as anything does it, and the others counted.
    let names = store?.registry.withLock { $0.byNumber.mapValues(\.plan.schema.name) } ?? [:]
    lostRecords = lost.map {
      LostRecord(id: RecordID($0.id), collection: names[$0.collection], revision: $0.sequence)
    }
    let known = try? store?.journal.lostRecordCount(in: report.damages)
    lostRecordCount = max(lostRecords.count, known ?? 0)
    let found = parts.withLock { $0 }
    let withoutSchema = found.reduce(into: [:]) { $0.merge($1.withoutSchema, uniquingKeysWith: +) }
    for (collection, count) in withoutSchema.sorted(by: { $0.key < $1.key }) {
      add("\(count) records of collection \(collection) have no schema", .records, isDamage: true)
    }
    for part in found { add(part.counts) }
    for error in found.flatMap({ $0.errors }).sorted(by: { $0.revision < $1.revision }) { add(error.finding) }
  }
}

// MARK: - Checks records against their schemas, and opens what is sealed, while the journal verifies the bytes around them.

/// What one thread finds in the records that it comes to.
struct RecordVerifier: ~Copyable {
  /// What is wrong with records, by the versions of them, as what threads found is told in the order in which
  /// it was written; how much was looked into; and how many records are in collections whose schema is not
  /// there, by the collections' numbers.
  typealias Found = (
    errors: [(revision: UInt64, finding: Finding)], counts: Verification, withoutSchema: [UInt16: Int]
  )

  private let plans: [UInt16: CollectionPlan]
  private let opener: FieldOpener
  private var opening = Opening()
  private var lastPlan: CollectionPlan?
  /// Whether a key can be used: asking for each value would only make errors.
  private enum Access { case tried, locked, shredded }
  private let store: Store
  /// What is known of keys.
  private var accesses: [UInt32: Access] = [:]
  private(set) var found: Found = ([], Verification(), [:])

  init(_ store: Store) {
    plans = store.registry.withLock { $0.byNumber.mapValues(\.plan) }
    opener = store.opener
    self.store = store
  }

  /// Checks a record's directory, each of its fields that the schema knows, and that its envelope says what
  /// its body does.
  mutating func check(_ record: StoredRecord, _ envelope: RawSpan, _ bytes: RawSpan) {
    if lastPlan?.number != record.collection { lastPlan = plans[record.collection] }
    // Taken and put back, it is not counted: several threads would count the same object.
    guard let plan = lastPlan.take() else {
      if record.collection != SchemaRecord.collection {
        found.withoutSchema[record.collection, default: 0] += 1
      }
      return
    }
    check(record, envelope, bytes, plan)
    lastPlan = plan
  }

  private mutating func check(
    _ record: StoredRecord, _ envelope: RawSpan, _ bytes: RawSpan, _ plan: CollectionPlan
  ) {
    let id = RecordID(record.id)
    do throws(NotelogError) {
      let body = try RecordBody(checking: bytes)
      found.counts.recordCount += 1
      var hasLargeValues = false
      var place = body.start
      while let entry = try body.next(at: &place) {
        if entry.flags.contains(.chunked) { hasLargeValues = true }
        guard let index = plan.index(of: entry.number) else { continue }
        do throws(NotelogError) { try check(entry, index, plan, id, bytes) } catch {
          note(error, entry.flags.contains(.sealed) ? .tags : .records, record)
        }
      }
      // Otherwise there is nothing that an envelope should have said.
      if hasLargeValues || !envelope.isEmpty { try body.compare(with: envelope) }
    } catch { note(error, .records, record) }
  }

  private mutating func check(
    _ entry: FieldEntry, _ index: Int, _ plan: CollectionPlan, _ id: RecordID, _ bytes: RawSpan
  ) throws(NotelogError) {
    let isSealed = entry.flags.contains(.sealed)
    let state = isSealed ? access(to: entry.keyReference) : .tried
    if state != .tried {
      try plan.check(entry, index, id, in: bytes)
      if entry.flags.contains(.chunked), ValueReference(bytes.extracting(entry.range)) == nil {
        throw NotelogError(.tampered, "\(plan.place(index, id)): no large value has such a reference")
      }
      if state == .shredded { found.counts.shreddedCount += 1 } else { found.counts.lockedCount += 1 }
      return
    }
    let isPlain = !isSealed && plan.fields[index].isOptional == entry.flags.contains(.optional)
    do throws(NotelogError) {
      if isPlain {
        try plan.check(entry, index, id, in: bytes)
        try check(bytes.extracting(entry.range), entry, index, plan, id, bytes)
      } else {
        // A closure on the value's bytes would count what it holds, for every value.
        defer { opening.wipe() }
        try opening.load(entry, in: bytes, of: id, index, plan, opener)
        try check(opening.bytes, entry, index, plan, id, bytes)
      }
    } catch {
      // One too long to be in memory is opened chunk by chunk.
      guard error.code == .limitExceeded, entry.flags.contains(.chunked) else { throw error }
      let chunks = try ChunkOpener(opener, entry, in: bytes, of: id, index, plan)
      try chunks.open(0..<chunks.reference.byteCount) { (_, _) throws(NotelogError) in }
    }
    if isSealed { found.counts.openedCount += 1 }
  }

  private func check(
    _ value: RawSpan, _ entry: FieldEntry, _ index: Int, _ plan: CollectionPlan, _ id: RecordID,
    _ bytes: RawSpan
  ) throws(NotelogError) {
    let (type, isOptional) = (plan.fields[index].type, plan.fields[index].isOptional)
    // Nearly all that is long is text, and no string is needed to tell whether it is one.
    if type == .text, !isOptional {
      guard value.isUTF8 else { throw NotelogError(.damaged, "a text value is not UTF-8") }
    } else {
      _ = try DynamicValue(loading: value, as: type, isOptional: isOptional)
    }
    if plan.hasDigests { try plan.checkDigest(of: value, entry, index, id, in: bytes, opener.vault) }
  }

  private mutating func note(_ error: NotelogError, _ part: Finding.Part, _ record: StoredRecord) {
    found.errors.append((record.revision, Finding(error, part, RecordID(record.id))))
  }

  private mutating func access(to reference: UInt32) -> Access {
    if let known = accesses[reference] { return known }
    let answer = find(reference)
    accesses[reference] = answer
    return answer
  }

  private func find(_ reference: UInt32) -> Access {
    let key = KeyReference(rawValue: reference)
    // Without a keyring, that is the finding: not each value of the store once more.
    if opener.vault.keyring.generation == 0 { return .locked }
    do throws(CryptoError) { _ = try opener.vault.sealingKey(key) } catch {
      if case .locked = error { return .locked }
      if store.isShredded(key) { return .shredded }
    }
    return .tried
  }
}
