// Stores that keep versions: FORMAT.md §24, "Kept versions".

import Foundation
import NotelogBase
import NotelogFormat
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

/// A store on a simulated disk, and the clock that it is written by.
struct KeepingStore {
  var disk = SimulatedDisk()
  let clock = HandClock()
  static let ids = (1...5).map { RecordID(high: 7, low: $0) }

  func open(isNew: Bool = false, isLocked: Bool = false, _ policy: CompactionPolicy = .whenAsked) throws
    -> Store
  {
    var options = Store.Options()
    options.segmentByteCount = policy == .automatic ? 16 << 10 : 1 << 20
    options.compaction = policy
    options.clock = { [clock] in clock.now }
    if !isNew {
      return try Store.open(in: disk, unlocking: isLocked ? nil : TemporaryFolder.key, options: options)
    }
    options.keepsVersions = .seconds(HandClock.keptSeconds)
    return try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
  }

  static func sheet(_ index: Int, _ count: Int, scan: Int = 3000) -> Leaflet {
    var random = SeededGenerator(seed: UInt64(count))
    return Leaflet(
      id: ids[index], count: count, title: "title \(count)", scan: random.bytes(count: scan))
  }

  /// Writes each record five times, a second apart, compacts, and closes.
  ///
  /// - Returns: What histories are.
  func fill() throws -> [RecordID: [RecordVersion]] {
    let store = try open(isNew: true)
    // Something to compact for, which is over long since.
    let other = Leaflet(scan: Array(repeating: 1, count: 60_000))
    try store.putAll([other])
    try store.write { tx in _ = try tx.delete(Leaflet.self, other.id) }
    clock.advance(seconds: 200)
    for count in 0..<25 {
      clock.advance(seconds: 1)
      try store.putAll([Self.sheet(count % 5, count, scan: count == 3 || count == 24 ? 70_000 : 3000)])
    }
    clock.advance(seconds: 1)
    try store.write { tx in _ = try tx.delete(Leaflet.self, Self.ids[1]) }
    let before = try histories(of: store)
    #expect(try store.compact().removedSegments > 0)
    #expect(try histories(of: store) == before)
    try store.close()
    return before
  }

  func histories(of store: Store) throws -> [RecordID: [RecordVersion]] {
    try Dictionary(uniqueKeysWithValues: Self.ids.map { ($0, try store.versions(of: $0)) })
  }

  /// The files of compacted segments.
  var compacted: [(name: String, header: SegmentHeader)] {
    disk.fileNames.filter { FileName.segmentNumber($0) != nil }.compactMap { name in
      let bytes = disk.contents(name) ?? []
      guard let header = try? SegmentHeader(bytes.rawSpan, at: 0), header.kind == .kept else { return nil }
      return (name, header)
    }
  }
}

@Suite struct KeptVersionTests {
  @Test
  func `compaction keeps young versions, their values and times, also without a key and without an index`()
    throws
  {
    let keeping = KeepingStore()
    let before = try keeping.fill()
    #expect(before.values.map(\.count).sorted() == [5, 5, 5, 5, 6])
    #expect(before.values.joined().allSatisfy { $0.time != nil })
    for hasIndex in [true, false] {
      if !hasIndex { keeping.disk.replace(FileName.index, with: nil) }
      let locked = try keeping.open(isLocked: true)
      keeping.clock.advance(seconds: 20)
      try locked.compact()
      #expect(try keeping.histories(of: locked) == before)
      try locked.close()
    }
    let store = try keeping.open()
    let versions = try store.versions(of: KeepingStore.ids[3])
    for (version, count) in zip(versions.reversed(), stride(from: 3, to: 25, by: 5)) {
      let entry = try #require(try store.get(Leaflet.self, KeepingStore.ids[3], revision: version.revision))
      #expect(try entry.record() == KeepingStore.sheet(3, count, scan: count == 3 ? 70_000 : 3000))
    }
    try store.close()
    #expect(try Store.verify(in: keeping.disk, unlocking: TemporaryFolder.key).findings.isEmpty)
  }

