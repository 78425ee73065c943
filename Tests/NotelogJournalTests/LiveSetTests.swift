// The live set and its changes, however many segments they name and however many there are.

@testable import NotelogStorage
@testable import NotelogBase
@testable import NotelogFormat
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct `Live set` {
  private func entry(_ number: UInt32, checksum: UInt32 = 1) -> LiveEntry {
    LiveEntry(number: number, byteCount: 8192, salt: 1, footerChecksum: checksum)
  }

  /// Each segment that a change added was put into its place in an array, behind a search from the array's
  /// start: a live change of 64 MiB held its reader up for as good as ever. Found by reading what a fuzzed
  /// segment may hold.
  @Test(.timeLimit(.minutes(1))) func `a change of very many segments takes no longer than it is long`()
    throws
  {
    let count: UInt32 = 400_000
    let added = (1...count).reversed().map { entry($0, checksum: $0) }
    var buffer = Buffer()
    LiveChange(added: added, removed: [7]).append(to: &buffer)
    var live = LiveSet()
    let change = LiveChange(payload: buffer.bytes)
    live.apply(try #require(change))
    #expect(live.entries.map(\.number) == (1...count).filter { $0 != 7 })
  }

  /// What a live set becomes by the changes that a segment holds.
  private func apply(_ changes: [LiveChange], to live: LiveSet) throws -> LiveSet {
    let disk = SimulatedDisk()
    var builder = try SegmentBuilder(in: disk, number: 9, salt: 5)
    for change in changes {
      var payload = Buffer()
      change.append(to: &payload)
      try builder.append(
        FrameHeader(
          .liveChange, payloadByteCount: payload.count, sequence: 1,
          payloadChecksum: Checksum.of(payload.bytes)), payload.bytes)
    }
    let end = builder.end
    _ = try builder.publish { _ in
      SegmentHeader(
        .log, number: 9, storeID: key(99), branch: Branch(id: key(7), keepsTimes: false), salt: 5,
        firstSequence: 1, floor: .zero, live: live)
    }
    var walk = SegmentWalk(try disk.open(FileName.segment(9), .read), salt: SegmentSalt(5), end: end)
    var live = live
    try walk.applyLiveChanges(to: &live)
    return live
  }

  /// A log of 64 MiB has room for half a million changes, and each of them must not go through the whole set.
  @Test(.timeLimit(.minutes(1))) func `very many changes take no longer than they are long`() throws {
    let count: UInt32 = 50_000
    let changes = (1...count).reversed().map { LiveChange(added: [entry($0)], removed: []) }
    let before = (count + 1...16 * count).map { entry($0) }
    let live = try apply(changes, to: LiveSet(before))
    #expect(live.entries.map(\.number) == Array(1...16 * count))
  }

  @Test func `changes count in the order in which they were written`() throws {
    let before = LiveSet([entry(1), entry(2), entry(3), entry(4)])
    let after = try apply(
      [
        LiveChange(added: [entry(5), entry(6)], removed: [1, 2]),
        LiveChange(added: [entry(2, checksum: 7)], removed: [5]),
        LiveChange(added: [entry(3, checksum: 8)], removed: []),
        LiveChange(added: [entry(7)], removed: [7, 7, 99]),
        LiveChange(added: [entry(8), entry(8, checksum: 2), entry(9)], removed: []),
        LiveChange(added: [entry(9, checksum: 3)], removed: []),
      ], to: before)
    let expected = [
      entry(2, checksum: 7), entry(3, checksum: 8), entry(4), entry(6), entry(8, checksum: 2),
      entry(9, checksum: 3),
    ]
    #expect(after.entries == expected)
    #expect(after[5] == nil && after[2]?.footerChecksum == 7)
  }

  /// The bug: the reserved bytes of what a change adds were not looked at, those of a live set were.
  @Test func `a change whose reserved bytes are not zero is none`() {
    for change in [
      LiveChange(added: [], removed: []), LiveChange(added: [], removed: [1]),
      LiveChange(added: [entry(2), entry(1)], removed: [3, 3]),
    ] {
      var buffer = Buffer()
      change.append(to: &buffer)
      let bytes = buffer.bytes.array()
      #expect(bytes.withContiguous { LiveChange(payload: $0) == change })
      for place in bytes.indices {
        let isReserved = place >= 8 && place < 8 + 24 * change.added.count && (place - 8) % 24 >= 20
        guard isReserved else { continue }
        var forged = bytes
        forged[place] = 1
        #expect(forged.withContiguous { LiveChange(payload: $0) == nil })
      }
    }
  }

  @Test func `a segment may go and come again`() {
    var live = LiveSet([entry(1), entry(2)])
    live.remove(1)
    live.insert(entry(3))
    #expect(live[1] == nil && live[2] != nil && live[3] != nil && live[4] == nil)
    live.insert(entry(1, checksum: 5))
    live.remove(3)
    #expect(live[1]?.footerChecksum == 5 && live[3] == nil)
    #expect(live.entries == [entry(1, checksum: 5), entry(2)])
  }

  @Test func `of two entries of one segment the later one counts`() {
    var live = LiveSet()
    for checksum in UInt32(1)...2 { live.insert(entry(3, checksum: checksum)) }
    #expect(live.count == 1)
    #expect(live[3]?.footerChecksum == 2)
  }

  @Test func `segments stand in the order of their numbers, whenever they came`() {
    var live = LiveSet()
    for number in [5, 1, 9, 3, 7] as [UInt32] { live.insert(entry(number)) }
    live.remove(3)
    live.remove(4)
    #expect(live.entries.map(\.number) == [1, 5, 7, 9])
    #expect(live[3] == nil && live[9] != nil && live[10] == nil)
  }
}

@Suite struct `Numbers in ascending order` {
  private let numbers: [UInt32] = [2, 3, 5, 8, 13]

  @Test func `each is found, and nothing else, in whatever order they are asked for`() {
    for asked in [Array(0...15), (0...15).reversed(), [8, 8, 13, 14, 2, 5, 4, 13, 0, 2]] as [[UInt32]] {
      for number in asked {
        let expected = numbers.contains(number) ? number : nil
        #expect(numbers.find(number) { $0 } == expected)
      }
    }
    #expect([UInt32]().find(1) { $0 } == nil)
  }
}
