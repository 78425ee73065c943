// How many of a store's files are open at once: decision 0060.

import NotelogBase
import Synchronization

/// Opens a store's files, and keeps so many of those that are only read open at once.
///
/// The one that was not read for longest is closed for another, and opened again when it is read. It must
/// then still be the file that it was. One that this process gives another name, or none, is kept open for
/// good.
final class DescriptorPool: Sendable {
  private struct State {
    /// Those that are open and may be closed, in no order; the hand of the clock goes round them.
    var open: [SystemDescriptor] = []
    var hand = 0
    /// All that may be closed, open or not, by their names.
    var named: [String: [SystemDescriptor]] = [:]
  }

  /// The most files that are only read, and open at once, unless more are being read or have lost their
  /// names.
  let capacity: Int
  fileprivate let folder: SystemFolder
  private let state = Lock(State())

  init(of folder: SystemFolder, capacity: Int) {
    self.folder = folder
    self.capacity = capacity
  }

  func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> SystemDescriptor {
    let opened = try retrying { folder.openFile(name, mode.flags) }.orThrow(.open, folder.path(of: name))
    if mode.mayWrite, opened.nameCount > 1 {
      // Its other name may be outside the store: what is written here would be written there.
      Syscall.closeFile(opened.descriptor)
      throw StorageError(.open, folder.path(of: name), errno: SystemErrno.manyNames)
    }
    let descriptor = SystemDescriptor(opened, name, pool: self)
    if mode == .read { add(descriptor) }
    return descriptor
  }

  /// Lets an open file be closed when others are needed, and opened again for reading.
  func add(_ descriptor: SystemDescriptor) {
    state.withLock { state in
      // Whoever closes it has closed it to the pool first.
      guard !descriptor.isClosed else { return }
      makeRoom(&state)
      state.open.append(descriptor)
      state.named[descriptor.name, default: []].append(descriptor)
    }
  }

  /// Opens a file again that was closed for others.
  ///
  /// - Returns: The number, which the caller, who is inside, may use until it leaves.
  func reopen(_ descriptor: SystemDescriptor) throws(StorageError) -> Int32 {
    try state.withLock { state throws(StorageError) in
      if descriptor.isClosed {
        throw StorageError(.read, descriptor.path, errno: SystemErrno.badDescriptor)
      }
      if let number = descriptor.number { return number }
      makeRoom(&state)
      let number = try openAgain(descriptor, &state)
      // One that is kept for good has left the names.
      if state.named[descriptor.name]?.contains(where: { $0 === descriptor }) ?? false {
        state.open.append(descriptor)
      }
      return number
    }
  }

  /// Keeps files open that have a name which this process is about to give to another, or to nobody.
  func keep(_ name: String) {
    state.withLock { state in
      for descriptor in state.named.removeValue(forKey: name) ?? [] {
        state.open.removeAll { $0 === descriptor }
        // What can't be opened now is said to whoever reads it.
        if descriptor.number == nil { _ = try? openAgain(descriptor, &state) }
      }
    }
  }

  /// Leaves a file to whoever closes it.
  func forget(_ descriptor: SystemDescriptor) {
    state.withLock { state in
      guard let place = state.named[descriptor.name]?.firstIndex(where: { $0 === descriptor }) else { return }
      state.named[descriptor.name]?.remove(at: place)
      if state.named[descriptor.name]?.isEmpty ?? false { state.named[descriptor.name] = nil }
      state.open.removeAll { $0 === descriptor }
    }
  }

  /// Opens something, closing files for it where the process may not open more.
  func retrying<Value>(_ open: () -> Result<Value, Errno>) -> Result<Value, Errno> {
    while true {
      let result = open()
      guard Self.isTooMany(result), state.withLock({ closeOne(&$0) }) else { return result }
    }
  }

  private func openAgain(
    _ descriptor: SystemDescriptor, _ state: inout State
  ) throws(StorageError) -> Int32 {
    let opened: OpenedFile
    do {
      opened = try retryingInterruptions { () throws(StorageError) in
        var result = folder.openFile(descriptor.name, StorageOpenMode.read.flags)
        while Self.isTooMany(result), closeOne(&state) {
          result = folder.openFile(descriptor.name, StorageOpenMode.read.flags)
        }
        return try result.orThrow(.open, descriptor.path)
      }
    } catch {
      guard error.isMissing else { throw error }
      throw StorageError(.open, descriptor.path, errno: SystemErrno.stale)
    }
    guard opened.identity == descriptor.identity else {
      Syscall.closeFile(opened.descriptor)
      throw StorageError(.open, descriptor.path, errno: SystemErrno.stale)
    }
    descriptor.install(opened.descriptor)
    return opened.descriptor
  }

