// Pins, by which another process keeps segments from being unlinked: FORMAT.md §25, "Pins".

import NotelogFormat
import NotelogStorage
import NotelogBase

/// The folder `pins/`: a file in it with a shared lock on it holds every segment that is replaced meanwhile.
struct Pins {
  private let storage: any Storage

  init(_ storage: any Storage) { self.storage = storage }

  /// Whether anybody holds a pin. Pins that nobody holds, of processes that ended without a word, are
  /// removed.
  func isAnyHeld() -> Bool {
    let names: [String]
    do { names = try storage.names(in: FileName.pins) } catch {
      // What can't be asked is taken as held.
      return !error.isMissing
    }
    // Others in the folder are none of ours, and stay as they are.
    return names.filter { FileName.isPin($0) && isHeld(FileName.pin($0)) }.count > 0
  }

  /// Refuses a folder that is none.
  func check() throws(StorageError) {
    do { try storage.forEachName(in: FileName.pins) { _ in } } catch {
      guard error.isMissing else { throw error }
    }
  }

  private func isHeld(_ name: String) -> Bool {
    let file: any StorageFile
    do {
      file = try storage.openLocked(name, .lock, .exclusive)
    } catch {
      // Only a file can be a pin.
      return !error.isMissing && !error.isOfNoFile
    }
    defer { file.close() }
    // With the lock in hand nobody else can be taking it.
    try? storage.unlink(name)
    return false
  }

  /// Takes a pin for a reader that has to close files and open them again, where the folder can be written
  /// to. Without one, a read fails whose segment a writer removed meanwhile.
  func acquireForReading(_ random: () -> UInt64) -> Pin? {
    var count = 0
    do throws(StorageError) {
      try storage.forEachName(in: "") { _ in count += 1 }
      return count > storage.openFileLimit ? try acquire(random()) : nil
    } catch { return nil }
  }

  /// Takes a pin where the folder can be written to. Where it can't, on a medium that is read-only for
  /// instance, there is none to be had; if somebody else removes a segment all the same, reading it fails.
  func acquireIfWritable(_ random: UInt64) throws(StorageError) -> Pin? {
    do { return try acquire(random) } catch {
      guard error.errno == SystemErrno.readOnly || error.errno == SystemErrno.accessDenied else {
        throw error
      }
      return nil
    }
  }

  /// Takes a pin.
  func acquire(_ random: UInt64) throws(StorageError) -> Pin {
    do { try storage.makeFolder(FileName.pins) } catch {
      guard error.errno == SystemErrno.exists else { throw error }
    }
    var serial = random
    while true {
      let name = FileName.pin(FileName.pin(of: processIdentifier, serial: serial))
      do throws(StorageError) {
        let file = try storage.openLocked(name, .createIfMissing, .shared)
        // Whoever compacts may have taken it for a stale one just before: then its name is gone, and it holds
        // nothing.
        if try storage.names(in: FileName.pins).contains(where: { FileName.pin($0) == name }) {
          return Pin(storage: storage, name: name, file: file)
        }
        file.close()
      } catch {
        guard error.errno == SystemErrno.wouldBlock else { throw error }
      }
      serial &+= 1
    }
  }
}

/// A pin that is held. While it is, no segment is unlinked.
struct Pin: ~Copyable, Sendable {
  let storage: any Storage
  let name: String
  let file: any StorageFile

  deinit {
    try? storage.unlink(name)
    file.close()
  }
}
