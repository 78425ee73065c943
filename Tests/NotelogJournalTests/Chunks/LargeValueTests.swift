// The extents of a large value say where each chunk is, however often chunks are moved.

@testable import NotelogFormat
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct LargeValueTests {
  private static let payload = 65_584
  private static let frame = 65_624

  private func chunk(_ segment: UInt32, _ index: Int, _ payload: Int = Self.payload) -> LargeValue.Chunk {
    LargeValue.Chunk(
      place: FrameAddress(segment: segment, offset: Layout.firstFrameOffset + index * Self.frame),
      payloadByteCount: payload)
  }

  @Test func `chunks that follow one another are one extent`() {
    var value = LargeValue()
    for number in 0..<1_000 {
      value.insert(ChunkMark(UInt32(number), isLast: false), chunk(1, number))
    }
    #expect(!value.isComplete)
    value.insert(ChunkMark(1_000, isLast: true), chunk(1, 1_000, 500))
    #expect(value.isComplete && value.extents.count == 2)
    #expect(value.chunk(999) == chunk(1, 999) && value.chunk(1_000) == chunk(1, 1_000, 500))
    #expect(value.chunk(1_001) == nil)
    // A copy of the same chunk elsewhere is not taken for it.
    let isTaken = value.insert(ChunkMark(5, isLast: false), chunk(2, 0))
    #expect(!isTaken)
    let byteCount = value.extents.reduce(0) { $0 + Int($1.count) * $1.chunk($1.first).liveByteCount }
    let entry = Layout.footerEntryByteCount + ChunkMark.byteCount
    #expect(byteCount == 1_000 * (Self.frame + entry) + 544 + entry)
  }

  @Test(arguments: 0..<50)
  func `extents agree with a dictionary`(seed: Int) {
    var random = SeededGenerator(mixing: UInt64(seed))
    var value = LargeValue()
    var model: [UInt32: LargeValue.Chunk] = [:]
    let count = 40
    var ends = [Int](repeating: 0, count: 4)
    for step in 0..<400 {
      let number = step < count ? UInt32(step) : UInt32(random.pick(0..<count))
      if model[number] != nil {
        value.remove(number)
        model[number] = nil
        if random.oneIn(8) { continue }
      }
      // Mostly one behind the other, as compaction writes them.
      let segment = random.oneIn(5) ? random.pick(1..<4) : 1 + step / 150
      let new = chunk(UInt32(segment), ends[segment])
      ends[segment] += 1
      let isNew = value.insert(ChunkMark(number, isLast: number == UInt32(count - 1)), new)
      #expect(isNew)
      model[number] = new
      for number in 0..<UInt32(count) { #expect(value.chunk(number) == model[number], "seed \(seed)") }
    }
    #expect(value.isComplete == (model.count == count))
    #expect(value.extents.reduce(0) { $0 + Int($1.count) } == model.count)
  }
}
