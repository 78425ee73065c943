// A disk that remembers every call, so that one run of a workload yields the disk after a crash at any of
// them.

package import NotelogStorage
import NotelogBase

/// A store's folder on a disk that can lose power, fill up and fail.
///
/// What reads see (the page cache) and what is on the medium are kept apart: a file's writes, lengths and
/// allocations become durable by its `sync`, names by their folder's `syncFolder`, and never by each other.
/// Every call is one step, in one order that all threads share. A sync takes effect when it begins.
package final class SimulatedDisk: Storage {
  /// A call that changed the disk.
  struct Step: Sendable {
    /// The call's number among all calls.
    let call: Int
    let kind: StorageError.Call
    let name: String
    let effect: DiskEffect
  }

  struct Core: Sendable {
    var state: DiskState
    var initial: DiskState
    var callCount = 0
    var steps: [Step] = []
    var faults: [Fault] = []
    var fired: [StorageError] = []
    /// The holders of each node's lock, by open file description.
    var locks: [Int: [Int: StorageLockKind]] = [:]
    var openCount = 0
    var closed: [String] = []
    var capacity: Int?
    var allocates = true
    var hook: (@Sendable (StorageError.Call, String) -> Void)?
  }

  let core: Lock<Core>

  package init(_ state: DiskState = DiskState()) {
    core = Lock(Core(state: state, initial: state))
  }

  // MARK: - What a test arranges

  /// Lets a fault happen later.
  package func plan(_ fault: Fault) { core.withLock { $0.faults.append(fault) } }

  /// Forgets the faults that were planned.
  package func forgetFaults() { core.withLock { $0.faults = [] } }

  /// The failures that faults have produced so far.
  package var firedFaults: [StorageError] { core.withLock { $0.fired } }

  /// The names of files that were closed, in that order.
  package var closedNames: [String] { core.withLock { $0.closed } }

  /// How many bytes files may take together; without a limit if nil.
  package var capacity: Int? {
    get { core.withLock { $0.capacity } }
    set { core.withLock { $0.capacity = newValue } }
  }

  /// Whether the file system knows how to promise space.
  package var allocates: Bool {
    get { core.withLock { $0.allocates } }
    set { core.withLock { $0.allocates = newValue } }
  }

  /// Is run after a call took effect and before it returns, outside all locks: other threads can go first
  /// meanwhile.
  package func afterEachCall(_ hook: (@Sendable (StorageError.Call, String) -> Void)?) {
    core.withLock { $0.hook = hook }
  }

  // MARK: - What a test looks at

  /// How many calls were made so far.
  package var callCount: Int { core.withLock { $0.callCount } }

  /// The numbers of the calls that changed something, each a moment to crash after.
  package var crashPoints: [Int] { core.withLock { $0.steps.map(\.call) } }

  /// What a call did, in words.
  package func describe(call: Int) -> String {
    core.withLock { core in
      core.steps.first { $0.call == call }.map { "\($0.kind.rawValue) \($0.name)" }
        ?? "a call that changes nothing"
    }
  }

  /// The space that files take.
  package var usedByteCount: Int { core.withLock { $0.state.usedByteCount } }

  /// All files' paths, sorted.
  package var fileNames: [String] {
    core.withLock { core in
      core.state.cachedEntries.filter { !core.state.nodes[$0.value].isFolder }.keys.sorted()
    }
  }

  /// The bytes that reading a file would give, or nil where there is none.
  package func contents(_ name: String) -> [UInt8]? {
    core.withLock { core in core.state.cachedEntries[name].map { core.state.nodes[$0].cached } }
  }

  /// The disk's content at this moment.
  package var state: DiskState { core.withLock { $0.state } }

  /// A disk of its own with the same content, nothing running on it.
  package func copy() -> SimulatedDisk { SimulatedDisk(state) }

  /// Gives a file other bytes, durably, or takes it away: damage done behind the store's back.
  package func replace(_ name: String, with bytes: [UInt8]?) {
    core.withLock { core in
      guard let bytes else {
        core.state.cachedEntries[name] = nil
        core.state.durableEntries[name] = nil
        return
      }
      let node = DiskState.Node(cached: bytes, durable: bytes, backedByteCount: bytes.count)
      core.state.nodes.append(node)
      core.state.cachedEntries[name] = core.state.nodes.count - 1
      core.state.durableEntries[name] = core.state.nodes.count - 1
    }
  }

  /// The disk after a crash that followed the given call.
  package func crashImage(after call: Int, _ loss: LossModel, seed: UInt64 = 0) -> SimulatedDisk {
    var replay = Replay(of: self)
    return SimulatedDisk(replay.crash(after: call, loss, seed: seed).disk)
  }

  /// The disk after a crash at this moment.
  package func crashImageNow(_ loss: LossModel, seed: UInt64 = 0) -> SimulatedDisk {
    var random = SeededGenerator(mixing: seed)
    return SimulatedDisk(state.afterCrash(loss, using: &random).disk)
  }

  // MARK: - System calls

  package func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    try step(.open, name) { core throws(StorageError) in
      var node = core.state.cachedEntries[name]
      if let node, core.state.nodes[node].isFolder { throw StorageError(.open, name, errno: Self.isFolder) }
      switch mode {
      case .read, .update:
        if node == nil { throw StorageError(.open, name, errno: SystemErrno.notFound) }
      case .createNew where node != nil: throw StorageError(.open, name, errno: SystemErrno.exists)
      case .createNew, .createIfMissing, .lock:
        if node == nil {
          try core.requireFolder(of: name, .open)
          core.record(.open, name, .create(name, isFolder: false))
          node = core.state.cachedEntries[name]
        }
      }
      guard let node else { throw StorageError(.open, name, errno: SystemErrno.notFound) }
      core.openCount += 1
      return SimulatedFile(
        disk: self, name: name, node: node, number: core.openCount, writes: mode != .read && mode != .lock)
    }
  }

  package func forEachName(in folder: String, _ visit: (Span<UInt8>) -> Void) throws(StorageError) {
    let names = try step(.readdir, folder) { core throws(StorageError) in
      guard core.state.isFolder(folder) else {
        throw StorageError(.readdir, folder, errno: SystemErrno.notFound)
      }
      return core.state.cachedEntries.keys.filter { parentFolder(of: $0) == folder }.map {
        folder.isEmpty ? $0 : String($0.dropFirst(folder.count + 1))
      }
    }
    for name in names { visit(name.utf8.span) }
  }

  package func rename(_ name: String, to newName: String) throws(StorageError) {
    try step(.rename, name) { core throws(StorageError) in
      let node = try core.node(named: name, .rename)
      try core.requireFolder(of: newName, .rename, for: name)
      guard name != newName else { return }
      core.record(.rename, name, .entry(.move(name, newName, node)))
    }
  }

  package func unlink(_ name: String) throws(StorageError) {
    try step(.unlink, name) { core throws(StorageError) in
      let node = try core.node(named: name, .unlink)
      core.record(.unlink, name, .entry(.remove(name, node)))
    }
  }

  package func makeFolder(_ name: String) throws(StorageError) {
    try step(.mkdir, name) { core throws(StorageError) in
      guard core.state.cachedEntries[name] == nil else {
        throw StorageError(.mkdir, name, errno: SystemErrno.exists)
      }
      try core.requireFolder(of: name, .mkdir)
      core.record(.mkdir, name, .create(name, isFolder: true))
    }
  }

  package func syncFolder(_ name: String) throws(StorageError) {
    try step(.syncFolder, name) { core throws(StorageError) in
      // The real one opens the folder first.
      guard core.state.isFolder(name) else {
        throw StorageError(.open, name, errno: SystemErrno.notFound)
      }
      core.record(.syncFolder, name, .syncFolder(name))
    }
  }

  static let isFolder: Int32 = 21

  func runHook(_ call: StorageError.Call, _ name: String) {
    if let hook = core.withLock({ $0.hook }) { hook(call, name) }
  }

  /// Makes one call: counts it, lets a planned fault have it, else does it, alone.
  func step<Result: Sendable>(
    _ call: StorageError.Call, _ name: String, _ body: (inout Core) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    defer { runHook(call, name) }
    return try core.withLock { core throws(StorageError) -> Result in
      core.callCount += 1
      if case .error(let number)? = core.fault(for: call, name) {
        throw StorageError(call, name, errno: number)
      }
      return try body(&core)
    }
  }
}

