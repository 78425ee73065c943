// What a pile of segments says of each record: the newest version it ever names, and the newest that can be
// read.

import NotelogBase
import NotelogFormat

/// Every record's newest version, and where it can be copied from.
struct SalvageTable {
  /// A frame in one of the files: as its segment, it has the file's place in the pile.
  typealias Place = FrameAddress

  /// A version of a record.
  struct Version {
    let sequence: UInt64
    let place: Place
    let payloadByteCount: UInt32
    /// Whether its frame can be read.
    let isSound: Bool

    init(_ entry: FooterEntry, in file: Int, isSound: Bool) {
      sequence = entry.sequence
      place = Location(entry, segment: UInt32(file)).place
      payloadByteCount = UInt32(entry.payloadByteCount)
      self.isSound = isSound
    }

    /// Whether it takes the place of another version: by its transaction, or by its place in the same file.
    func isNewer(than other: Version?) -> Bool {
      guard let other, sequence <= other.sequence else { return true }
      return sequence == other.sequence && place.segment == other.place.segment
        && place.offset > other.place.offset
    }
  }

  /// The newest version that files which count have, of each record; and the newest with a sound frame, where
  /// it is another.
  private var newest: [ID16: Version] = [:]
  private var sound: [ID16: Version] = [:]
  /// The chunks of large values, by value and number.
  private(set) var chunks: [ID16: [UInt32: Place]] = [:]
  /// Chunks that end their value.
  private(set) var lastChunks: [ID16: UInt32] = [:]

  /// Adds a version that a file names.
  ///
  /// A frame of a file that was replaced only stands in, where it is sound, for one that a file which counts
  /// names: it may hold what was deleted since. Where none names the record, it is kept as an older version.
  mutating func add(_ id: ID16, _ version: Version, isReplaced: Bool) {
    let entry = entry(id)
    if isReplaced, let newest = entry.newest, version.sequence > newest.sequence { return }
    if !isReplaced, version.isNewer(than: entry.newest) {
      newest[id] = version
      sound[id] = version.isSound ? nil : entry.sound
    } else if version.isSound, version.isNewer(than: entry.sound) {
      sound[id] = version
    }
  }

  /// The records that anything is known of.
  var ids: [ID16] { newest.keys + sound.keys.filter { newest[$0] == nil } }

  /// The newest version that files which count have, sound or not; and the newest with a sound frame.
  func entry(_ id: ID16) -> (newest: Version?, sound: Version?) {
    let known = newest[id]
    return (known, known?.isSound == true ? known : sound[id])
  }

  mutating func add(chunk: UInt32, isLast: Bool, of value: ID16, at place: Place) {
    if chunks[value]?[chunk] == nil { chunks[value, default: [:]][chunk] = place }
    if isLast { lastChunks[value] = chunk }
  }

  /// Forgets all but the chunks: what is left to know once it is chosen what is saved.
  mutating func forgetRecords() { (newest, sound) = ([:], [:]) }
}

// MARK: - What a checkpoint says of the frames that a pile has lost: docs/maintenance.md, "Salvage".

/// The entries of a sound checkpoint whose frames are lost, and all others that have their fingerprints.
struct SalvageWitness {
  private let head: CheckpointHead
  /// Where the newest frames are lost that it knew, by their fingerprints.
  private var lost: [UInt64: FrameAddress] = [:]
  /// How many of them are of records, not of deletions.
  private(set) var lostRecordCount = 0

  /// Reads a pile's checkpoint; nothing where it can't be read, does not check, or is not of these segments.
  init?(of pile: SalvagePile, _ places: [UInt32?: [Range<Int>]]) {
    guard let found = pile.witnesses.checkpoint.found else { return nil }
    head = found.head
    guard head.storeID == pile.storeID, pile.isKnown(to: head) else { return nil }
    var lost: [UInt64: FrameAddress] = [:]
    var count = 0
    let isSound = try? found.forEachEntry { entry in
      guard let ranges = places[entry.place.segment],
        ranges.contains(where: { $0.contains(entry.place.offset) })
      else { return }
      lost[entry.fingerprint] = entry.place
      if !entry.place.isTombstone { count += 1 }
    }
    guard isSound == true else { return nil }
    (self.lost, lostRecordCount) = (lost, count)
  }

  /// Whether it knew all that was in the lost places: those of a file that nobody knows the number of it
  /// can't have known.
  func covers(_ places: [UInt32?: [Range<Int>]]) -> Bool {
    places.keys.allSatisfy { number in number.map { head.covers(head.figures(of: $0)) } ?? false }
  }

  /// Where the newest frame of a record is lost, if a version of it is older than the checkpoint.
  func lostPlace(of id: ID16, olderThan version: SalvageTable.Version) -> FrameAddress? {
    guard version.sequence < head.nextSequence else { return nil }
    return lost[head.key.fingerprint(of: id)]
  }
}
