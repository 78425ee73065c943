// What a checkpoint says of the frames that a pile has lost: docs/maintenance.md, "Salvage".

import NotelogBase
import NotelogFormat
import NotelogStorage

/// The places of a pile in which frames were that can't be read.
struct LostPlaces {
  /// Segments of which there is no file.
  private var segments: Set<UInt32> = []
  private var ranges: [UInt32: [Range<Int>]] = [:]
  /// Whether there are lost places in a file that nobody knows the number of.
  private(set) var isAnyUnnumbered = false

  /// Whether nothing is lost.
  var isEmpty: Bool { segments.isEmpty && ranges.isEmpty && !isAnyUnnumbered }
  /// The segments in which something is lost.
  var numbers: Set<UInt32> { segments.union(ranges.keys) }

  mutating func add(segment number: UInt32) { segments.insert(number) }

  mutating func add(_ range: Range<Int>, in number: UInt32?) {
    guard let number else { return isAnyUnnumbered = true }
    ranges[number, default: []].append(range)
  }

  func contains(_ place: FrameAddress) -> Bool {
    segments.contains(place.segment)
      || ranges[place.segment]?.contains { $0.contains(place.offset) } ?? false
  }
}

/// The entries of a sound checkpoint whose frames are lost, and all others that have their fingerprints.
struct SalvageWitness {
  private let head: CheckpointHead
  /// Where the newest frames are lost that it knew, by their fingerprints.
  private var lost: [UInt64: FrameAddress] = [:]
  /// How many of them are of records, not of deletions.
  private(set) var lostRecordCount = 0

  /// Reads a folder's checkpoint; nothing where it does not check, or is not of these segments.
  init?(in storage: any Storage, of pile: SalvagePile, _ places: LostPlaces) throws(StorageError) {
    guard let found = CheckpointFile.find(in: storage).found else { return nil }
    defer { found.file.close() }
    head = found.head
    guard head.storeID == pile.storeID, pile.isKnown(to: head) else { return nil }
    var lost: [UInt64: FrameAddress] = [:]
    var count = 0
    let isSound = try found.forEachEntry { entry in
      guard places.contains(entry.place) else { return }
      lost[entry.fingerprint] = entry.place
      if !entry.place.isTombstone { count += 1 }
    }
    guard isSound else { return nil }
    (self.lost, lostRecordCount) = (lost, count)
  }

  /// Whether it knew all that was in the lost places.
  func covers(_ places: LostPlaces) -> Bool {
    !places.isAnyUnnumbered && places.numbers.allSatisfy { head.covers(head.figures(of: $0)) }
  }

  /// Where the newest frame of a record is lost, if a version of it is older than the checkpoint.
  func lostPlace(of id: ID16, olderThan version: SalvageTable.Version) -> FrameAddress? {
    guard version.sequence < head.nextSequence else { return nil }
    return lost[head.key.fingerprint(of: id)]
  }
}
