// What a follower is told of transactions that it can't come by any more: FORMAT.md §25, "Following".

import NotelogBase
import NotelogFormat
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct `Transactions whose segments are gone` {
  private static var leasing: JournalOptions {
    var options = JournalOptions.small
    options.isLeased = true
    return options
  }

  /// The bug: a compaction was killed that had removed all segments of the log behind the follower's, and the
  /// recovery of that left one without transactions. The follower passed it, and told nothing of the numbers
  /// in between.
  @Test
  func `a follower is told that it misses some, at whichever call of a compaction its process was killed`()
    throws
  {
    var (passing, isOver, passedCount) = (0, false, 0)
    while !isOver {
      let disk = SimulatedDisk()
      let follower = try Journal.create(in: disk, storeID: key(99), options: Self.leasing)
      for number in 0..<8 { try follower.put(key(number), [UInt8](repeating: 1, count: 1000), .durable) }
      try follower.suspend()
      let first = follower.lastSequence + 1
      let heard = Lock<[ClosedRange<UInt64>]>([])
      follower.log.watch.set { sequences, _ in heard.withLock { $0.append(sequences) } }
      var writer = try Journal.open(in: disk, options: .small)
      for _ in 8..<18 { try writer.put(key(14), [UInt8](repeating: 2, count: 1000), .durable) }
      let last = writer.lastSequence
      try writer.abandon()
      writer = try Journal.open(in: disk, options: .small)
      // A read that fails is no kill: compaction passes over what it can't read.
      disk.plan(
        Fault(
          .error(SystemErrno.inputOutput), of: .everyCall.subtracting([.read]), passing: passing, lasts: true)
      )
      isOver = (try? writer.compact()) != nil
      disk.forgetFaults()
      try writer.abandon()
      try Journal.open(in: disk, options: .small).abandon()
      let later = try FolderNames(disk).numbers.compactMap { number in
        try Survey.read(number, in: disk)?.header
      }.filter { $0.kind.isLog && $0.number > 1 }
      if later.count == 1, later[0].kind == .recovered, later[0].firstSequence > last { passedCount += 1 }
      try follower.refresh()
      let all = heard.withLock { $0 }
      for sequence in first...last {
        #expect(all.contains { $0.contains(sequence) }, "call \(passing): \(sequence) was not heard of")
      }
      #expect(
        zip(all, all.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }, "call \(passing): \(all)")
      try follower.close()
      passing += 1
    }
    #expect(passedCount > 0, "the log never ended in a segment without transactions")
  }
}
