// A storage that keeps count of how long a store's segment files are, and holds them against the space
// contract.

package import NotelogStorage
import NotelogBase

/// The real file system, metered: every call that makes a segment longer is measured.
package final class MeteredStorage: Storage {
  private struct State {
    var byteCounts: [String: Int] = [:]
    var contract: (@Sendable () -> (live: Int, segment: Int))?
    var leasedByteCount = 0
    var replacedByteCount = 0
    var excess = Int.min
    var finding = ""
    var mostOfBound = 0.0
  }

  /// Whether syncs are passed on: for whoever wants to know how long a put may take (`NOTELOG_SCALE=1`).
  package static let syncs = TestEffort.variable("NOTELOG_SCALE") == "1"

  private let base: any Storage
  private let state = Lock(State())

  package init(_ base: any Storage) { self.base = base }

  /// The bytes of all segments, outputs of compaction among them.
  package var segmentByteCount: Int { state.withLock { $0.byteCounts.values.reduce(0, +) } }
  /// By how much the store has gone over its bound at the worst moment, and when that was.
  package var excess: Int { state.withLock { $0.excess } }
  package var finding: String { state.withLock { $0.finding } }
  /// How much of what it may take the store took at the worst moment.
  package var mostOfBound: Double { state.withLock { $0.mostOfBound } }

  /// Measures from now on: `contract` says how many bytes live, and how large segments are meant to be.
  package func watch(_ contract: @escaping @Sendable () -> (live: Int, segment: Int)) {
    state.withLock { $0.contract = contract }
  }

  /// A copy lives until the commit that replaces it has returned: what lives now counts until this is called
  /// again.
  package func beginCommit() {
    state.withLock { $0.leasedByteCount = $0.contract?().live ?? 0 }
    measure("before a commit")
  }

  /// The commit has returned.
  package func endCommit() {
    state.withLock { $0.leasedByteCount = 0 }
    measure("after a commit")
  }

  /// The same where several threads write: `body` commits, in the place of a copy of so many bytes, which
  /// lives until then.
  package func commit(replacing byteCount: Int, _ body: () throws -> Void) rethrows {
    state.withLock { $0.replacedByteCount += byteCount }
    defer {
      state.withLock { $0.replacedByteCount -= byteCount }
      measure("after a commit")
    }
    try body()
  }

  private func measure(_ moment: @autoclosure () -> String) {
    state.withLock { state in
      guard let contract = state.contract?() else { return }
      let live = max(contract.live, state.leasedByteCount) + state.replacedByteCount
      let byteCount = state.byteCounts.values.reduce(0, +)
      let segment = max(contract.segment, state.byteCounts.values.max() ?? 0)
      let bound = live + live / 2 + 2 * segment
      state.mostOfBound = max(state.mostOfBound, Double(byteCount) / Double(bound))
      guard byteCount - bound > state.excess else { return }
      state.excess = byteCount - bound
      state.finding =
        "\(moment()): \(byteCount) bytes, \(live) live, segments of \(segment): \(state.byteCounts)"
    }
  }

  private static func isMetered(_ name: String) -> Bool { name.contains(".journal") }

  fileprivate func note(_ name: String, _ byteCount: Int, _ call: String) {
    guard Self.isMetered(name) else { return }
    state.withLock { $0.byteCounts[name] = byteCount }
    measure("\(call) of \(name)")
  }

  package func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    let file = try base.open(name, mode)
    if mode != .read { note(name, try file.byteCount(), "open") }
    return File(base: file, name: name, storage: self)
  }

  package func forEachName(in folder: String, _ visit: (Span<UInt8>) -> Void) throws(StorageError) {
    try base.forEachName(in: folder, visit)
  }

  package func rename(_ name: String, to newName: String) throws(StorageError) {
    try base.rename(name, to: newName)
    guard Self.isMetered(name) else { return }
    state.withLock { $0.byteCounts[newName] = $0.byteCounts.removeValue(forKey: name) }
  }

  package func unlink(_ name: String) throws(StorageError) {
    try base.unlink(name)
    state.withLock { _ = $0.byteCounts.removeValue(forKey: name) }
  }

  package func makeFolder(_ name: String) throws(StorageError) { try base.makeFolder(name) }
  package func syncFolder(_ name: String) throws(StorageError) { try base.syncFolder(name) }

  private final class File: ForwardingFile {
    let base: any StorageFile
    let name: String
    let storage: MeteredStorage

    init(base: any StorageFile, name: String, storage: MeteredStorage) {
      self.base = base
      self.name = name
      self.storage = storage
    }

    private func noteLength(_ call: String) throws(StorageError) {
      storage.note(name, try base.byteCount(), call)
    }

    func write(_ bytes: RawSpan, at offset: Int) throws(StorageError) -> Int {
      let count = try base.write(bytes, at: offset)
      try noteLength("write")
      return count
    }

    func allocate(_ range: Range<Int>) throws(StorageError) {
      try base.allocate(range)
      try noteLength("allocate")
    }

    func truncate(to byteCount: Int) throws(StorageError) {
      try base.truncate(to: byteCount)
      try noteLength("truncate")
    }

    // What is durable is not what is measured here, unless pauses are.
    func sync() throws(StorageError) { if MeteredStorage.syncs { try base.sync() } }
  }
}
