// The invariants of FORMAT.md §3 to §6 that no crash or damage suite is about, read off the bytes on a
// simulated disk.

@testable import Notelog
import NotelogFormat
import NotelogStorage
import NotelogBase
import NotelogTestSupport
import Testing

@Suite struct InvariantTests {
  /// Writes, deletes, compacts, closes, reopens and abandons a store, and calls `look` after each step.
  private func exercise(_ disk: SimulatedDisk, steps: Int, _ look: () throws -> Void) throws {
    var journal: Journal? = try Journal.create(in: disk, storeID: key(99), options: .small)
    for step in 0..<steps {
      for number in 0..<60 {
        let body = [UInt8](repeating: UInt8(truncatingIfNeeded: step), count: 100 + number)
        try journal?.put(key(number % 40), body, number % 9 == 0 ? .durable : .flushed)
        if number % 10 == 3 { try journal?.delete(key(number % 40)) }
      }
      switch step % 4 {
      case 0: _ = try journal?.compact()
      case 1: try journal?.close()
      case 2: journal = nil
      default: break
      }
      try look()
      if step % 4 == 1 || step % 4 == 2 {
        journal = nil
        journal = try Journal.open(in: disk, options: .small)
      }
      try look()
    }
  }

  private func segments(_ disk: SimulatedDisk) -> [(name: String, bytes: [UInt8])] {
    disk.fileNames.filter { FileName.segmentNumber($0) != nil }.map { ($0, disk.contents($0) ?? []) }
  }

  private func isFinished(_ bytes: [UInt8]) -> Bool {
    bytes.suffix(8) == [0x1A, 0x0A, 0x0D, 0x47, 0x4F, 0x4C, 0x4E, 0x89]
  }

  /// INV-L1: a number stands for one salt for ever, and new numbers are above all earlier ones.
  @Test func `segment numbers are never reused`() throws {
    let disk = SimulatedDisk()
    var salts: [String: [UInt8]] = [:]
    var highest: UInt32 = 0
    try exercise(disk, steps: 24) {
      for (name, bytes) in segments(disk) where bytes.count >= 48 {
        let salt = Array(bytes[40..<48])
        if let known = salts[name] {
          #expect(known == salt, "\(name) was used twice")
        } else {
          salts[name] = salt
        }
      }
      let present = segments(disk).compactMap { FileName.segmentNumber($0.name) }.max() ?? 0
      #expect(present >= highest)
      highest = max(highest, present)
    }
    #expect(salts.count > 30)
  }

  /// INV-L2: what bears a trailer keeps its bytes until it is deleted; a cut by recovery is the one way to
  /// get another.
  @Test func `a finished segment never changes`() throws {
    let disk = SimulatedDisk()
    var finished: [String: [UInt8]] = [:]
    var count = 0
    try exercise(disk, steps: 24) {
      for (name, bytes) in segments(disk) where isFinished(bytes) {
        if let known = finished[name] {
          #expect(known == bytes || bytes.count < known.count, "\(name) changed")
        }
        finished[name] = bytes
        count += 1
      }
    }
    #expect(count > 100)
  }

  /// INV-L3: the lock is held from before the first segment is read until the last is closed.
  @Test func `nobody else can write between opening and closing`() throws {
    let disk = SimulatedDisk()
    try Journal.create(in: disk, storeID: key(99), options: .small).close()
    let refusals = Lock(0)
    disk.afterEachCall { call, name in
      guard FileName.segmentNumber(name) != nil, call != .open else { return }
      disk.afterEachCall(nil)
      do throws(NotelogError) { try Journal.open(in: disk, options: .small).close() } catch {
        if error == NotelogError(.busy, "") { refusals.withLock { $0 += 1 } }
      }
    }
    let journal = try Journal.open(in: disk, options: .small)
    try journal.put(key(1), [1], .durable)
    #expect(refusals.withLock { $0 } == 1)
    #expect(throws: NotelogError(.busy, "")) { try Journal.open(in: disk, options: .small) }
    try journal.close()
    try Journal.open(in: disk, options: .small).close()
  }

