// Pins, by which another process keeps segments from being unlinked: FORMAT.md §25, "Pins".

import NotelogFormat
import NotelogStorage
import NotelogBase

/// The folder `pins/`: a file in it with a shared lock on it holds every segment that is replaced meanwhile.
extension Storage {
  /// Whether anybody holds a pin. Pins that nobody holds, of processes that ended without a word, are
  /// removed.
  func isPinned() -> Bool {
    let pins: [String]
    do { pins = try names(in: FileName.pins) } catch {
      // What can't be asked is taken as held.
      return !error.isMissing
    }
    // Others in the folder are none of ours, and stay as they are.
    return pins.filter { FileName.isPin($0) && isHeld(FileName.pin($0)) }.count > 0
  }

  /// Refuses a folder of pins that is none.
  func checkPins() throws(StorageError) {
    do { try forEachName(in: FileName.pins) { _ in } } catch {
      guard error.isMissing else { throw error }
    }
  }

  private func isHeld(_ name: String) -> Bool {
    let file: any StorageFile
    do {
      file = try openLocked(name, .lock, .exclusive)
    } catch {
      // Only a file can be a pin.
      return !error.isMissing && !error.isOfNoFile
    }
    defer { file.close() }
    // With the lock in hand nobody else can be taking it.
    try? unlink(name)
    return false
  }

  /// Takes a pin for a reader that has to close files and open them again, where the folder can be written
  /// to. Without one, a read fails whose segment a writer removed meanwhile.
  func pinForReading(_ random: () -> UInt64) -> Pin? {
    var count = 0
    do throws(StorageError) {
      try forEachName(in: "") { _ in count += 1 }
      return count > openFileLimit ? try pin(random()) : nil
    } catch { return nil }
  }

  /// Takes a pin where the folder can be written to. Where it can't, on a medium that is read-only for
  /// instance, there is none to be had; if somebody else removes a segment all the same, reading it fails.
  func pinIfWritable(_ random: UInt64) throws(StorageError) -> Pin? {
    do { return try pin(random) } catch {
      guard error.errno == SystemErrno.readOnly || error.errno == SystemErrno.accessDenied else {
        throw error
      }
      return nil
    }
  }

  /// Takes a pin.
  func pin(_ random: UInt64) throws(StorageError) -> Pin {
    do { try makeFolder(FileName.pins) } catch {
      guard error.errno == SystemErrno.exists else { throw error }
    }
    var serial = random
    while true {
      let name = FileName.pin(FileName.pin(of: processIdentifier, serial: serial))
      do throws(StorageError) {
        let file = try openLocked(name, .createIfMissing, .shared)
        // Whoever compacts may have taken it for a stale one just before: then its name is gone, and it holds
        // nothing.
        if try names(in: FileName.pins).contains(where: { FileName.pin($0) == name }) {
          return Pin(storage: self, name: name, file: file)
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
