// Where frames stand in a sound segment, read by the format page alone: FORMAT.md §4 and §5.

import NotelogBase
import NotelogFormat
@testable import Notelog
import NotelogTestSupport

/// A frame's place and what its header says, taken from the bytes without any of the engine's code.
struct MappedFrame: Equatable, Sendable {
  let segment: String
  let kind: UInt8
  let sequence: UInt64
  let key: ID16
  /// Header, payload and padding.
  let range: Range<Int>
  /// The large values that a record's envelope names.
  var values: [ID16] = []
  /// Header without payload.
  var headerRange: Range<Int> { range.lowerBound..<range.lowerBound + 40 }

  static let record: UInt8 = 1
  static let tombstone: UInt8 = 2
  static let chunk: UInt8 = 3
  static let liveChange: UInt8 = 4
  static let commit: UInt8 = 5
}

/// All frames of a store's sound segments.
struct FrameMap: Sendable {
  let frames: [MappedFrame]

  init(_ disk: SimulatedDisk) {
    frames = disk.fileNames.filter { $0.hasSuffix(".journal") }.flatMap {
      Self.frames(in: disk.contents($0) ?? [], of: $0)
    }
  }

  /// The frames in a sound segment's bytes.
  static func frames(in bytes: [UInt8], of name: String) -> [MappedFrame] {
    var frames: [MappedFrame] = []
    var place = 4_608
    while place + 40 <= bytes.count, bytes[place] != 0, bytes[place] <= 8 {
      let payload = Int(Self.integer(bytes, place + 4, 4))
      let end = place + 40 + (payload + 7) / 8 * 8
      guard end <= bytes.count else { break }
      var frame = MappedFrame(
        segment: name, kind: bytes[place], sequence: Self.integer(bytes, place + 8, 8),
        key: Self.key(bytes, place + 16), range: place..<end)
      if frame.kind == MappedFrame.record, bytes[place + 1] & 1 != 0 {
        let count = Int(Self.integer(bytes, place + 42, 2))
        frame.values = (0..<count).map { Self.key(bytes, place + 44 + 16 * $0) }
      }
      frames.append(frame)
      place = end
    }
    return frames
  }

  /// For each record the frames that name it, newest first.
  func versions() -> [ID16: [MappedFrame]] {
    let named = frames.filter { $0.kind == MappedFrame.record || $0.kind == MappedFrame.tombstone }
    return Dictionary(grouping: named, by: \.key).mapValues { $0.sorted { $0.sequence > $1.sequence } }
  }

  /// The frames of the chunks that a record's frame refers to.
  func chunks(of frame: MappedFrame) -> [MappedFrame] {
    frames.filter { $0.kind == MappedFrame.chunk && frame.values.contains($0.key) }
  }

  private static func key(_ bytes: [UInt8], _ offset: Int) -> ID16 {
    ID16(low: integer(bytes, offset, 8), high: integer(bytes, offset + 8, 8))
  }

  private static func integer(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> UInt64 {
    (0..<count).reduce(0) { $0 | UInt64(bytes[offset + $1]) << (8 * UInt64($1)) }
  }
}
