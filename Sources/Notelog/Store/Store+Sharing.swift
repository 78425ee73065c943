// Sharing a store with other processes: lending its lock, and following what they commit.

import Foundation
import NotelogBase
import NotelogCrypto
import NotelogStorage

extension Store {
  /// Waits for what is being written, and gives the store's lock back: other processes may write. Reads go
  /// on, and keys stay as they are; writes throw `suspended` until `resume(waiting:)`, or take the lock
  /// themselves where writing is leased.
  ///
  /// For an app that the system is about to suspend: a lock that it holds then would keep others out, or have
  /// it killed.
  ///
  /// - Throws: `busy` while a large value is being uploaded and in a write closure, `poisoned`: then the lock
  ///   is kept. Otherwise what stood in the way of closing the log in order: the lock is given back all the
  ///   same, and who takes it next recovers.
  public func suspend() throws { try journal.suspend() }

  /// Takes the lock again, and takes in what others have committed meanwhile.
  ///
  /// - Parameter lockTimeout: How long to wait where another process has it.
  /// - Throws: `busy` where another process has it for longer; `readOnly`, `closed`, and what opening throws:
  ///   then the store stays suspended.
  public func resume(waiting lockTimeout: Duration = .zero) throws {
    try journal.resume(waiting: lockTimeout)
  }

  /// Takes in what other processes have committed since the store was opened, or since this was last called.
  /// Snapshots and entries stay as they were; observers are told of each commit. Who holds the lock knows
  /// everything anyway. Where observing ends by itself, this throws why.
  ///
  /// - Returns: Whether there was anything.
  /// - Throws: `damaged` where the log speaks of what is not there; what was known before is still served.
  ///   `closed`.
  /// - Complexity: O(*n*) in what was committed or compacted since.
  @discardableResult
  public func refresh() throws -> Bool { try journal.refresh() }

  /// Takes in what others have changed beside records whenever their records are taken in; and now once,
  /// where the log and the keyring were not read under the store's lock: a whole rotation may have ended in
  /// between.
  func beginFollowing() {
    journal.followed.withLock { $0 = [{ [weak self] in self?.followOthers() ?? false }] }
    // What can't be followed is served as it was found.
    if !journal.holdsLock { _ = try? journal.refresh() }
  }

  /// Begins to look after the lock, and to follow others, as far as the options ask for it.
  func beginSharing(_ options: Options) {
    let follows = options.followsOtherProcesses
    if case .leased(let idle) = options.writing { return startCompanion(idle: idle, follows: follows) }
    if follows { startCompanion(idle: nil, follows: true) }
  }

  /// Starts the thread that follows others, unless there is one.
  func startCompanion(idle: Duration?, follows: Bool) {
    sharingThread.withLock { sharingThread in
      if let sharingThread {
        if follows { sharingThread.follow() }
      } else {
        sharingThread = SharingThread(journal, storage, idle: idle, follows: follows) { [weak self] in
          self?.hub.finish()
        }
      }
    }
  }

  /// Notes the schemas' revisions, after they were written as they are known.
  func noteSchemas() {
    let revisions = currentSchemaRevisions()
    registry.withLock { $0.recordRevisions = revisions }
  }

  private func currentSchemaRevisions() -> [ID16: UInt64] {
    var revisions: [ID16: UInt64] = [:]
    for id in journal.listedRecords { revisions[id] = try? journal.revision(of: id) }
    return revisions
  }

  /// Takes in what others have changed beside records: the keyring, and schemas. Nothing is written before.
  ///
  /// - Returns: Whether the keyring is another one: then the log is to be followed again. Values that were
  ///   under a key it lacks are under another one by now.
  private func followOthers() -> Bool {
    defer { hub.settle() }
    var isAnother = false
    let files = KeyringFiles(storage: storage)
    if files.mayDiffer(from: vault.keyring), let found = try? files.load(of: storeID) {
      keyringChange.withLock { _ in
        isAnother = vault.follow(found.keyring, other: found.other)
        if isAnother { keyringFinding.withLock { $0 = found.finding } }
        beginEvidence()
      }
    }
    let revisions = currentSchemaRevisions()
    guard registry.withLock({ $0.recordRevisions != revisions }) else { return isAnother }
    // Without the unlock root nobody can check them: what is open yet is not to be used with them.
    if !vault.isUnlocked {
      vault.lock(everything: true)
      trustSchemas(false)
    }
    // A schema whose MAC does not check opens nothing, as at unlocking: INV-M2.
    guard let copies = try? SchemaCopies(of: journal, and: SchemaFile(storage: storage), vault),
      (try? vault.check(copies.chosen.sealed)) != nil
    else {
      trustSchemas(false)
      vault.lock(everything: true)
      return isAnother
    }
    register(copies)
    return isAnother
  }
}

// MARK: - The one thread that a store has, where it shares the store with other processes.

/// Gives the store's lock back when nothing is written, or another process waits; and takes in what others
/// commit as it comes.
final class SharingThread: Sendable {
  /// How long it is waited at most for others to change something, before it is looked whether anything else
  /// is to be done.
  private static let watchInterval = Duration.milliseconds(100)
  /// After so many failures in a row nothing is tried any more: five seconds at least.
  private static let failureLimit = 250
  /// How often it is looked where nothing tells of changes: for who waits for the lock, and for what others
  /// have committed.
  private static let pollIntervals = (lock: Duration.milliseconds(1), log: Duration.milliseconds(20))

  private let journal: Journal
  private let idle: Duration?
  private let watch: StorageWatch?
  /// Tells when somebody begins to wait for the lock.
  private let requests: StorageWatch?
  private let follows: Flag
  private let isStopped = Flag(false)
  /// Called when what others commit can't be taken in any more.
  private let failed: @Sendable () -> Void

  init(
    _ journal: Journal, _ storage: any Storage, idle: Duration?, follows: Bool,
    failed: @escaping @Sendable () -> Void
  ) {
    self.journal = journal
    self.idle = idle
    self.failed = failed
    watch = storage.watch("")
    requests = idle == nil ? nil : journal.watchRequests()
    self.follows = Flag(follows)
    let thread = Thread { self.run() }
    thread.name = "notelog"
    thread.start()
  }

  /// Ends the thread before long.
  func stop() { _ = isStopped.exchange(true) }

  /// Has what others commit taken in from now on.
  func follow() { _ = follows.exchange(true) }

  private func run() {
    let clock = ContinuousClock()
    var (last, since) = (UInt64(0), clock.now)
    var failureCount = 0
    while true {
      if isStopped.isSet || journal.isClosed { return }
      if let idle, journal.holdsLock {
        let sequence = journal.lastSequence
        if sequence != last { (last, since) = (sequence, clock.now) }
        let rest = idle - (clock.now - since)
        if journal.isLockWanted() || rest <= .zero {
          if (try? journal.suspendIfIdle()) == true { continue }
          pauseThread(Self.pollIntervals.lock)
        } else if let requests {
          requests.wait(min(rest, Self.watchInterval))
        } else {
          pauseThread(min(rest, Self.pollIntervals.lock))
        }
        continue
      }
      since = clock.now
      // Asked for before it is waited: what comes in between wakes at once.
      if follows.isSet {
        do {
          try journal.refresh()
          failureCount = 0
        } catch {
          failureCount += 1
          if error.code == .damaged || failureCount == Self.failureLimit {
            _ = follows.exchange(false)
            failed()
          }
        }
      }
      if let watch { watch.wait(Self.watchInterval) } else { pauseThread(Self.pollIntervals.log) }
    }
  }
}