  @Test func `versions go when their time is over, and not before`() throws {
    let keeping = KeepingStore()
    let before = try keeping.fill()
    // Committed in the 1st to the 26th second: what was replaced up to the 16th is D old in the 116th.
    keeping.clock.advance(seconds: 90)
    let store = try keeping.open()
    try store.compact()
    let left = try keeping.histories(of: store)
    for (id, versions) in before {
      let known = left[id, default: []]
      #expect(known.count < versions.count && known.count >= 2)
      #expect(known == Array(versions.prefix(known.count)))
    }
    let count = left.values.joined().count
    #expect(count == 15)
    keeping.clock.advance(seconds: 200)
    try store.compact()
    #expect(try keeping.histories(of: store).values.allSatisfy { $0.count <= 1 })
    let info = store.info()
    #expect(info.keptByteCount < 3000, "\(info.keptByteCount)")
    try store.close()
    let taken = keeping.disk.fileNames.filter { FileName.segmentNumber($0) != nil }
      .reduce(0) { $0 + (keeping.disk.contents($1)?.count ?? 0) }
    #expect(taken < info.liveByteCount * 21 / 20 + (32 << 10), "\(taken), \(info.liveByteCount)")
    #expect(try Store.verify(in: keeping.disk, unlocking: TemporaryFolder.key).findings.isEmpty)
  }

  /// What came before a commit says how late it was at least, though nobody changed it since.
  @Test func `what was replaced while the clock was behind is young all the same`() throws {
    let keeping = KeepingStore()
    let store = try keeping.open(isNew: true)
    try store.putAll([KeepingStore.sheet(0, 1)])
    keeping.clock.advance(seconds: 1_000)
    try store.putAll([KeepingStore.sheet(1, 2)])
    let now = keeping.clock.now
    keeping.clock.set(now - 900_000)
    try store.putAll([KeepingStore.sheet(0, 3)])
    keeping.clock.set(now + 1_000)
    try store.compact()
    #expect(try store.versions(of: KeepingStore.ids[0]).count == 2)
    keeping.clock.advance(seconds: 1_000)
    try store.compact()
    #expect(try store.versions(of: KeepingStore.ids[0]).count == 1)
    try store.close()
  }

  @Test func `a purge leaves none, and ends one that was not finished`() throws {
    let keeping = KeepingStore()
    _ = try keeping.fill()
    let store = try keeping.open()
    let kept = store.info().keptByteCount
    #expect(kept > 20 * 3000 + 65_536)
    try store.putAll([KeepingStore.sheet(2, 100)])
    try store.compact(.bytes(1))
    try store.purge()
    #expect(try keeping.histories(of: store).values.allSatisfy { $0.count <= 1 })
    #expect(store.info().keptByteCount < 2000)
    #expect(throws: NotelogError.self) { try store.undoLast() }
    // From here on it keeps again.
    try store.putAll([KeepingStore.sheet(2, 101)])
    try store.compact()
    #expect(try store.versions(of: KeepingStore.ids[2]).count == 2)
    #expect(try store.undoLast().restored == [KeepingStore.ids[2]])
    #expect(try store.get(Leaflet.self, KeepingStore.ids[2])?.record().count == 100)
    try store.close()
  }

  @Test func `the last change is taken back after compactions, from what is kept`() throws {
    let keeping = KeepingStore()
    let store = try keeping.open(isNew: true)
    try store.putAll([KeepingStore.sheet(0, 1, scan: 80_000), KeepingStore.sheet(1, 2)])
    try store.putAll([KeepingStore.sheet(0, 3), KeepingStore.sheet(2, 4)])
    try store.compact()
    try store.putAll(
      (0..<10).map { Leaflet(id: RecordID(high: 8, low: $0), scan: Array(repeating: 1, count: 3000)) })
    try store.write { tx in
      _ = try tx.delete(Leaflet.self, KeepingStore.ids[0])
      _ = try tx.put(KeepingStore.sheet(1, 5))
    }
    keeping.clock.advance(seconds: 99)
    try store.compact()
    let undone = try store.undoLast()
    #expect(undone.restored == [KeepingStore.ids[0], KeepingStore.ids[1]] && undone.time != nil)
    #expect(try store.get(Leaflet.self, KeepingStore.ids[0])?.record() == KeepingStore.sheet(0, 3))
    // What was replaced D ago is not certain to be there once compaction came.
    keeping.clock.advance(seconds: 101)
    try store.compact()
    #expect(throws: NotelogError.self) { try store.undoLast() }
    try store.close()
  }

  /// INV-C4: what is kept counts by the model.
  @Test func `with automatic compaction a store takes no more than what lives and is kept, and half again`()
    throws
  {
    let keeping = KeepingStore()
    try keeping.open(isNew: true).close()
    var store = try keeping.open(.automatic)
    var (count, written) = (0, 0)
    for second in 1...1500 {
      keeping.clock.advance(seconds: 1)
      try store.putAll([KeepingStore.sheet(second % 5, second, scan: 1000)])
      (count, written) = (count + 1, written + 1200)
      // Processes come and go.
      if second % 97 == 0 {
        try store.close()
        store = try keeping.open(.automatic)
      }
      guard second % 50 == 0 else { continue }
      let info = store.info()
      let frame = 64 + info.liveByteCount / 5
      let kept = min(count, Int(HandClock.keptSeconds) * 17 / 16 + 2) * frame
      let bound = (info.liveByteCount + kept) * 3 / 2 + 2 * (16 << 10)
      #expect(info.byteCount <= bound, "second \(second): \(info.byteCount) of \(bound) bytes")
      let held = try keeping.histories(of: store).values.joined().count
      #expect(held >= min(count, 105))
    }
    // It could not have kept all.
    #expect(store.info().byteCount < written / 3)
    try store.close()
    #expect(try Store.verify(in: keeping.disk, unlocking: TemporaryFolder.key).findings.isEmpty)
  }

