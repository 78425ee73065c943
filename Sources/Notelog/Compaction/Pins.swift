// Pins, by which another process keeps segments from being unlinked: FORMAT.md §25, "Pins".

import NotelogFormat
import NotelogStorage
import NotelogBase

/// What a pin keeps that is held. A shipper's says what is shipped already; any other one keeps everything.
struct PinHold {
  /// What was replaced up to that revision may go.
  var revision: UInt64 = 0
  /// The keyring of that generation is shipped: keys that it has may go.
  var keyringGeneration: UInt64 = 0
  /// Where what was replaced takes more bytes, all of it may go.
  var byteCountMax = UInt64.max

  fileprivate static let byteCount = 32

  /// Who has the lock may be writing it. What does not check keeps everything.
  fileprivate mutating func read(_ bytes: [UInt8]) {
    guard bytes.count >= Self.byteCount else { return }
    let words = (0..<4).map { bytes.rawSpan.load(UInt64.self, at: 8 * $0) }
    guard words[3] == ~(words[0] &+ words[1]) else { return }
    (revision, keyringGeneration, byteCountMax) = (words[0], words[1], words[2])
  }

  /// Whether it keeps a segment that was replaced at a revision, where all that were take so many bytes.
  func keeps(_ revision: UInt64, of byteCount: Int) -> Bool {
    self.revision < revision && byteCount <= byteCountMax
  }
}

/// The folder `pins/`: a file in it with a shared lock on it holds every segment that is replaced meanwhile, but for
/// those that it lets go.
extension Storage {
  /// What the pins keep that somebody holds. Those that nobody holds, of processes that ended without a word, are
  /// removed. What can't be asked is taken as held.
  func heldPins() -> [PinHold] {
    do throws(StorageError) {
      // Others in the folder are none of ours, and stay as they are.
      return try names(in: FileName.pins).filter { FileName.isPin($0) && isHeld(FileName.pin($0)) }.map {
        name in
        var hold = PinHold()
        hold.read((try? readWhole(FileName.pin(name), upTo: PinHold.byteCount)) ?? [])
        return hold
      }
    } catch { return error.isMissing ? [] : [PinHold()] }
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

  /// Takes a pin where the folder can be written to. Where it can't, on a medium that is full or read-only for
  /// instance, there is none to be had; if somebody else removes a segment all the same, reading it fails.
  func pinIfWritable(_ random: UInt64) throws(StorageError) -> Pin? {
    do { return try pin(random) } catch {
      let isDenied = error.errno == SystemErrno.readOnly || error.errno == SystemErrno.accessDenied
      guard isDenied || error.isNoSpace else { throw error }
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

/// A pin that is held. While it is, no segment is unlinked, but for those that it lets go.
struct Pin: ~Copyable, Sendable {
  let storage: any Storage
  let name: String
  let file: any StorageFile

  /// Says what it keeps. It need not be durable: it says nothing when nobody holds it.
  func keep(_ hold: PinHold) throws(StorageError) {
    let (revision, generation) = (hold.revision, hold.keyringGeneration)
    var buffer = Buffer()
    buffer.append(revision, generation, hold.byteCountMax, ~(revision &+ generation))
    try file.writeAll(buffer.bytes, at: 0)
  }

  deinit {
    try? storage.unlink(name)
    file.close()
  }
}
