// Moments that a sample of crashes seldom meets: the order of syncs in a switch and in a recovery's end.

import NotelogFormat
import NotelogStorage
import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct `Crashes and the order of syncs` {
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

  /// A checkpoint is disposable, and yet what was written is there: opening a large store stays fast after a
  /// crash.
  @Test func `a checkpoint survives a crash after it was written`() throws {
    let disk = SimulatedDisk()
    let journal = try ScriptedStore.create(on: disk, seed: 1)
    for number in 0..<20 { try journal.put(key(number), [7], .durable) }
    try journal.checkpoint()
    let crashed = try ScriptedStore.open(disk.crashImageNow(.allLost), seed: 2)
    #expect(crashed.report.checkpoint == .used)
  }

  /// A new store's folder is made before anything is promised in it, so nothing else would sync its name.
  @Test func `a new folder survives a crash at once`() throws {
    let disk = SimulatedDisk()
    try disk.makeFolder("notes.notelog")
    try disk.makeNamesDurable()
    #expect(try disk.crashImageNow(.allLost).names(in: "") == ["notes.notelog"])
  }

  /// A process was killed after it had created a segment: what is read of it may be in memory only. The next
  /// process must not write a transaction into it before its start and its name are durable, or the log would
  /// go on in a segment of which no witness speaks.
  @Test func `an empty head that was found is durable before anything is written into it`() throws {
    let disk = SimulatedDisk()
    _ = try ScriptedStore.create(on: disk, seed: 1)
    let killed = disk.crashImageNow(.processKilled)
    let name = FileName.segment(1)
    let calls = Lock<[String]>([])
    let journal = try ScriptedStore.open(killed, seed: 2)
    killed.afterEachCall { call, file in
      if file == name || call == .syncFolder { calls.withLock { $0.append("\(call.rawValue)") } }
    }
    try journal.put(key(1), [1], .buffered)
    killed.afterEachCall(nil)
    let changing = calls.withLock { $0 }.filter { ["write", "sync", "syncFolder"].contains($0) }
    #expect(changing == ["write", "sync", "syncFolder", "write"])
  }

  /// What is written while a sync is under way is not covered by it: the floor is where the sync began.
  @Test func `the floor is where the last sync began`() throws {
    let disk = SimulatedDisk()
    let journal = try ScriptedStore.create(on: disk, seed: 1)
    try journal.put(key(0), [0], .durable)
    let isOver = Flag(false)
    disk.afterEachCall { call, _ in
      guard call == .sync, !isOver.exchange(true) else { return }
      try? Threads.run(1) { _ in try journal.put(key(2), [2], .flushed) }
    }
    try journal.put(key(1), [1], .durable)
    disk.afterEachCall(nil)
    let duringSync = try #require(FrameMap(disk).frames.first { $0.key == key(2) }?.range.lowerBound)
    try journal.put(key(3), [3], .flushed)
    let mark = try #require(FrameMap(disk).frames.last { $0.kind == MappedFrame.commit }?.range.lowerBound)
    let bytes = try #require(disk.contents(FileName.segment(1)))
    let floor = (0..<4).reduce(0) { $0 | Int(bytes[mark + 40 + 12 + $1]) << (8 * $1) }
    #expect(floor == duringSync)
  }

  /// After a write or a sync that failed, what the medium holds is not known.
  @Test(arguments: [StorageError.Call.write, .sync])
  func `a failed call closes the log for writing`(call: StorageError.Call) throws {
    let disk = SimulatedDisk()
    let journal = try ScriptedStore.create(on: disk, seed: 1)
    try journal.put(key(0), [0], .durable)
    disk.plan(Fault(.error(5), of: [call], passing: 0))
    #expect(throws: NotelogError.self) { try journal.put(key(1), [1], .durable) }
    for durability in Durability.allCases {
      #expect(throws: NotelogError(.poisoned, "")) { try journal.put(key(2), [2], durability) }
    }
    #expect(try journal.body(of: key(0)) == [0])
  }
}
