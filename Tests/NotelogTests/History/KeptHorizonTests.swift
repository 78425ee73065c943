// Kept versions where the horizon moves on during a compaction, and where the disk is full: FORMAT.md §24.

import NotelogBase
import NotelogFormat
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct KeptHorizonTests {
  /// What another process has purged is said by the segments that it left, which may be the sources.
  @Test func `a copy names the highest horizon that its sources or its writer know`() throws {
    let keeping = KeepingStore()
    _ = try keeping.fill()
    let store = try keeping.open()
    try store.purge()
    let purged = try #require(keeping.compacted.map(\.header.firstSequence).max())
    try #require(purged > 25)
    let journal = store.journal
    // One that looked before somebody else purged, and one that has looked since.
    for known in [0, purged + 1] {
      for count in 0..<2 { try store.putAll([KeepingStore.sheet(2, count)]) }
      journal.compactor.enter()
      defer { journal.compactor.leave() }
      try journal.finishHeadWithDeadBytes(.purge)
      journal.catalog.kept.move(to: known, [:], at: keeping.clock.now)
      var run = CompactionRun(share: .onDemand, budget: .unlimited)
      while try journal.step(&run) {}
      #expect(run.result.addedSegments == 1)
      #expect(keeping.compacted.map(\.header.firstSequence) == [max(purged, known)], "\(known)")
    }
    try store.close()
  }

  /// The version that it deletes may be in the output by then, as it was young when it was copied.
  @Test func `a compaction that goes on later drops no deletion that was young when it began`() throws {
    let keeping = KeepingStore()
    var store = try keeping.open(isNew: true)
    let other = Leaflet(scan: Array(repeating: 1, count: 60_000))
    try store.putAll([other])
    try store.write { tx in _ = try tx.delete(Leaflet.self, other.id) }
    keeping.clock.advance(seconds: 200)
    for index in 0..<5 { try store.putAll([KeepingStore.sheet(index, index)]) }
    let id = KeepingStore.ids[0]
    try store.write { tx in _ = try tx.delete(Leaflet.self, id) }
    // The version is copied, the deletion is not.
    #expect(try store.compact(.bytes(2_000)).isUnfinished)
    keeping.clock.advance(seconds: 200)
    #expect(try !store.compact().isUnfinished)
    try store.close()
    keeping.disk.replace(FileName.index, with: nil)
    store = try keeping.open()
    #expect(try store.get(Leaflet.self, id) == nil)
    #expect(try store.query(Leaflet.self).count() == 4)
    try store.close()
  }

  @Test(arguments: [(seconds: 2, milliseconds: 5_000), (1_600, 100_000)])
  func `the horizon is looked for after a sixteenth of the time, and not at each commit`(
    _ due: (seconds: UInt32, milliseconds: UInt64)
  ) {
    let kept = KeptVersions()
    kept.begin(due.seconds)
    kept.move(to: 0, [:], at: 1_000_000)
    #expect(!kept.isDue(at: 1_000_000 + due.milliseconds - 1))
    #expect(kept.isDue(at: 1_000_000 + due.milliseconds))
    // So too where the clock was set back.
    #expect(kept.isDue(at: 1_000_000 - due.milliseconds))
  }

  /// INV-C9. What is kept can't be given back before its time, unless by a purge.
  @Test(arguments: [CompactionPolicy.whenAsked, .automatic])
  func `on a full disk young versions stay, and make room when their time is over`(
    _ policy: CompactionPolicy
  ) throws {
    let filled = KeepingStore()
    let before = try filled.fill()
    let start = filled.clock.now
    var fullCount = 0
    for room in stride(from: 0, to: 120_000, by: 10_000) {
      var keeping = filled
      keeping.disk = filled.disk.copy()
      keeping.clock.set(start)
      var store = try keeping.open(policy)
      let capacity = keeping.disk.usedByteCount + room
      keeping.disk.capacity = capacity
      let id = KeepingStore.ids[2]
      var count = 0
      do {
        while count < 400 {
          try store.putAll([KeepingStore.sheet(2, 100 + count)])
          count += 1
        }
      } catch let error as NotelogError {
        try #require(error.code == .full, "\(room): \(error)")
        fullCount += 1
      }
      do { try store.compact() } catch let error as NotelogError {
        try #require(error.code == .full, "\(room): \(error)")
      }
      func check(_ store: Store, _ place: String) throws {
        let found = try keeping.histories(of: store)
        for (other, versions) in before {
          let known = found[other] ?? []
          #expect(known.suffix(versions.count) == versions[...], "\(room), \(place)")
          #expect(known.count == versions.count + (other == id ? count : 0), "\(room), \(place)")
        }
      }
      try check(store, "full")
      // Killed, and opened again beside as little room.
      keeping.disk = keeping.disk.crashImageNow(.processKilled)
      keeping.disk.capacity = capacity
      store = try keeping.open(policy)
      try check(store, "opened again")
      if room % 20_000 == 0 { try store.purge() } else { keeping.clock.advance(seconds: 1_000) }
      try store.compact()
      for count in 0..<10 { try store.putAll([KeepingStore.sheet(2, 1_000 + count)]) }
      #expect(try store.versions(of: id).count >= 10)
      try store.close()
      #expect(try Store.verify(in: keeping.disk, unlocking: TemporaryFolder.key).findings.isEmpty)
    }
    #expect(fullCount == 12)
  }
}
