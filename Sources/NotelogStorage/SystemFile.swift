// An open file on this machine.

import Synchronization

/// An open file: owns its descriptor.
package final class SystemFile: StorageFile {
  private let descriptor: SystemDescriptor
  /// The process that locked the file through this descriptor; 0 while nobody has.
  private let locker = Atomic<Int32>(0)
  private let opener = SystemProcess.identifier

  init(_ descriptor: SystemDescriptor) { self.descriptor = descriptor }

  deinit { close() }

  package var name: String { descriptor.name }

  package func read(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
    let number = try descriptor.enter(.read)
    defer { descriptor.leave() }
    return try Syscall.readAt(number, &bytes, offset).orThrow(.read, descriptor.path)
  }

  package func write(_ bytes: RawSpan, at offset: Int) throws(StorageError) -> Int {
    try inside(.write) { Syscall.writeAt($0, bytes, offset) }
  }

  package func allocate(_ range: Range<Int>) throws(StorageError) {
    _ = try inside(.allocate) { Syscall.allocate($0, range) }
  }

  package func truncate(to byteCount: Int) throws(StorageError) {
    _ = try inside(.truncate) { Syscall.truncate($0, byteCount) }
  }

  package func sync() throws(StorageError) { _ = try inside(.sync, Syscall.syncData) }

  package func startWriteback() { _ = try? inside(.sync) { .success(Syscall.startWriteback($0)) } }

  package func endWriting() { descriptor.joinPool() }

  package func byteCount() throws(StorageError) -> Int { try inside(.stat, Syscall.byteCount) }

  package func lock(_ kind: StorageLockKind) throws(StorageError) {
    // The lock is the descriptor's, and would go with it.
    descriptor.leavePool()
    _ = try inside(.lock) { Syscall.lock($0, kind) }
    locker.store(SystemProcess.identifier, ordering: .releasing)
  }

  /// Runs a call that must not reach another file, which the descriptor's number may be as soon as this one is closed.
  private func inside<Value>(
    _ call: StorageError.Call, _ body: (Int32) -> Result<Value, Errno>
  ) throws(StorageError) -> Value {
    let number = try descriptor.enter(call)
    defer { descriptor.leave() }
    return try body(number).orThrow(call, descriptor.path)
  }

  package func close() {
    // In a child that was forked, those who were inside are not there, and never leave.
    guard let number = descriptor.close(waiting: opener == SystemProcess.identifier) else { return }
    // A child that was just forked, on its way to another program, holds the lock with its copy of the descriptor: closing
    // ours would not release it. A forked child that closes its copy must not release the lock of its parent.
    let locker = locker.load(ordering: .acquiring)
    if locker != 0, locker == SystemProcess.identifier { Syscall.unlock(number) }
    Syscall.closeFile(number)
  }
}