  /// INV-S1: no frame goes into a segment before the segment and its name are durable.
  @Test func `a segment is durable before anything is written into it`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let events = Lock<[String]>([])
    disk.afterEachCall { call, name in
      if call == .write || call == .sync || call == .syncFolder {
        events.withLock { $0.append("\(call.rawValue) \(name)") }
      }
    }
    for number in 0..<200 { try journal.put(key(number), [UInt8](repeating: 1, count: 300)) }
    disk.afterEachCall(nil)
    let all = events.withLock { $0 }
    var switches = 0
    for number in UInt32(2)..<6 {
      let name = FileName.segment(number)
      let own = all.indices.filter { all[$0].hasSuffix(name) }
      guard own.count > 2 else { continue }
      switches += 1
      #expect(all[own[0]] == "write \(name)")
      #expect(all[own[1]] == "sync \(name)")
      #expect(all[own[1] + 1].hasPrefix("syncFolder"))
    }
    #expect(switches == 4)
  }

  /// INV-S2: the footers list what the frames are; a footer that lists anything else is found.
  @Test func `a footer lists exactly its frames`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<200 { try journal.put(key(number), [UInt8](repeating: 1, count: 300)) }
    try journal.close()
    #expect(try Journal.verify(disk).report.damages == [])
    let name = FileName.segment(2)
    let bytes = try #require(disk.contents(name))
    let footer = bytes.count - 24 - Int(integer(bytes, bytes.count - 20, 4))
    let count = Int(integer(bytes, footer + 40 + 512, 4))
    let mapped = FrameMap(disk).frames.filter { $0.segment == name && [1, 2, 3].contains($0.kind) }
    #expect(count == mapped.count)
    for (index, frame) in mapped.enumerated() {
      let entry = footer + 40 + 520 + 32 * index
      let place = integer(bytes, entry + 8, 4)
      #expect(UInt8(place >> 28) == frame.kind)
      #expect(Int(place & 0xFFF_FFFF) * 8 == frame.range.lowerBound)
      #expect(integer(bytes, entry, 8) & 0xFFFF_FFFF_FFFF == frame.sequence)
    }
  }

  /// INV-S3: a byte that should be zero and isn't is found, wherever it is.
  @Test(arguments: [600, 4095])
  func `no byte between header and frames goes unchecked`(offset: Int) throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(1), [1, 2, 3])
    try journal.close()
    var bytes = try #require(disk.contents(FileName.segment(1)))
    bytes[offset] = 1
    disk.replace(FileName.segment(1), with: bytes)
    #expect(try Journal.verify(disk).report.damages.map(\.kind) == [.notZero])
  }

  /// INV-F1: a frame that is moved, within its segment or to another, or that a record holds, is none.
  @Test func `a frame is valid at its own place only`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<200 { try journal.put(key(number), [UInt8](repeating: 1, count: 300)) }
    try journal.close()
    let frames = FrameMap(disk).frames.filter { $0.kind == MappedFrame.record }
    let first = try #require(frames.first)
    let others = [frames[1], try #require(frames.first { $0.segment != first.segment })]
    for other in others {
      let copy = disk.copy()
      let source = try #require(copy.contents(first.segment))
      var target = try #require(copy.contents(other.segment))
      target.replaceSubrange(other.range, with: source[first.range])
      copy.replace(other.segment, with: target)
      #expect(try Journal.verify(copy).report.isDamaged)
      let reopened = try Journal.open(in: copy, options: .small)
      #expect(throws: NotelogError(.damaged, "")) { try reopened.body(of: other.key) }
    }
  }

  /// INV-F2: lengths that pass what is left, or their limit, are refused: every length field set to its
  /// extremes.
  @Test func `no length is believed before it is checked`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<120 { try journal.put(key(number), [UInt8](repeating: 1, count: 300)) }
    try journal.close()
    let frames = FrameMap(disk).frames
    for frame in frames.prefix(40) {
      for value: UInt8 in [0xFF, 0x7F, 0x80] {
        let copy = disk.copy()
        var bytes = try #require(copy.contents(frame.segment))
        for index in 4..<8 { bytes[frame.range.lowerBound + index] = value }
        copy.replace(frame.segment, with: bytes)
        #expect(try Journal.verify(copy).report.isDamaged)
      }
    }
  }

  /// INV-T1 and INV-R3: whatever part of a transaction is missing, none of it is served.
  @Test func `a transaction without its commit mark never happened`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(0), [0], .durable)
    var batch = Batch()
    for number in 1..<5 {
      batch.put(key(number), collection: 1, bodyByteCount: 100) { $0.store(UInt64(number), at: 0) }
    }
    try journal.commit(&batch, .flushed)
    let frames = FrameMap(disk).frames.filter { $0.sequence == 2 }
    #expect(frames.count == 5)
    for frame in frames {
      let copy = disk.copy()
      var bytes = try #require(copy.contents(frame.segment))
      bytes[frame.range.lowerBound + 39] ^= 1
      copy.replace(frame.segment, with: bytes)
      let reopened = try Journal.open(in: copy.crashImageNow(.processKilled), options: .small)
      #expect(reopened.report.verdict == .torn)
      #expect(try reopened.records() == [key(0)])
    }
  }

  /// What an earlier recovery kept aside may be all that is left of it: the next one, which found another
  /// tail at the same place, writes only over what it would write itself.
  @Test func `a tail that was kept aside is not written over`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(0), [0], .durable)
    try journal.put(key(1), [UInt8](repeating: 1, count: 100), .flushed)
    let last = try #require(FrameMap(disk).frames.last)
    var bytes = try #require(disk.contents(last.segment))
    bytes[last.range.lowerBound + 39] ^= 1
    let torn = disk.copy()
    torn.replace(last.segment, with: bytes)
    /// The files in `torn` after a recovery that finds a file there already.
    func kept(beside earlier: [UInt8]?) throws -> [String: [UInt8]] {
      let disk = torn.crashImageNow(.processKilled)
      if let earlier {
        try disk.makeFolder("torn")
        disk.replace(name, with: earlier)
      }
      try Journal.open(in: disk, options: .small).close()
      let names = disk.fileNames.filter { $0.hasPrefix("torn/") }
      return Dictionary(uniqueKeysWithValues: names.map { ($0, disk.contents($0) ?? []) })
    }
    let probe = try Journal.open(in: torn.crashImageNow(.processKilled), options: .small)
    let place = try #require(probe.report.torn.first)
    let name = "torn/\(place.place.segment)-\(place.place.offset).tail"
    let other = "torn/\(place.place.segment)-\(place.place.offset)-1.tail"
    let tail = try #require(try kept(beside: nil)[name])
    #expect(tail.count == place.byteCount && tail.count > 8)
    for earlier in [[], Array(tail.prefix(7)), tail] { #expect(try kept(beside: earlier) == [name: tail]) }
    for earlier in [tail + [9], [UInt8](repeating: 9, count: 3)] {
      #expect(try kept(beside: earlier) == [name: earlier, other: tail])
    }
  }

  /// INV-T3: a commit mark names what a sync that succeeded began with, and nothing that came later.
  @Test func `commit marks name a floor that was synced`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99))
    func floors() throws -> [Int] {
      let bytes = try #require(disk.contents(FileName.segment(1)))
      return FrameMap(disk).frames.filter { $0.kind == MappedFrame.commit }.map {
        Int(integer(bytes, $0.range.lowerBound + 40 + 12, 4))
      }
    }
    func ends() -> [Int] {
      FrameMap(disk).frames.filter { $0.kind == MappedFrame.commit }.map(\.range.upperBound)
    }
    try journal.put(key(1), [1], .flushed)
    try journal.put(key(2), [2], .flushed)
    try journal.put(key(3), [3], .durable)
    try journal.put(key(4), [4], .flushed)
    try journal.put(key(5), [5], .flushed)
    let marks = ends()
    #expect(try floors() == [4608, 4608, 4608, marks[2], marks[2]])
  }

  /// INV-R6: when a segment is created, the floor lies in the one before it, or later.
  @Test func `at most two segments reach above the floor`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<400 { try journal.put(key(number), [UInt8](repeating: 1, count: 300), .buffered) }
    let created = segments(disk).sorted { $0.name < $1.name }
    #expect(created.count > 8)
    for (name, bytes) in created {
      let number = UInt64(try #require(FileName.segmentNumber(name)))
      #expect(integer(bytes, 56, 4) + 1 >= number, "\(name) was created with a floor too low")
    }
  }

  /// INV-C3: a frame that was damaged before a compaction is reported as damaged after it, and nothing else
  /// is lost.
  @Test func `damage is not copied under a fresh checksum`() throws {
    let disk = SimulatedDisk()
    var journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<120 { try journal.put(key(number), [UInt8](repeating: UInt8(number), count: 300)) }
    for number in 0..<120 where number % 3 == 0 { try journal.delete(key(number)) }
    try journal.close()
    let victim = try #require(
      FrameMap(disk).frames.first { $0.kind == MappedFrame.record && $0.key == key(10) })
    var bytes = try #require(disk.contents(victim.segment))
    bytes[victim.range.lowerBound + 40] ^= 1
    disk.replace(victim.segment, with: bytes)
    journal = try Journal.open(in: disk, options: .small)
    _ = try journal.compact()
    for _ in 0..<2 {
      #expect(throws: NotelogError(.damaged, "")) { try journal.body(of: key(10)) }
      for number in 0..<120 where number % 3 != 0 && number != 10 {
        #expect(try journal.body(of: key(number)) == [UInt8](repeating: UInt8(number), count: 300))
      }
      try journal.close()
      #expect(try Journal.verify(disk).report.damages.contains { $0.record?.bytes == key(10) })
      journal = try Journal.open(in: disk, options: .small)
    }
  }

  /// INV-T5: after a sync that failed, nothing is written and no sync is tried until the store is reopened.
  @Test func `a failed sync ends writing, and is not tried again`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(1), [1], .durable)
    disk.plan(Fault(.error(SystemErrno.inputOutput), of: [.sync], passing: 0))
    #expect(throws: NotelogError(.poisoned, "")) { try journal.put(key(2), [2], .durable) }
    let calls = Lock(0)
    disk.afterEachCall { call, _ in if call == .sync || call == .write { calls.withLock { $0 += 1 } } }
    #expect(throws: NotelogError(.poisoned, "")) { try journal.put(key(3), [3], .durable) }
    #expect(throws: NotelogError(.poisoned, "")) { try journal.put(key(3), [3], .buffered) }
    #expect(throws: NotelogError(.poisoned, "")) { try journal.close() }
    #expect(calls.withLock { $0 } == 0)
    disk.afterEachCall(nil)
    let again = try Journal.open(in: disk, options: .small)
    #expect(try again.body(of: key(1)) == [1])
    try again.put(key(3), [3], .durable)
    try again.close()
  }

  private func integer(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> UInt64 {
    (0..<count).reduce(0) { $0 | UInt64(bytes[offset + $1]) << (8 * UInt64($1)) }
  }
}
