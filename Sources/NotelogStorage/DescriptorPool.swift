// How many of a store's files are open at once: decision 0060.

import NotelogBase
import Synchronization

/// The files of a store that are only read, of which so many are open at once.
///
/// The one that was opened first is closed for another, and opened again when it is read. It must then still
/// be the file that it was. One that this process gives another name, or none, is kept open for good.
struct DescriptorPool {
  /// Those that are open and may be closed, in the order in which they were opened.
  fileprivate var open: [SystemDescriptor] = []
  /// All that may be closed, open or not, by their names.
  fileprivate var named: [String: [SystemDescriptor]] = [:]

  /// Closes the file that was opened first of those that nobody is reading.
  ///
  /// - Returns: Whether there was one.
  fileprivate mutating func closeOne() -> Bool {
    for place in open.indices {
      guard let number = open[place].takeNumber() else { continue }
      Syscall.closeFile(number)
      open.remove(at: place)
      return true
    }
    return false
  }

  fileprivate mutating func makeRoom(upTo limit: Int) {
    while open.count >= limit, closeOne() {}
  }
}

extension SystemStorage {
  /// Lets an open file be closed when others are needed, and opened again for reading.
  func add(_ descriptor: SystemDescriptor) {
    pool.withLock { pool in
      // Whoever closes it has closed it to the pool first.
      guard !descriptor.isClosed else { return }
      pool.makeRoom(upTo: openFileLimit)
      pool.open.append(descriptor)
      pool.named[descriptor.name, default: []].append(descriptor)
    }
  }

  /// Opens a file again that was closed for others.
  ///
  /// - Returns: The number, which the caller, who is inside, may use until it leaves.
  fileprivate func reopen(_ descriptor: SystemDescriptor) throws(StorageError) -> Int32 {
    try pool.withLock { pool throws(StorageError) in
      if descriptor.isClosed { throw StorageError(.read, descriptor.path, errno: SystemErrno.badDescriptor) }
      if let number = descriptor.number { return number }
      pool.makeRoom(upTo: openFileLimit)
      let number = try openAgain(descriptor, &pool)
      // One that is kept for good has left the names.
      if pool.named[descriptor.name]?.contains(where: { $0 === descriptor }) ?? false {
        pool.open.append(descriptor)
      }
      return number
    }
  }

  /// Keeps files open that have a name which this process is about to give to another, or to nobody.
  func keep(_ name: String) {
    pool.withLock { pool in
      for descriptor in pool.named.removeValue(forKey: name) ?? [] {
        pool.open.removeAll { $0 === descriptor }
        // What can't be opened now is said to whoever reads it.
        if descriptor.number == nil { _ = try? openAgain(descriptor, &pool) }
      }
    }
  }

  /// Leaves a file to whoever closes it.
  func forget(_ descriptor: SystemDescriptor) {
    pool.withLock { pool in
      guard let place = pool.named[descriptor.name]?.firstIndex(where: { $0 === descriptor }) else { return }
      pool.named[descriptor.name]?.remove(at: place)
      if pool.named[descriptor.name]?.isEmpty ?? false { pool.named[descriptor.name] = nil }
      pool.open.removeAll { $0 === descriptor }
    }
  }

  /// Makes a call, closing files for it where the process may not open more.
  func perform<Value>(
    _ call: StorageError.Call, _ name: String, _ body: () -> Result<Value, Errno>
  ) throws(StorageError) -> Value {
    var result = body()
    while Self.isTooMany(result), pool.withLock({ $0.closeOne() }) { result = body() }
    return try result.orThrow(call, path(of: name))
  }

  private func openAgain(
    _ descriptor: SystemDescriptor, _ pool: inout DescriptorPool
  ) throws(StorageError) -> Int32 {
    let opened: OpenedFile
    do {
      opened = try retryingInterruptions { () throws(StorageError) in
        var result = openDescriptor(descriptor.name, .read)
        while Self.isTooMany(result), pool.closeOne() { result = openDescriptor(descriptor.name, .read) }
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
}

/// A file's descriptor, which is not closed while anybody is in a system call with it.
///
/// Those who use it count themselves in and out, which takes no lock.
final class SystemDescriptor: Sendable {
  let name: String
  let storage: SystemStorage
  let identity: OpenedFile.Identity
  /// Who is inside, in the lower half; the descriptor and 1, in the upper; and `closed` is added for good.
  private let word: Atomic<Int>
  private static let closed = Int.min
  private static let lowerHalf = 0xFFFF_FFFF

  init(_ opened: OpenedFile, _ name: String, in storage: SystemStorage) {
    self.name = name
    self.storage = storage
    identity = opened.identity
    word = Atomic(Self.upperHalf(opened.descriptor))
  }

  /// The file's path, for errors.
  var path: String { storage.path(of: name) }

  /// Comes in, and has the file opened again if it was closed for another.
  ///
  /// - Returns: The descriptor's number, which is this file's until `leave`.
  @inline(__always)
  func enter(_ call: StorageError.Call) throws(StorageError) -> Int32 {
    let word = word.wrappingAdd(1, ordering: .acquiring).newValue
    if word > Self.lowerHalf { return Self.number(in: word) }
    return try enterSlowly(call)
  }

  @inline(never)
  private func enterSlowly(_ call: StorageError.Call) throws(StorageError) -> Int32 {
    do throws(StorageError) { return try storage.reopen(self) } catch {
      leave()
      guard error.errno == SystemErrno.badDescriptor else { throw error }
      throw StorageError(call, path, errno: error.errno)
    }
  }

  /// Goes out.
  @inline(__always)
  func leave() { word.wrappingSubtract(1, ordering: .releasing) }

  /// Lets nobody in from now on; waits for those who are inside, if they are in this process.
  ///
  /// - Returns: The number that is the caller's to close; nothing where it is closed already.
  func close(waiting waits: Bool) -> Int32? {
    guard word.bitwiseOr(Self.closed, ordering: .acquiringAndReleasing).oldValue >= 0 else { return nil }
    storage.forget(self)
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

  func install(_ number: Int32) { word.wrappingAdd(Self.upperHalf(number), ordering: .acquiringAndReleasing) }

  /// Takes the number away to be closed, unless somebody is inside.
  func takeNumber() -> Int32? {
    let word = word.load(ordering: .acquiring)
    guard word > Self.lowerHalf, word & Self.lowerHalf == 0 else { return nil }
    let isTaken = self.word.compareExchange(expected: word, desired: 0, ordering: .acquiringAndReleasing)
      .exchanged
    return isTaken ? Self.number(in: word) : nil
  }

  private static func upperHalf(_ number: Int32) -> Int { (Int(number) + 1) << 32 }
  private static func number(in word: Int) -> Int32 { Int32(truncatingIfNeeded: (word >> 32) - 1) }
}
