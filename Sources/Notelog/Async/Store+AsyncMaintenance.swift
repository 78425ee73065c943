// Looking after a store for tasks: what takes long holds up no thread of the cooperative pool, and ends when the task is cancelled.

import NotelogBase

extension Store {
  /// Figures as of now. As the property, without blocking the caller's thread: the first time, large values are counted.
  public func info() async -> StoreInfo { await offPool { self.info } }

  /// Copies what is live out of segments that are partly dead. As the other, without blocking the caller's thread. Where the task is cancelled it ends
  /// early, as where `progress` says so.
  @discardableResult
  public func compact(
    _ budget: WorkBudget = .unlimited,
    progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) async throws -> CompactionSummary {
    try await offPool { stop in
      try self.compact(budget.stopping(at: stop), progress: progress)
    }
  }

  /// Leaves nothing dead behind. As the other, without blocking the caller's thread. Where the task is cancelled it ends early, as where `progress`
  /// says so.
  @discardableResult
  public func purge(
    progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) async throws -> CompactionSummary {
    try await offPool { stop in
      try self.purge { !stop.isSet && progress($0, $1) }
    }
  }

  /// Compacts if the store takes too much more than what lives in it. As the other, without blocking the caller's thread. Where the task is
  /// cancelled it ends early, as if its budget were spent.
  @discardableResult
  public func compactIfDue(_ budget: WorkBudget = .unlimited) async throws -> Bool {
    try await offPool { stop in try self.compactIfDue(budget.stopping(at: stop)) }
  }

  /// Reads what the store holds, as much as the budget allows, and checks it. As the other, without blocking the caller's
  /// thread. Where the task is cancelled it ends early, as if its budget were spent.
  public func scrub(
    from position: ScrubPosition? = nil, _ budget: WorkBudget = .unlimited
  ) async throws -> ScrubSummary {
    try await offPool { stop in try self.scrub(from: position, budget.stopping(at: stop)) }
  }

  /// Reads every byte of a store and checks it. As the other, without blocking the caller's thread; it ends when the task is
  /// cancelled.
  public static func verify(
    at path: String, unlocking credential: Credential? = nil, threadCount: Int = 1,
    progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) async throws -> Verification {
    try await offPool(telling: progress) { progress in
      try verify(at: path, unlocking: credential, threadCount: threadCount, progress: progress)
    }
  }

  /// Brings a backup of this store up to date. As the other, without blocking the caller's thread; it ends when the task is
  /// cancelled, and the backup is then the one before.
  @discardableResult
  public func backup(
    to path: String, checkingAll checksAll: Bool = false,
    progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) async throws -> BackupSummary {
    try await offPool(telling: progress) { progress in
      try self.backup(to: path, checkingAll: checksAll, progress: progress)
    }
  }

  /// Brings a backup of a store up to date, whoever uses the store. As the other, without blocking the caller's thread; it ends when the
  /// task is cancelled, and the backup is then the one before.
  @discardableResult
  public static func backup(
    of path: String, to backupPath: String, unlocking credential: Credential? = nil,
    checkingAll checksAll: Bool = false,
    progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) async throws -> BackupSummary {
    try await offPool(telling: progress) { progress in
      try backup(
        of: path, to: backupPath, unlocking: credential, checkingAll: checksAll, progress: progress)
    }
  }

  /// Makes a store of a backup. As the other, without blocking the caller's thread; it ends when the task is cancelled, and the folder is
  /// then left empty.
  @discardableResult
  public static func restore(
    from backupPath: String, to path: String, unlocking credential: Credential? = nil,
    progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) async throws -> [Verification.Finding] {
    try await offPool(telling: progress) { progress in
      try restore(from: backupPath, to: path, unlocking: credential, progress: progress)
    }
  }

  /// Copies everything that can be read of a store into a new one. As the other, without blocking the caller's thread; it ends when the task
  /// is cancelled, and the new folder is then left empty.
  public static func salvage(
    from path: String, to newPath: String, unlocking credential: Credential? = nil, storeID: RecordID? = nil,
    keepsOlderVersions: Bool = false,
    progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) async throws -> SalvageSummary {
    try await offPool(telling: progress) { progress in
      try salvage(
        from: path, to: newPath, unlocking: credential, storeID: storeID,
        keepsOlderVersions: keepsOlderVersions, progress: progress)
    }
  }

  /// Waits for what is being written, and gives the store's lock back. As the other, without blocking the caller's thread.
  public func suspend() async throws { try await offPool { try self.suspend() } }

  /// Takes the lock again. As the other, without blocking the caller's thread.
  public func resume(waiting patience: Duration = .zero) async throws {
    try await offPool { try self.resume(waiting: patience) }
  }

  /// Takes in what other processes have committed. As the other, without blocking the caller's thread.
  @discardableResult
  public func refresh() async throws -> Bool { try await offPool { try self.refresh() } }
}
