// What a pile of segments says of each record: the newest version it ever names, and the newest that can be read.

import NotelogBase
import NotelogFormat

/// Every record's newest version, and where it can be copied from.
struct SalvageTable {
  /// A frame in one of the files.
  struct Place: Hashable, Comparable {
    var file: Int32
    var offset: UInt32

    static func < (left: Place, right: Place) -> Bool {
      (left.file, left.offset) < (right.file, right.offset)
    }
  }

  /// A version of a record.
  struct Version {
    var sequence: UInt64
    var isTombstone: Bool
    var place: Place
    var payloadByteCount: UInt32

    /// Whether it takes the place of another version: by its transaction, or by its place in the same file.
    func isNewer(than other: Version?) -> Bool {
      guard let other, sequence <= other.sequence else { return true }
      return sequence == other.sequence && place.file == other.place.file && place.offset > other.place.offset
    }
  }

  /// A chunk of a large value.
  struct ChunkKey: Hashable {
    var value: ID16
    var number: UInt32
  }

  struct Entry {
    /// The newest version that files which count have, sound or not.
    var newest: Version?
    /// The newest version with a sound frame.
    var sound: Version?
  }

  private(set) var records: [ID16: Entry] = [:]
  private(set) var chunks: [ChunkKey: Place] = [:]
  /// Chunks that end their value.
  private(set) var lastChunks: [ID16: UInt32] = [:]

  /// Adds a version whose frame is sound.
  ///
  /// A frame of a file that was replaced only stands in for one that a file which counts names: it may hold what was
  /// deleted since.
  mutating func add(_ id: ID16, _ version: Version, isReplaced: Bool) {
    var entry = records[id] ?? Entry()
    if isReplaced, let newest = entry.newest, version.sequence > newest.sequence { return }
    if !isReplaced { Self.raise(&entry, to: version) }
    if version.isNewer(than: entry.sound) { entry.sound = version }
    records[id] = entry
  }

  /// Adds a version that a file which counts names, whether its frame can be read or not.
  mutating func know(_ id: ID16, _ version: Version) {
    var entry = records[id] ?? Entry()
    Self.raise(&entry, to: version)
    records[id] = entry
  }

  mutating func add(chunk: UInt32, isLast: Bool, of value: ID16, at place: Place) {
    let key = ChunkKey(value: value, number: chunk)
    if chunks[key] == nil { chunks[key] = place }
    if isLast { lastChunks[value] = chunk }
  }

  /// Forgets all but the chunks: what is left to know once it is chosen what is saved.
  mutating func forgetRecords() { records = [:] }

  private static func raise(_ entry: inout Entry, to version: Version) {
    if version.isNewer(than: entry.newest) { entry.newest = version }
  }
}
