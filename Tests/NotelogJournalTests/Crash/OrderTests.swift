// Moments that a sample of crashes seldom meets: the order of syncs in a switch and in a recovery's end.

import NotelogConcurrency
import NotelogJournal
import NotelogTestSupport
import Testing

@Suite struct `The order of syncs` {
  /// A commit that waited for durability while another switched segments synced the new head, and not the old
  /// one, which held what it waited for: between the new head's creation and the old one's footer nobody
  /// listed it.
  @Test func `a commit that waits during a switch waits for the old head`() throws {
    let disk = SimulatedDisk()
    let journal = try ScriptedStore.create(on: disk, seed: 1)
    let crashed = Lock<SimulatedDisk?>(nil)
    disk.afterEachCall { call, name in
      guard call == .truncate, name == "000000000001.journal", crashed.withLock({ $0 == nil }) else { return }
      crashed.withLock { $0 = disk }
      try? journal.synchronize()
      crashed.withLock { $0 = disk.crashImageNow(.allLost) }
    }
    for number in 0..<40 { try journal.put(key(number), [UInt8](repeating: 1, count: 600)) }
    disk.afterEachCall(nil)
    let image = try #require(crashed.withLock { $0 })
    let found = try ScriptedStore.open(image, seed: 1)
    // All that was visible when the switch began is what was waited for.
    let finished = FrameMap(disk).frames.filter {
      $0.segment == "000000000001.journal" && $0.kind == MappedFrame.record
    }
    #expect(finished.count > 10)
    #expect(try found.records() == finished.map(\.key).sorted())
  }

  /// A process was killed between the recovered segment's renaming and the folder's sync; the next one
  /// deleted the sources, and the power went: the deletion had reached the medium and the name of what
  /// replaced them had not.
  @Test func `a source goes only once the name of what replaces it is durable`() throws {
    let disk = SimulatedDisk()
    let journal = try ScriptedStore.create(on: disk, seed: 1)
    for number in 0..<3 { try journal.put(key(number), [UInt8](repeating: 7, count: 40), .durable) }
    let first = disk.crashImageNow(.processKilled)
    _ = try ScriptedStore.open(first, seed: 2)
    var caseCount = 0
    for call in first.crashPoints {
      let second = first.crashImage(after: call, .processKilled)
      _ = try ScriptedStore.open(second, seed: 3)
      for later in second.crashPoints {
        for loss in [LossModel.entriesSubset, .entriesLost, .subsetKept] {
          for seed in UInt64(0)..<8 {
            let third = second.crashImage(after: later, loss, seed: seed)
            let found = try? ScriptedStore.open(third, seed: 4).records()
            #expect(
              found == [key(0), key(1), key(2)],
              "killed after \(call), \(loss) after \(later), \(seed)")
            caseCount += 1
          }
        }
      }
    }
    #expect(caseCount > 200)
  }
}