  /// Sources whose dead frames are kept are not copied for them.
  @Test func `what is kept is not copied again and again`() throws {
    let keeping = KeepingStore()
    try keeping.open(isNew: true).close()
    let store = try keeping.open(.automatic)
    for count in 0..<400 { try store.putAll([KeepingStore.sheet(count % 5, count, scan: 1000)]) }
    #expect(store.counters.bytesCopied < 400 * 1200 / 8, "\(store.counters.bytesCopied)")
    try store.compact()
    let copied = store.counters.bytesCopied
    for _ in 0..<5 { try store.compact() }
    #expect(store.counters.bytesCopied <= copied + 5 * (32 << 10))
    #expect(try keeping.histories(of: store).values.allSatisfy { $0.count == 80 })
    try store.close()
  }

  /// INV-C9.
  @Test func `a crash at any moment leaves every young version`() throws {
    let clock = HandClock()
    let open: @Sendable (SimulatedDisk, Bool) throws -> Store = { disk, isNew in
      var options = Store.Options()
      options.segmentByteCount = 16 << 10
      options.clock = { clock.now }
      if !isNew { return try Store.open(in: disk, unlocking: TemporaryFolder.key, options: options) }
      options.keepsVersions = .seconds(HandClock.keptSeconds)
      return try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    }
    var sweep = CrashSweep<Int>(
      name: "kept", seed: 1, budgets: [TestEffort.isSoak ? nil : 300],
      workload: { disk, notebook in
        let store = try open(disk, true)
        for count in 0..<12 {
          try store.putAll([KeepingStore.sheet(count % 3, count, scan: count == 4 ? 70_000 : 4000)])
          notebook.note(count)
          if count % 4 == 3 { try store.compact() }
        }
        try store.compact()
        try store.close()
      },
      check: { disk, _, notes in
        guard let store = try? open(disk, false) else {
          guard notes.isEmpty else { throw KeptError("the store can't be opened") }
          return
        }
        for isCompacted in [false, true] {
          if isCompacted { try store.compact() }
          for (index, id) in KeepingStore.ids.prefix(3).enumerated() {
            let counts = try store.versions(of: id).reversed().map { version in
              try store.get(Leaflet.self, id, revision: version.revision)?.record()
            }
            let wanted: [Leaflet?] = stride(from: index, through: notes.last ?? -1, by: 3).map { count in
              KeepingStore.sheet(index, count, scan: count == 4 ? 70_000 : 4000)
            }
            guard Array(counts.prefix(wanted.count)) == wanted else {
              throw KeptError("\(counts.count) versions of \(wanted.count) after change \(notes.last ?? -1)")
            }
          }
        }
        try store.close()
      })
    var tally = sweep.run()
    #expect(tally.failures.isEmpty, "\(tally.summary)")
    #expect(tally.pairCount > 200)
    // The process killed at each of them, those within each step of compaction among them.
    (sweep.losses, sweep.budgets) = ([.processKilled], [nil])
    tally = sweep.run()
    #expect(tally.failures.isEmpty, "\(tally.summary)")
    #expect(tally.pairCount > 100)
  }

  @Test func `a damaged mark in a compacted segment costs its time, and nothing else`() throws {
    let keeping = KeepingStore()
    let before = try keeping.fill()
    let (name, header) = try #require(keeping.compacted.max { $0.name < $1.name })
    let bytes = try #require(keeping.disk.contents(name))
    // The second of its marks.
    let file = try keeping.disk.openFile(name, .read)
    var walk = SegmentWalk(file, salt: SegmentSalt(header.salt), end: bytes.count)
    var marks: [Int] = []
    while let frame = try walk.advance() { if frame.kind == .commit { marks.append(walk.place) } }
    let place = try #require(marks.dropFirst().first)
    for offset in place..<place + CommitMark.frameByteCount {
      var damaged = bytes
      damaged[offset] ^= 0x40
      var copy = keeping
      copy.disk = keeping.disk.copy()
      copy.disk.replace(name, with: damaged)
      if offset % 2 == 0 { copy.disk.replace(FileName.index, with: nil) }
      let found = try Store.verify(in: copy.disk, unlocking: TemporaryFolder.key)
      #expect(found.verdict == .contained && found.findings.count == 1, "\(offset): \(found.findings)")
      let store = try copy.open()
      try store.compact()
      let after = try copy.histories(of: store)
      for (id, versions) in before {
        #expect(after[id]?.map(\.revision) == versions.map(\.revision), "\(offset)")
        let lost = zip(versions, after[id] ?? []).filter { $0.time != $1.time }
        #expect(lost.count <= 1 && lost.allSatisfy { $0.1.time == nil }, "\(offset)")
      }
      #expect(try store.query(Leaflet.self).count() == 4)
      try store.close()
    }
  }