  private static func isTooMany<Value>(_ result: Result<Value, Errno>) -> Bool {
    guard case .failure(let error) = result else { return false }
    return error.number == SystemErrno.tooManyOpen || error.number == SystemErrno.tooManyOpenInSystem
  }

  private func makeRoom(_ state: inout State) {
    while state.open.count >= capacity, closeOne(&state) {}
  }

  /// Closes a file that was not used since the hand last came by.
  ///
  /// - Returns: Whether there was one that nobody is reading.
  private func closeOne(_ state: inout State) -> Bool {
    for _ in 0..<2 * state.open.count {
      if state.hand >= state.open.count { state.hand = 0 }
      let descriptor = state.open[state.hand]
      if !descriptor.takeUsed(), let number = descriptor.takeNumber() {
        Syscall.closeFile(number)
        state.open.swapAt(state.hand, state.open.count - 1)
        state.open.removeLast()
        return true
      }
      state.hand += 1
    }
    return false
  }
}

/// A file's descriptor, which is not closed while anybody is in a system call with it.
///
/// Those who use it count themselves in and out, which takes no lock.
final class SystemDescriptor: Sendable {
  let name: String
  private let pool: DescriptorPool
  let identity: OpenedFile.Identity
  /// Who is inside, in the lower half; the descriptor and 1, in the upper; and `closed` is added for good.
  private let word: Atomic<Int>
  private let wasUsed = Atomic(true)
  private static let closed = Int.min
  private static let lowerHalf = 0xFFFF_FFFF

  init(_ opened: OpenedFile, _ name: String, pool: DescriptorPool) {
    self.name = name
    self.pool = pool
    identity = opened.identity
    word = Atomic(Self.upperHalf(opened.descriptor))
  }

  /// The file's path, for errors.
  var path: String { pool.folder.path(of: name) }

  /// Comes in, and has the file opened again if it was closed for another.
  ///
  /// - Returns: The descriptor's number, which is this file's until `leave`.
  @inline(__always)
  func enter(_ call: StorageError.Call) throws(StorageError) -> Int32 {
    let word = word.wrappingAdd(1, ordering: .acquiring).newValue
    if word > Self.lowerHalf {
      if !wasUsed.load(ordering: .relaxed) { wasUsed.store(true, ordering: .relaxed) }
      return Self.number(in: word)
    }
    return try enterSlowly(call)
  }

  @inline(never)
  private func enterSlowly(_ call: StorageError.Call) throws(StorageError) -> Int32 {
    do throws(StorageError) { return try pool.reopen(self) } catch {
      leave()
      guard error.errno == SystemErrno.badDescriptor else { throw error }
      throw StorageError(call, path, errno: error.errno)
    }
  }

  /// Goes out.
  @inline(__always)
  func leave() { word.wrappingSubtract(1, ordering: .releasing) }

  /// Lets the pool close the file and open it again: from now on it is only read.
  func joinPool() { pool.add(self) }

  /// Takes the file from the pool, which won't close it any more.
  func leavePool() { pool.forget(self) }

  /// Lets nobody in from now on; waits for those who are inside, if they are in this process.
  ///
  /// - Returns: The number that is the caller's to close; nothing where it is closed already.
  func close(waiting waits: Bool) -> Int32? {
    guard word.bitwiseOr(Self.closed, ordering: .acquiringAndReleasing).oldValue >= 0 else { return nil }
    pool.forget(self)
    while waits, word.load(ordering: .acquiring) & Self.lowerHalf != 0 { pauseThread(.microseconds(50)) }
    return number
  }

  // What follows is the pool's, which holds its lock.

  var isClosed: Bool { word.load(ordering: .acquiring) < 0 }

  /// The number, while the file is open.
  var number: Int32? {
    let word = word.load(ordering: .acquiring) & ~Self.closed
    return word > Self.lowerHalf ? Self.number(in: word) : nil
  }

  func install(_ number: Int32) {
    wasUsed.store(true, ordering: .relaxed)
    word.wrappingAdd(Self.upperHalf(number), ordering: .acquiringAndReleasing)
  }

  /// Takes the number away to be closed, unless somebody is inside.
  func takeNumber() -> Int32? {
    let word = word.load(ordering: .acquiring)
    guard word > Self.lowerHalf, word & Self.lowerHalf == 0 else { return nil }
    let isTaken = self.word.compareExchange(expected: word, desired: 0, ordering: .acquiringAndReleasing)
      .exchanged
    return isTaken ? Self.number(in: word) : nil
  }

  /// Whether it was used since this was last asked.
  func takeUsed() -> Bool { wasUsed.exchange(false, ordering: .relaxed) }

  private static func upperHalf(_ number: Int32) -> Int { (Int(number) + 1) << 32 }
  private static func number(in word: Int) -> Int32 { Int32(truncatingIfNeeded: (word >> 32) - 1) }
}
