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
