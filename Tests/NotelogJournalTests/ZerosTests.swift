// Zeros ahead of durable commits: they are there when a commit comes, and in nobody's way.

@testable import Notelog
@testable import NotelogStorage
import NotelogBase
@testable import NotelogTestSupport
import Testing

@Suite struct ZerosTests {
  private static let segment = "000000000001.journal"

  private struct Write {
    let range: Range<Int>
    let isZeros: Bool
  }

  /// Commits records, and says what was written to their segment.
  private func writes(of commits: Int, _ durability: (Int) -> Durability) throws -> [Write] {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: JournalOptions())
    let writes = Lock<[Write]>([])
    disk.afterEachCall { call, name in
      guard call == .write, name == Self.segment else { return }
      let state = disk.state
      guard let node = state.cachedEntries[name],
        case .write(let offset, let bytes) = state.nodes[node].pending.last
      else { return }
      let write = Write(range: offset..<offset + bytes.count, isZeros: bytes.allSatisfy { $0 == 0 })
      writes.withLock { $0.append(write) }
    }
    for number in 0..<commits {
      try journal.put(key(number), [UInt8](repeating: 7, count: 600), durability(number))
    }
    disk.afterEachCall(nil)
    for number in 0..<commits {
      #expect(try journal.body(of: key(number)) == [UInt8](repeating: 7, count: 600))
    }
    try journal.close()
    #expect(try Journal.verify(disk).report.damages == [])
    return writes.withLock { $0 }
  }

  @Test func `durable commits go where zeros were written before`() throws {
    let writes = try writes(of: 800) { _ in .durable }
    var (zerosEnd, dataEnd, prepared) = (0, 0, 0)
    for write in writes {
      if write.isZeros {
        // Behind everything that has a place, and on where the last ones ended.
        #expect(write.range.lowerBound >= max(dataEnd, zerosEnd))
        zerosEnd = write.range.upperBound
      } else {
        if write.range.upperBound <= zerosEnd { prepared += 1 }
        dataEnd = write.range.upperBound
      }
    }
    #expect(prepared > 780)
    // They come in ever larger pieces: few of them.
    #expect((2..<24).contains(writes.count { $0.isZeros }))
  }

  @Test func `who commits once, or need not sync, writes next to none`() throws {
    let once = try writes(of: 1) { _ in .durable }.filter(\.isZeros)
    #expect(once.map(\.range.count).reduce(0, +) <= 4096)
    #expect(try writes(of: 800) { _ in .flushed }.filter(\.isZeros).isEmpty)
  }

  @Test func `where others went by, few zeros are written`() throws {
    let writes = try writes(of: 800) { $0 % 40 == 39 ? .durable : .flushed }
    let zeros = writes.filter(\.isZeros)
    #expect(zeros.count > 10 && zeros.allSatisfy { $0.range.count <= 4096 })
  }

  @Test func `zeros that can't be written are no commit's failure`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: JournalOptions())
    try journal.put(key(0), [0], .flushed)
    // The next write is that of zeros.
    disk.plan(Fault(.error(SystemErrno.inputOutput), of: [.write], passing: 0))
    try journal.put(key(1), [1], .durable)
    #expect(disk.firedFaults.count == 1)
    try journal.put(key(2), [2], .durable)
    let found = try Journal.open(in: disk.crashImageNow(.allLost), options: JournalOptions())
    for number in 0..<3 { #expect(try found.body(of: key(number)) == [UInt8(number)]) }
  }
}
