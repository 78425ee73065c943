// Pins, by which another process keeps segments from being unlinked: FORMAT.md §13, "Pins".

/// The folder `pins/`: a file in it with a shared lock on it holds every segment that is replaced meanwhile.
struct Pins {
  private let storage: any Storage

  init(_ storage: any Storage) { self.storage = storage }

  /// Whether anybody holds a pin. Pins that nobody holds, of processes that ended without a word, are removed.
  func isAnyHeld() -> Bool {
    let names: [String]
    do { names = try storage.names(in: FileName.pins) } catch {
      // What can't be asked is taken as held.
      return !error.isMissing
    }
    return names.filter { isHeld(FileName.pin($0)) }.count > 0
  }

  private func isHeld(_ name: String) -> Bool {
    let file: any StorageFile
    do {
      file = try retryingInterruptions { () throws(StorageError) in try storage.open(name, .update) }
    } catch {
      return !error.isMissing
    }
    defer { file.close() }
    do { try retryingInterruptions { () throws(StorageError) in try file.lock(.exclusive) } } catch {
      return true
    }
    // With the lock in hand nobody else can be taking it.
    try? storage.unlink(name)
    return false
  }

  /// Takes a pin.
  func take(_ random: UInt64) throws(StorageError) -> Pin {
    do { try storage.makeFolder(FileName.pins) } catch {
      guard error.errno == SystemErrno.exists else { throw error }
    }
    var serial = random
    while true {
      let name = FileName.pin("\(Syscall.processIdentifier())-\(String(serial, radix: 16)).pin")
      let file = try retryingInterruptions { () throws(StorageError) in
        try storage.open(name, .createIfMissing)
      }
      do {
        try retryingInterruptions { () throws(StorageError) in try file.lock(.shared) }
        // Whoever compacts may have taken it for a stale one just before: then its name is gone, and it holds nothing.
        if try storage.names(in: FileName.pins).contains(where: { FileName.pin($0) == name }) {
          return Pin(storage: storage, name: name, file: file)
        }
      } catch {
        guard error.errno == SystemErrno.wouldBlock else { throw error }
      }
      file.close()
      serial &+= 1
    }
  }
}

/// A pin that is held. While it is, no segment is unlinked.
package struct Pin: ~Copyable, Sendable {
  let storage: any Storage
  let name: String
  let file: any StorageFile

  deinit {
    try? storage.unlink(name)
    file.close()
  }
}
