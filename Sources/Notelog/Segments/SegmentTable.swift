// The segments of an open store, by number.

import NotelogBase
import Synchronization

/// The segments that reads and compaction find frames in.
final class SegmentTable: Sendable {
  /// Segments in ascending order of number.
  private struct Row: Sendable {
    var numbers: [UInt32] = []
    var segments: [Segment] = []

    /// The first place whose number is not less.
    func place(of number: UInt32) -> Int { numbers.firstPlace(notBelow: number) { $0 } }

    func find(_ number: UInt32) -> Segment? {
      let place = place(of: number)
      return place < numbers.count && numbers[place] == number ? segments[place] : nil
    }
  }

  private let row: ReadMostly<Row>
  private let liveByteTotal: Atomic<Int>
  private let diedByteTotal = Atomic<Int>(0)
  private let finishedByteTotal: Atomic<Int>

  /// A table of some segments.
  init(_ segments: [Segment] = []) {
    let segments = segments.sorted { $0.number < $1.number }
    row = ReadMostly(
      Row(numbers: segments.map(\.number), segments: segments))
    liveByteTotal = Atomic(segments.reduce(0) { $0 + $1.liveBytes })
    finishedByteTotal = Atomic(segments.reduce(0) { $0 + $1.byteCount })
  }

  /// The bytes of all live frames, with their footer entries.
  var liveByteCount: Int { liveByteTotal.load(ordering: .relaxed) }
  /// How many bytes have died since the table was made: it only grows.
  var diedByteCount: Int { diedByteTotal.load(ordering: .relaxed) }
  /// The bytes of all finished segments' files.
  var finishedByteCount: Int { finishedByteTotal.load(ordering: .relaxed) }

  /// Counts bytes of a segment's chunks that became live, or died.
  func addChunks(_ byteCount: Int, in number: UInt32) {
    self[number]?.addChunks(byteCount)
    count(byteCount)
  }

  /// Counts bytes of a segment that became live, or died.
  func addLive(_ byteCount: Int, in segment: Segment?) {
    segment?.addLive(byteCount)
    count(byteCount)
  }

  /// Counts bytes that became live in a segment in the place of others that died: in one step, as writers that look whether
  /// there is room must not see both.
  func replaceLive(_ oldByteCount: Int, in old: Segment?, with newByteCount: Int, in segment: Segment) {
    segment.addLive(newByteCount)
    old?.addLive(-oldByteCount)
    liveByteTotal.add(newByteCount - oldByteCount, ordering: .relaxed)
    diedByteTotal.add(oldByteCount, ordering: .relaxed)
  }

  private func count(_ byteCount: Int) {
    liveByteTotal.add(byteCount, ordering: .relaxed)
    if byteCount < 0 { diedByteTotal.add(-byteCount, ordering: .relaxed) }
  }

  subscript(number: UInt32) -> Segment? { row.read { $0.find(number) } }

  var count: Int { row.read { $0.numbers.count } }

  var all: [Segment] { row.read { $0.segments } }

  func insert(_ segment: Segment) {
    let replacedByteCount = row.change { row in
      let place = row.place(of: segment.number)
      if place < row.numbers.count, row.numbers[place] == segment.number {
        let replaced = row.segments[place]
        row.segments[place] = segment
        return replaced.byteCount
      }
      row.numbers.insert(segment.number, at: place)
      row.segments.insert(segment, at: place)
      return 0
    }
    finishedByteTotal.add(segment.byteCount - replacedByteCount, ordering: .relaxed)
  }

  @discardableResult
  func remove(_ number: UInt32) -> Segment? {
    row.change { row -> Segment? in
      guard let segment = row.find(number) else { return nil }
      let place = row.place(of: number)
      row.numbers.remove(at: place)
      row.segments.remove(at: place)
      return segment
    }
  }

  /// Counts bytes of segments that were removed no longer: only once their files are gone may writers take the room.
  func noteDeleted(_ byteCount: Int) { finishedByteTotal.subtract(byteCount, ordering: .relaxed) }
}
