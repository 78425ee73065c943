// A store that was shipped and went on, and every way in which one of its files can be damaged.

import NotelogBase
@testable import NotelogFormat
@testable import Notelog
import NotelogTestSupport

/// One way of damaging a file.
enum FileDamage: CustomStringConvertible, CaseIterable {
  case missing, empty, half, block, bit

  /// The bytes that are lost at a place, and those of which some are.
  func range(at place: Int, of byteCount: Int) -> Range<Int> {
    switch self {
    case .missing, .empty, .half: place..<byteCount
    case .block, .bit: place..<min(place + 512, byteCount)
    }
  }

  /// What becomes of a file, and from where on: once, or once for each block of 512 bytes.
  func images(of bytes: [UInt8]) -> [(place: Int, bytes: [UInt8]?)] {
    switch self {
    case .missing: return [(0, nil)]
    case .empty: return [(0, [])]
    case .half: return [(bytes.count / 2, Array(bytes.prefix(bytes.count / 2)))]
    case .block, .bit:
      return stride(from: 0, to: bytes.count, by: 512).compactMap { start in
        var damaged = bytes
        let end = min(start + 512, bytes.count)
        if self == .bit {
          // Another byte of each block.
          damaged[start + (start / 512 * 37) % (end - start)] ^= 4
        } else {
          guard !bytes[start..<end].allSatisfy({ $0 == 0 }) else { return nil }
          damaged.replaceSubrange(start..<end, with: repeatElement(0, count: end - start))
        }
        return (start, damaged)
      }
    }
  }

  var description: String {
    switch self {
    case .missing: "missing"
    case .empty: "empty"
    case .half: "cut in half"
    case .block: "a block zeroed"
    case .bit: "a bit flipped"
    }
  }
}

/// A store of several segments, its archive, and what it is like after it went on.
struct ShippedSample {
  /// What the archive holds.
  private(set) var held: [Int: [UInt8]] = [:]
  /// What the store holds now.
  private(set) var current: [Int: [UInt8]] = [:]
  let archive = SimulatedDisk()
  let disk: SimulatedDisk
  /// The store as it was shipped.
  let older: SimulatedDisk
  /// The last transaction in it now.
  let revision: UInt64

  // A process that was killed leaves a store that was not closed in order.
  init(isClosed: Bool) throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for version in 0..<2 {
      for number in 0..<60 where version == 0 || number % 3 == 0 {
        held[number] = Self.body(number, version)
        try journal.put(key(number), Self.body(number, version))
      }
    }
    _ = try journal.compact()
    for number in 60..<75 {
      held[number] = Self.body(number, 0)
      try journal.put(key(number), Self.body(number, 0))
    }
    try backUp(disk, to: archive)
    older = disk.copy()
    current = held
    for number in 70..<110 {
      current[number] = Self.body(number, 2)
      try journal.put(key(number), Self.body(number, 2))
    }
    try journal.synchronize()
    revision = journal.lastSequence
    if isClosed { try journal.close() }
    self.disk = disk.copy()
  }

  /// The records of which a part of an archive has a frame in some bytes.
  static func records(in bytes: [UInt8], _ range: Range<Int>) -> Set<Int> {
    // The commit mark behind a frame belongs to it.
    let frames = FrameMap.frames(in: bytes, of: "").filter {
      $0.kind == MappedFrame.record && ($0.range.lowerBound..<$0.range.upperBound + 56).overlaps(range)
    }
    return Set(frames.map { Int($0.key.low) })
  }

  /// The records of which the newest version is in some bytes of a segment of the store.
  func newestRecords(in name: String, _ range: Range<Int>) -> Set<Int> {
    let hit = FrameMap(disk).versions().filter { _, frames in
      frames.first.map { $0.segment == name && $0.range.overlaps(range) } ?? false
    }
    return Set(hit.keys.map { Int($0.low) })
  }

  static func body(_ number: Int, _ version: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number &* 5 &+ version &* 7 &+ 1), count: 150 + number)
  }

  /// Everything that a store serves, also one that can't name what it lost.
  static func contents(_ disk: SimulatedDisk) throws -> [Int: [UInt8]] {
    var options = JournalOptions.small
    options.acceptsUnprovenDamage = true
    let journal = try Journal.open(in: disk, options: options)
    var contents: [Int: [UInt8]] = [:]
    for id in try journal.records() {
      do { contents[Int(id.low)] = try journal.body(of: id) } catch let error as NotelogError
        where error.code == .damaged
      {
        continue
      }
    }
    try journal.close()
    return contents
  }
}
