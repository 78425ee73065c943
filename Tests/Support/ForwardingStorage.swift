// A store's folder that hands on to another one what it does not do itself.

package import NotelogStorage

/// A folder in front of another: a test's own declares what is different about it.
package protocol ForwardingStorage: Storage {
  var base: any Storage { get }
}

extension ForwardingStorage {
  package func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    try base.open(name, mode)
  }
  package func forEachName(in folder: String, _ visit: (Span<UInt8>) -> Void) throws(StorageError) {
    try base.forEachName(in: folder, visit)
  }
  package func rename(_ name: String, to newName: String) throws(StorageError) {
    try base.rename(name, to: newName)
  }
  package func unlink(_ name: String) throws(StorageError) { try base.unlink(name) }
  package func makeFolder(_ name: String) throws(StorageError) { try base.makeFolder(name) }
  package func syncFolder(_ name: String) throws(StorageError) { try base.syncFolder(name) }
}

/// A file that hands everything on to another: whoever makes one says what it does differently.
package protocol ForwardingFile: StorageFile {
  var base: any StorageFile { get }
}

extension ForwardingFile {
  package var name: String { base.name }
  package var isNamed: Bool { base.isNamed }
  package func read(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
    try base.read(into: &bytes, at: offset)
  }
  package func write(_ bytes: RawSpan, at offset: Int) throws(StorageError) -> Int {
    try base.write(bytes, at: offset)
  }
  package func allocate(_ range: Range<Int>) throws(StorageError) { try base.allocate(range) }
  package func truncate(to byteCount: Int) throws(StorageError) { try base.truncate(to: byteCount) }
  package func sync() throws(StorageError) { try base.sync() }
  package func startWriteback() { base.startWriteback() }
  package func endWriting() { base.endWriting() }
  package func byteCount() throws(StorageError) -> Int { try base.byteCount() }
  package func lock(_ kind: StorageLockKind) throws(StorageError) { try base.lock(kind) }
  package func close() { base.close() }
}
