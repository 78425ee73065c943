// What is made of an archive: a store again, what it holds, and what of it nobody needs any more. FORMAT.md §26.

public import Foundation
import NotelogBase
import NotelogCrypto
import NotelogFormat
import NotelogStorage

/// What a restored store is.
public struct RestoreSummary: Sendable {
  /// The branch that it was restored from, by the first digits of its id.
  public let branch: String
  /// The last transaction that is in it.
  public let revision: UInt64
  /// When that was committed, or shipped where the store keeps no times; nil where it is not known.
  public let time: Date?
  /// What is missing of the moment, or does not check; and, as what is no damage, which keys can't be opened
  /// without their effaceable files, which no archive has.
  public internal(set) var findings: [Finding]
}

/// A branch of an archive: what was shipped of one copy of a store.
public struct ArchivedBranch: Sendable {
  /// The first digits of its id.
  public let name: String
  /// The revisions that it has, but for what was never shipped.
  public let revisions: ClosedRange<UInt64>
  /// The last time in it; nil where there is none.
  public let time: Date?
  /// At which revisions objects end: where the store keeps no times, its moments.
  public let moments: [(revision: UInt64, time: Date?)]
}

extension Store {
  /// Makes a store of a moment of an archive, in a new folder.
  ///
  /// Every byte of the new store is verified. No key is needed, unless the archive holds several keyrings: then the newest is
  /// taken that the credential opens, and that fits the moment. The store has the passwords that its keyring has. Of
  /// a damaged archive everything is restored that is there, as it is; verifying and opening the new store
  /// then find the damage, and `salvage` what is sound.
  ///
  /// - Parameters:
  ///   - archive: The archive.
  ///   - path: The folder of the new store, which is missing or empty.
  ///   - moment: The moment.
  ///   - branch: The first digits of the branch; nil where only one has that moment.
  ///   - credential: What unlocks the store; nil where its keyring is beyond doubt.
  ///   - progress: Told, from time to time, how many bytes of how many are done; its answer says whether to
  ///     go on.
  /// - Returns: Which moment it is, and what does not check.
  /// - Throws: `locked` where there are several keyrings, and no credential; `wrongPassword`, `tampered`
  ///   where it opens none of them; `notFound` where the archive does not have the moment, `invalidArgument` where several branches
  ///   have it, or one folder lies inside the other; `alreadyExists` where the folder is
  ///   not empty, `damaged` where nothing of the log is left; `full`, `inputOutput`, `cancelled`. The folder is then left empty.
  @discardableResult
  public static func restore(
    from archive: any Archive, to path: String, at moment: ArchiveMoment = .newest, branch: String? = nil,
    unlocking credential: Credential? = nil,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> RestoreSummary {
    let source = (archive as? FolderArchive)?.storage
    if let source = source as? SystemStorage { try FolderPath.refuseNesting(path, with: source.path) }
    let target = try folder(path)
    return try about(
      source ?? target, and: target,
      restore(
        archive, to: target, at: moment, branch: branch, unlocking: credential, progress: progress))
  }

  static func restore(
    _ archive: any Archive, to target: any Storage, at moment: ArchiveMoment = .newest, branch: String? = nil,
    unlocking credential: Credential? = nil,
    progress report: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(NotelogError) -> RestoreSummary {
    let plan = try ArchivePlan(archive)
    let view = try plan.view(of: moment, on: prefix(branch))
    let (keyring, further) = try plan.chooseKeyring(of: view, unlocking: credential)
    let creation = try about(target, Creation(in: target))
    do throws(NotelogError) {
      var findings = view.findings + further
      findings.add(try copy(view, to: target, report))
      if let keyring {
        try KeyringFiles(storage: target).replace(with: keyring.bytes)
        findings += keyring.effaceableKeys.map { key in
          let words = "opens with its file \(FileName.effaceable(key.number)) only, which no archive has"
          let message = "key \(key.current.rawValue) \(words): put it here if you kept it"
          return Finding(message, .keyring, isDamage: false)
        }
      }
      try creation.finish()
      // A writer makes the schemas' second copy, which no archive has.
      if !findings.contains(where: \.isDamage) {
        try? open(in: target, unlocking: nil, options: Options()).finish()
      }
      return RestoreSummary(
        branch: String(prefix: view.moment.branch), revision: view.moment.revision,
        time: Date(commitTime: view.moment.time), findings: findings)
    } catch {
      creation.abandon()
      throw error
    }
  }

  /// Copies the segments, and verifies them.
  ///
  /// - Returns: What does not check.
  private static func copy(
    _ view: ArchiveView, to target: any Storage, _ report: @escaping WorkProgress.Report
  ) throws(NotelogError) -> [Finding] {
    var progress = WorkProgress(total: view.objects.reduce(0) { $0 + $1.byteCount }, report)
    // The newest first: a store whose newest segments are missing would pass for a whole one, an older one.
    for number in view.segments.keys.sorted(by: >) {
      let name = FileName.segment(number)
      let file = ForgivingFile(try fromStorage(view.open(name, .read)))
      try fromStorage(target.copy(file, as: name, under: name + FileName.partialSuffix))
      try progress.advance(by: fromStorage(file.byteCount()))
      file.close()
    }
    try fromStorage(target.makeNamesDurable())
    do { return try Journal.verify(target).report.damages } catch {
      // What can't be opened can still be salvaged.
      guard error.code == .damaged, !view.findings.isEmpty else { throw error }
      return []
    }
  }

  /// A branch by the first digits of its id.
  static func prefix(_ branch: String?) throws(NotelogError) -> UInt32? {
    guard let branch else { return nil }
    guard let prefix = UInt32(branch, radix: 16), String(prefix: prefix) == branch else {
      throw NotelogError(.invalidArgument, "a branch is given by the first eight digits of its id")
    }
    return prefix
  }

  /// What an archive holds.
  ///
  /// - Parameter archive: The archive.
  /// - Returns: Its branches, the one with the newest end last.
  /// - Throws: What the archive throws.
  public static func branches(of archive: any Archive) throws -> [ArchivedBranch] {
    try ArchivePlan(archive).branches.map { branch, first, _ in
      let last = branch.nextSequence - 1
      var times: [UInt64: UInt64] = [:]
      for end in branch.segments.flatMap(\.objects).map(\.end) { times[end.nextSequence - 1] = end.time }
      return ArchivedBranch(
        name: String(prefix: branch.prefix), revisions: min(first - 1, last)...last,
        time: Date(commitTime: branch.time),
        moments: times.sorted { $0.key < $1.key }.map { ($0.key, Date(commitTime: $0.value)) })
    }.sorted { ($0.time ?? .distantPast) < ($1.time ?? .distantPast) }
  }

  /// The objects that a moment needs, the keyrings among them: what has to be fetched to restore it.
  ///
  /// - Parameters:
  ///   - archive: The archive.
  ///   - moment: The moment.
  ///   - branch: The first digits of the branch; nil where only one has that moment.
  /// - Returns: Their names.
  /// - Throws: What `restore` throws of the moment.
  public static func objects(
    of archive: any Archive, at moment: ArchiveMoment = .newest, branch: String? = nil
  ) throws -> [String] {
    let plan = try ArchivePlan(archive)
    let needed = try plan.view(of: moment, on: prefix(branch)).objects.map(\.name)
    return (needed + plan.listing.all(.keyring).map(\.name) + plan.listing.stores).sorted()
  }
}

// MARK: - Which keyring goes with a moment.

extension ArchivePlan {
  /// Chooses the keyring of a moment, and says what is to be known of it.
  func chooseKeyring(
    of view: ArchiveView, unlocking credential: Credential?
  ) throws(NotelogError) -> (keyring: Keyring?, findings: [Finding]) {
    let found = keyrings
    guard let newest = found.first else {
      return (nil, [Finding("keyring: the archive has none that checks", .keyring, isDamage: true)])
    }
    guard let credential else {
      guard found.count == 1 else {
        let words = "which of them goes with the moment, only a password or key can tell"
        throw NotelogError(.locked, "the archive holds \(found.count) keyrings: \(words)")
      }
      return (newest.keyring, [])
    }
    // What opens none says why.
    let opened = try KeyringFiles.newest(of: found, openedBy: credential)
    let newer = found.filter { $0.keyring.generation > opened.keyring.generation }.map { one in
      let words = "is newer than the keyring that the key opens, and does not open with it"
      return Finding("keyring: '\(one.name)' \(words)", .keyring, isDamage: true)
    }
    // The newest that was there at the moment; else the oldest of those that came later and have its keys.
    var later: Keyring?
    for (_, keyring) in found where keyring.generation <= opened.keyring.generation {
      guard let isOfMoment = opens(keyring, view, credential) else { continue }
      if isOfMoment { return (keyring, newer) }
      later = keyring
    }
    let words = "keyring: none that opens is of the moment; one that came later was taken"
    return (later ?? opened.keyring, newer + [Finding(words, .keyring, isDamage: false)])
  }

  /// Whether a keyring counts no more schemas than there are at a moment; nothing where it does not open with the
  /// credential, or does not open what is sealed there.
  private func opens(_ keyring: Keyring, _ view: ArchiveView, _ credential: Credential) -> Bool? {
    var options = Store.Options()
    (options.isReadOnly, options.acceptsUnprovenDamage) = (true, true)
    let view = view.with(keyring.bytes)
    guard let store = try? Store.open(in: view, unlocking: credential, options: options) else { return nil }
    defer { try? store.close() }
    // A moment with evidence says which it had.
    if store.keepsEvidence, (try? store.audit(lookingAtRecords: false))?.isSound == false { return nil }
    let fields = store.registry.withLock { $0.byNumber.values.flatMap(\.plan.schema.fields) }
    let references = Set(fields.flatMap { $0.keys + $0.choices.flatMap(\.keys) })
    let keys = references.compactMap { keyring.dataKey(KeyReference(rawValue: $0)) }
    guard keys.count == references.count else { return nil }
    // Another copy of the store may have given another key the same number.
    let isDoubtful = keyrings.contains { _, other in
      keys.contains { key in other.dataKey(key.reference).map { $0 != key } ?? false }
    }
    if isDoubtful {
      let found = try? Store.verify(in: view, unlocking: credential).findings
      guard let found, !found.contains(where: { $0.part == .tags && $0.isDamage }) else { return nil }
    }
    return store.missingSchemaWords == nil
  }
}

extension Keyring {
  /// The keys that can be shredded, and were not.
  var effaceableKeys: [NamedKey] { namedKeys.filter { $0.isEffaceable && !$0.isShredded } }
}

// MARK: - Verifying an archive.

extension Store {
  /// Verifies a moment of an archive as the store that it would be restored to.
  ///
  /// - Parameters:
  ///   - archive: The archive.
  ///   - moment: The moment.
  ///   - branch: The first digits of the branch; nil where only one has that moment.
  ///   - credential: What unlocks the store; nil checks what can be checked without a key.
  ///   - head: What was seen of a store that keeps evidence: the moment may not be older.
  ///   - threadCount: How many threads share the work.
  ///   - progress: Told, from time to time, how much of how much is done; its answer says whether to go on.
  /// - Returns: What was found. A damaged archive is a finding, not an error.
  /// - Throws: What `restore` throws of the moment; `wrongPassword`, `inputOutput`, `cancelled`.
  public static func verify(
    _ archive: any Archive, at moment: ArchiveMoment = .newest, branch: String? = nil,
    unlocking credential: Credential? = nil, head: StoreHead? = nil, threadCount: Int = 1,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> Verification {
    precondition(threadCount > 0, "an archive is verified by one thread or more")
    let plan = try ArchivePlan(archive)
    return try verify(
      plan, plan.view(of: moment, on: prefix(branch)), unlocking: credential, head: head, threadCount,
      progress)
  }

  static func verify(
    _ plan: ArchivePlan, _ view: ArchiveView, unlocking credential: Credential?, head: StoreHead? = nil,
    _ threadCount: Int,
    _ progress: @escaping (_ done: Int, _ total: Int) -> Bool
  ) throws(NotelogError) -> Verification {
    let (keyring, further): (Keyring?, [Finding])
    do { (keyring, further) = try plan.chooseKeyring(of: view, unlocking: credential) } catch {
      guard error.code == .locked else { throw error }
      // Without a key any serves: nothing is opened.
      (keyring, further) = (plan.keyrings.first?.keyring, [])
    }
    var verification = Verification()
    do throws(NotelogError) {
      verification = try verify(
        in: view.with(keyring?.bytes), unlocking: credential, head: head, threadCount: threadCount,
        progress: progress)
    } catch {
      // An archive of which too little is left to be a store is a finding too.
      guard [.damaged, .notFound].contains(error.code) else { throw error }
      verification.add(Finding(error, .structure))
    }
    // Nobody has restored it yet.
    verification.audit?.isRestored = false
    let known = verification.findings
    for finding in try view.findings + plan.otherHistories(of: view) + further where !known.contains(finding)
    { verification.add(finding) }
    verification.archivedObjectCount = view.objects.count
    verification.archivedRevision = view.moment.revision
    return verification
  }
}