extension SimulatedDisk.Core {
  /// Does what a call does, and writes it down.
  mutating func record(_ call: StorageError.Call, _ name: String, _ effect: DiskEffect) {
    state.apply(effect)
    steps.append(SimulatedDisk.Step(call: callCount - 1, kind: call, name: name, effect: effect))
  }

  /// What is to go wrong with this call, if anything. Kinds that concern bytes are asked for by the file
  /// itself.
  mutating func fault(for call: StorageError.Call, _ name: String) -> Fault.Kind? {
    for index in faults.indices where faults[index].calls.contains(call) {
      guard faults[index].passing == 0 else {
        faults[index].passing -= 1
        continue
      }
      let fault = faults[index]
      if !fault.lasts { faults.remove(at: index) }
      var number: Int32 = 0
      switch fault.kind {
      case .error(let errno), .errorAfterHalf(let errno): number = errno
      case .syncDropsPages: number = SystemErrno.inputOutput
      case .shortCount: break
      }
      fired.append(StorageError(call, name, errno: number))
      return fault.kind
    }
    return nil
  }

  func node(named name: String, _ call: StorageError.Call) throws(StorageError) -> Int {
    guard let node = state.cachedEntries[name] else {
      throw StorageError(call, name, errno: SystemErrno.notFound)
    }
    guard !state.nodes[node].isFolder else { throw StorageError(call, name, errno: SimulatedDisk.isFolder) }
    return node
  }

  /// Throws where the folder that is to hold a path is not there, naming the file that the call was about.
  func requireFolder(
    of path: String, _ call: StorageError.Call, for name: String? = nil
  ) throws(StorageError) {
    guard state.isFolder(parentFolder(of: path)) else {
      throw StorageError(call, name ?? path, errno: SystemErrno.notFound)
    }
  }
}