  /// Whoever writes to the files may lower times; but not without the versions being there until then.
  @Test func `a horizon that nobody can know is not believed`() throws {
    let keeping = KeepingStore()
    let before = try keeping.fill()
    for (name, header) in keeping.compacted {
      var forged = header
      forged.firstSequence = UInt64(FormatLimits.maximumSequence)
      var bytes = try #require(keeping.disk.contents(name))
      bytes.replaceSubrange(0..<512, with: repeatElement(0, count: 512))
      bytes.withBytes(in: 0..<512) { (span: inout MutableRawSpan) in forged.write(into: &span, at: 0) }
      keeping.disk.replace(name, with: bytes)
    }
    let store = try keeping.open()
    try store.compact()
    #expect(try keeping.histories(of: store) == before)
    try store.close()
  }

  @Test func `a header that keeps versions without times, or of a kind that goes with them without, is none`()
  {
    func isAccepted(_ kind: SegmentKind, _ keptSeconds: UInt32, times: UInt32) -> Bool {
      let header = SegmentHeader(
        kind, number: 1, storeID: ID16(low: 1, high: 2),
        branch: Branch(id: ID16(low: 3, high: 4), keepsTimes: true, keptSeconds: keptSeconds), salt: 3,
        firstSequence: 1, floor: .zero, live: LiveSet())
      var buffer = Buffer()
      buffer.appendZeros(Layout.headerByteCount)
      var bytes = buffer.mutableBytes
      header.write(into: &bytes, at: 0)
      bytes.store(times, at: 76)
      bytes.store(Checksum.of(bytes.bytes.extracting(0..<508)), at: 508)
      let read = try? SegmentHeader(buffer.bytes, at: 0)
      return read != nil && (times == 0 || read == header)
    }
    #expect(
      isAccepted(.log, 0, times: 0) && isAccepted(.log, 30, times: 1) && isAccepted(.kept, 30, times: 1))
    #expect(!isAccepted(.log, 30, times: 0) && !isAccepted(.kept, 0, times: 1))
    #expect(isAccepted(.compacted, .max, times: 1))
  }

  @Test func `a rotation ends what older versions have under the key, and leaves the rest of them`() throws {
    let keeping = KeepingStore()
    let before = try keeping.fill()
    let store = try keeping.open()
    while try !store.rotate("personal").isFinished {}
    try store.compact()
    let id = KeepingStore.ids[2]
    let versions = try store.versions(of: id)
    #expect(versions.count == before[id, default: []].count + 1)
    let entry = try #require(try store.get(Leaflet.self, id, revision: versions[2].revision))
    #expect(try entry.count == 17)
    #expect(throws: NotelogError.self) { try entry.title }
    #expect(try store.get(Leaflet.self, id)?.record().title == "title 22")
    try store.close()
  }

  @Test func `a restored store keeps versions as long, and a salvaged one has the newest alone`() throws {
    let keeping = KeepingStore()
    let before = try keeping.fill()
    let (backup, restored, salvaged) = (SimulatedDisk(), SimulatedDisk(), SimulatedDisk())
    #expect(try Shipper(keeping.disk, to: backup.archive).ship().findings.isEmpty)
    #expect(try Store.restore(backup.archive, to: restored, unlocking: TemporaryFolder.key).findings.isEmpty)
    var other = keeping
    other.disk = restored
    let store = try other.open()
    #expect(store.info().keepsVersions == .seconds(HandClock.keptSeconds))
    try store.compact()
    #expect(try other.histories(of: store) == before)
    try store.close()
    _ = try Store.salvage(from: keeping.disk, to: salvaged)
    other.disk = salvaged
    let saved = try other.open()
    #expect(saved.info().keepsVersions == nil && saved.info().keptByteCount == 0)
    #expect(try other.histories(of: saved).values.allSatisfy { $0.count <= 1 })
    #expect(try saved.query(Leaflet.self).count() == 4)
    try saved.close()
  }
}

private struct KeptError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
