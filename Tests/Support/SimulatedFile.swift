// An open file of a simulated disk.

package import NotelogStorage
import NotelogBase
import Synchronization

/// An open file description: what `flock` is held by, and what `close` gives back.
package final class SimulatedFile: StorageFile {
  private let disk: SimulatedDisk
  package let name: String
  private let node: Int
  private let number: Int
  private let writes: Bool
  private let isClosed = Atomic(false)

  init(disk: SimulatedDisk, name: String, node: Int, number: Int, writes: Bool) {
    self.disk = disk
    self.name = name
    self.node = node
    self.number = number
    self.writes = writes
  }

  deinit { close() }

  package func read(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
    let (content, limit) = try fileStep(.read) { core, fault throws(StorageError) -> ([UInt8], Int) in
      (core.state.nodes[self.node].cached, fault == .shortCount ? 1 : Int.max)
    }
    return bytes.copy(from: content, at: offset, atMost: limit)
  }

  package func write(_ bytes: RawSpan, at offset: Int) throws(StorageError) -> Int {
    let new = bytes.copiedBytes()
    return try fileStep(.write) { core, fault throws(StorageError) -> Int in
      let taken =
        switch fault {
        case .shortCount: max(1, new.count / 2)
        case .errorAfterHalf: new.count / 2
        default: new.count
        }
      let room = core.room(beyond: core.state.nodes[self.node].backedByteCount)
      let fitting = min(taken, max(0, room - offset))
      if fitting > 0 {
        let part = fitting == new.count ? new : Array(new[..<fitting])
        core.record(.write, self.name, .change(self.node, .write(offset, part)))
      }
      if case .errorAfterHalf(let errno)? = fault { throw StorageError(.write, self.name, errno: errno) }
      if fitting == 0, !new.isEmpty { throw StorageError(.write, self.name, errno: SystemErrno.noSpace) }
      return fitting
    }
  }

  package func allocate(_ range: Range<Int>) throws(StorageError) {
    try fileStep(.allocate) { core, _ throws(StorageError) in
      guard core.allocates else { throw StorageError(.allocate, self.name, errno: SystemErrno.notSupported) }
      guard range.upperBound <= core.room(beyond: core.state.nodes[self.node].backedByteCount) else {
        throw StorageError(.allocate, self.name, errno: SystemErrno.noSpace)
      }
      core.record(.allocate, self.name, .change(self.node, .grow(range.upperBound)))
    }
  }

  package func truncate(to byteCount: Int) throws(StorageError) {
    try fileStep(.truncate) { core, _ throws(StorageError) in
      core.record(.truncate, self.name, .change(self.node, .resize(byteCount)))
    }
  }

  package func sync() throws(StorageError) {
    try fileStep(.sync) { core, fault throws(StorageError) in
      if case .syncDropsPages(let readsOldBytes)? = fault {
        core.record(.sync, self.name, .dropPages(self.node, readsOldBytes: readsOldBytes))
        throw StorageError(.sync, self.name, errno: SystemErrno.inputOutput)
      }
      core.record(.sync, self.name, .sync(self.node))
    }
  }

  package func byteCount() throws(StorageError) -> Int {
    try fileStep(.stat) { core, _ throws(StorageError) in core.state.nodes[self.node].cached.count }
  }

  package func lock(_ kind: StorageLockKind) throws(StorageError) {
    try fileStep(.lock) { core, _ throws(StorageError) in
      var holders = core.locks[self.node] ?? [:]
      holders[self.number] = nil
      let conflicts = kind == .exclusive ? !holders.isEmpty : holders.values.contains(.exclusive)
      if conflicts { throw StorageError(.lock, self.name, errno: SystemErrno.wouldBlock) }
      holders[self.number] = kind
      core.locks[self.node] = holders
    }
  }

  package func close() {
    guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    disk.core.withLock { core in
      core.locks[node]?[number] = nil
      core.closed.append(name)
    }
  }

  /// Makes one call on this file. A fault that fails the call outright never reaches the body; others it sees
  /// to.
  private func fileStep<Result: Sendable>(
    _ call: StorageError.Call,
    _ body: (inout SimulatedDisk.Core, Fault.Kind?) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    precondition(!isClosed.load(ordering: .acquiring), "\(call.rawValue) on \(name), which is closed")
    precondition(
      writes || ![.write, .allocate, .truncate].contains(call),
      "\(call.rawValue) on \(name), which is open for reading"
    )
    defer { disk.runHook(call, name) }
    return try disk.core.withLock { core throws(StorageError) -> Result in
      core.callCount += 1
      let fault = core.fault(for: call, name)
      if case .error(let errno)? = fault { throw StorageError(call, name, errno: errno) }
      return try body(&core, fault)
    }
  }
}

extension SimulatedDisk.Core {
  /// How long a file may become that has this much space of its own already.
  func room(beyond backedByteCount: Int) -> Int {
    guard let capacity else { return Int.max }
    return backedByteCount + max(0, capacity - state.usedByteCount)
  }
}
