// Creating a folder that must still be there when the power comes back. FORMAT.md §12, "Order of writing".

extension Storage {
  /// Creates a folder and makes its entry durable.
  package func makeDurableFolder(_ name: String) throws(StorageError) {
    try makeFolder(name)
    try retryingInterruptions { () throws(StorageError) in try syncFolder("") }
  }
}
