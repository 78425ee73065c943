// Histories in which shipping once went wrong: FORMAT.md §26.

@testable import Notelog
@testable import NotelogFormat
import Foundation
import NotelogBase
import NotelogCrypto
import NotelogStorage
import NotelogTestSupport
import Testing

@Suite struct `Histories of shipping` {
  final class Counter: Sendable {
    private let value = Lock<UInt64>(1_000_000)
    var now: UInt64 { value.withLock { $0 } }
    func advance(by count: UInt64) { value.withLock { $0 += count } }
  }
  static func body(_ n: Int, _ v: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: n &* 3 &+ v &* 11 &+ 1), count: 200)
  }
  static func contents(_ journal: Journal) throws -> [Int: [UInt8]] {
    var contents: [Int: [UInt8]] = [:]
    for id in try journal.records() { contents[Int(id.low)] = try journal.body(of: id) }
    return contents
  }
  static func contents(_ disk: SimulatedDisk) throws -> [Int: [UInt8]] {
    let j = try Journal.open(in: disk, options: .small)
    defer { try? j.close() }
    return try contents(j)
  }
  static func date(_ ms: UInt64) -> Date { Date(timeIntervalSince1970: Double(ms) / 1000) }

  @Test func `a piece with the last time there is does not end a shipper`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for n in 0..<5 { try journal.put(key(n), Self.body(n, 0)) }
    try journal.synchronize()
    let archive = SimulatedDisk()
    try ship(disk, to: archive)
    let piece = try #require(ArchiveListing(FolderArchive(archive)).all(.piece).last)
    var end = piece.end
    end.time = .max
    let forged = ArchivedObject(
      UInt32(piece.number), salt: piece.salt, piece.range, end, checksum: ~piece.checksum)
    archive.replace(piece.name, with: nil)
    archive.replace(forged.name, with: [UInt8](repeating: 0, count: piece.byteCount))
    try ship(disk, to: archive)
    try journal.close()
  }

  @Test func `a forged recovered segment without a number ends no restore`() throws {
    let forge = SimulatedDisk()
    var builder = try SegmentBuilder(in: forge, number: 1, salt: 7)
    try builder.append(LiveSet(), firstSequence: 0)
    let entry = try builder.publish { end in
      SegmentHeader(
        .recovered, number: 1, storeID: key(99), branch: Branch(id: key(5), keepsTimes: true), salt: 7,
        firstSequence: 0,
        floor: LogPosition(segment: 1, offset: end), live: LiveSet())
    }
    let archive = SimulatedDisk()
    archive.replace(ArchivedObject.store(key(99)), with: [])
    archive.replace(
      ArchivedObject(entry, .init(branch: 5, nextSequence: 1, time: 1)).name,
      with: forge.contents(FileName.segment(1)))
    _ = try? restore(archive, to: SimulatedDisk())
  }

  /// Crash between a compaction's two publications, after buffered writes that nothing shipped.
  @Test func `a recovered segment serves no moment from before a compaction that it does not know`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    var state: [Int: [UInt8]] = [:]
    var states: [UInt64: [Int: [UInt8]]] = [:]
    func put(_ n: Int, _ v: Int, _ d: Durability) throws {
      try journal.put(key(n), Self.body(n, v), d)
      state[n] = Self.body(n, v)
      states[journal.lastSequence] = state
    }
    for n in 0..<200 { try put(n, 0, .durable) }
    let archive = SimulatedDisk()
    try ship(disk, to: archive)
    for n in stride(from: 0, to: 100, by: 4) { try put(n, 1, .buffered) }
    let last = journal.lastSequence
    let start = disk.callCount
    _ = try journal.compact()
    let end = disk.callCount
    var wrong: [String] = []
    var (served, said, tried) = (0, 0, 0)
    for call in disk.crashPoints where call >= start && call <= end {
      for loss in [LossModel.processKilled, .allKept] {
        let image = disk.crashImage(after: call, loss)
        let again = try Journal.open(in: image, options: .small)
        let target = archive.copy()
        let summary = try ship(image, to: target)
        if !summary.findings.isEmpty { wrong.append("ship after \(call): \(summary.findings)") }
        for revision in 201...last where revision <= again.lastSequence {
          tried += 1
          let out = SimulatedDisk()
          guard let found = try? restore(target, to: out, at: .revision(revision)) else {
            said += 1; continue
          }
          guard found.findings.isEmpty else { said += 1; continue }
          served += 1
          if try Self.contents(out) != states[revision] {
            wrong.append(
              "\(disk.describe(call: call)) \(loss): revision \(revision) of \(again.lastSequence)")
          }
        }
      }
    }
    #expect(
      wrong.isEmpty,
      "\(wrong.count) wrong, \(served) served, \(said) said, \(tried): \(wrong.prefix(5)) \(wrong.suffix(3))")
    try journal.close()
  }

  /// --at beside a recovery: the cut segment answers for its pieces.
  @Test func `a time within a segment that was cut is found in its pieces`() throws {
    let clock = Counter()
    var options = JournalOptions.small
    options.keepsCommitTimes = true
    options.clock = { clock.now }
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: options)
    let archive = SimulatedDisk()
    var times: [(UInt64, UInt64)] = []
    for n in 0..<20 {
      clock.advance(by: 1000)
      try journal.put(key(n), Self.body(n, 0), n < 10 ? .durable : .buffered)
      times.append((journal.lastSequence, clock.now))
    }
    try ship(Shipper(disk, to: FolderArchive(archive), clock: { clock.now }))
    func wrong(_ label: String) throws -> [String] {
      try times.compactMap { revision, time in
        let found = try restore(archive, to: SimulatedDisk(), at: .time(Self.date(time + 10)))
        return found.revision == revision
          ? nil : "\(label): \(found.revision) for \(revision), \(found.findings)"
      }
    }
    var all = try wrong("before")
    let image = disk.crashImageNow(.processKilled)
    let again = try Journal.open(in: image, options: options)
    clock.advance(by: 1000)
    try again.put(key(50), Self.body(50, 0), .durable)
    try ship(Shipper(image, to: FolderArchive(archive), clock: { clock.now }))
    all += try wrong("after")
    #expect(all.isEmpty, "\(all.count): \(all)")
    try again.close()
  }

  /// What is kept from a time on can be had at that time.
  @Test func `what was there when keeping begins can be had`() throws {
    func run(_ jump: Int?) throws -> (Int, SimulatedDisk, [(UInt64, UInt64)], UInt64) {
      let clock = Counter()
      var options = JournalOptions.small
      options.keepsCommitTimes = true
      options.clock = { clock.now }
      let disk = SimulatedDisk()
      let journal = try Journal.create(in: disk, storeID: key(99), options: options)
      let archive = SimulatedDisk()
      try disk.addKeyring()
      let shipper = Shipper(disk, to: FolderArchive(archive), clock: { clock.now })
      var first = -1
      var times: [(UInt64, UInt64)] = []
      for n in 0..<120 {
        clock.advance(by: n == jump ? 1_000_000 : 1000)
        let count = disk.fileNames.filter { $0.hasSuffix(".journal") }.count
        try journal.put(key(n), Self.body(n, 0))
        times.append((journal.lastSequence, clock.now))
        if n > 0, first < 0, disk.fileNames.filter({ $0.hasSuffix(".journal") }).count > count { first = n }
        try ship(shipper)
      }
      try journal.close()
      return (first, archive, times, clock.now)
    }
    let (first, _, _, _) = try run(nil)
    let (_, archive, times, now) = try run(first)
    let time = times[first - 1].1 + 500_000
    let before = try restore(archive, to: SimulatedDisk(), at: .time(Self.date(time))).revision
    #expect(before == times[first - 1].0)
    let expired = try Store.expired(in: FolderArchive(archive), before: time, now: now)
    #expect(expired.findings.isEmpty)
    try FolderArchive(archive).delete(expired.names)
    let after = try restore(archive, to: SimulatedDisk(), at: .time(Self.date(time)))
    #expect(after.revision == before && after.findings.isEmpty)
  }

  /// A store without times, restored as of an earlier moment, ships on to its archive.
  @Test func `a store restored as of an earlier moment ships on, and expiring goes on`() throws {
    let clock = Counter()
    let disk = SimulatedDisk()
    try disk.addKeyring()
    let archive = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let shipper = Shipper(disk, to: FolderArchive(archive), clock: { clock.now })
    for n in 0..<20 { try journal.put(key(n), Self.body(n, 0)) }
    try ship(shipper)
    let middle = journal.lastSequence
    clock.advance(by: 1000)
    for n in 20..<40 { try journal.put(key(n), Self.body(n, 0)) }
    try ship(shipper)
    try journal.close()
    clock.advance(by: 1000)
    let next = SimulatedDisk()
    try restore(archive, to: next, at: .revision(middle))
    let other = try Journal.open(in: next, options: .small)
    try other.put(key(90), Self.body(90, 0))
    let shipped = try ship(Shipper(next, to: FolderArchive(archive), clock: { clock.now }))
    #expect(shipped.findings.isEmpty)
    let branch = String(prefix: try Examination(next, storeID: nil).newest?.header.branchPrefix ?? 0)
    clock.advance(by: 100_000_000)
    let expired = try Store.expired(in: FolderArchive(archive), before: .max, branch: branch, now: clock.now)
    #expect(expired.findings.isEmpty, "\(expired.findings.map(\.words))")
    #expect(!expired.names.isEmpty)
    try other.close()
  }

  /// The whole segment of the branch and the cut one of a restored store.
  @Test func `of a whole segment and the one that a restored store cut, the longer one counts`() throws {
    var wrong: [String] = []
    for keepsTimes in [false, true] {
      for round in 0..<8 {
        let clock = Counter()
        var options = JournalOptions.small
        options.keepsCommitTimes = keepsTimes
        options.clock = { clock.now }
        let disk = SimulatedDisk()
        try disk.addKeyring()
        let archive = SimulatedDisk()
        let journal = try Journal.create(in: disk, storeID: key(99), options: options)
        var times: [UInt64: UInt64] = [:]
        for n in 0..<100 {
          clock.advance(by: 1000)
          try journal.put(key(n), Self.body(n, 0))
          times[journal.lastSequence] = clock.now
        }
        try ship(Shipper(disk, to: FolderArchive(archive), clock: { clock.now }))
        let branch = String(prefix: try Examination(disk, storeID: nil).newest?.header.branchPrefix ?? 0)
        let next = SimulatedDisk()
        try restore(archive, to: next, at: .revision(10))
        let other = try Journal.open(in: next, options: options)
        try other.put(key(200), Self.body(200, 0))
        #expect(try ship(Shipper(next, to: FolderArchive(archive), clock: { clock.now })).findings.isEmpty)
        for revision in [UInt64(12), 20, 25] {
          let found = try restore(archive, to: SimulatedDisk(), at: .revision(revision), branch: branch)
          if !found.findings.isEmpty || found.revision != revision {
            wrong.append(
              "\(keepsTimes) \(round): \(found.revision) for \(revision), \(found.findings.map(\.words))")
          }
          if keepsTimes {
            let found = try restore(
              archive, to: SimulatedDisk(), at: .time(Self.date((times[revision] ?? 0) + 10)), branch: branch)
            if found.revision != revision {
              wrong.append("TIME \(round): \(found.revision) for \(revision), \(found.findings.map(\.words))")
            }
          }
        }
        try other.close()
        try journal.close()
      }
    }
    #expect(wrong.isEmpty, "\(wrong.count): \(wrong)")
  }

  /// Two copies, each shipped to a folder of its own, and both carried on to one bucket.
  @Test func `two copies that are carried into one bucket are noticed`() throws {
    for count in [20, 60, 100] {
      let disk = SimulatedDisk()
      try disk.addKeyring()
      let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
      for n in 0..<10 { try journal.put(key(n), Self.body(n, 0)) }
      try journal.close()
      let copy = disk.copy()
      let first = try Journal.open(in: disk, options: .small)
      let second = try Journal.open(in: copy, options: .small)
      let (one, two) = (SimulatedDisk(), SimulatedDisk())
      // Small records: more transactions in fewer bytes.
      for n in 0..<26 { try first.put(key(n), [1, 2, 3]) }
      for n in 0..<count { try second.put(key(100 + n), Self.body(n, 5)) }
      try ship(disk, to: one)
      try ship(copy, to: two)
      let merged = one.copy()
      for name in two.fileNames { merged.replace(name, with: two.contents(name)) }
      let expired = try Store.expired(in: FolderArchive(merged), before: .max, now: .max)
      #expect(!expired.findings.isEmpty && expired.names.isEmpty, "\(count)")
      try first.close()
      try second.close()
    }
  }

  @Test func `a gap is named where what was shipped last is still there`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let archive = SimulatedDisk()
    func put(_ n: Int, _ v: Int) throws {
      try journal.put(key(n), [UInt8](repeating: UInt8(v + 1), count: 4000))
    }
    for n in 0..<6 { try put(n, 0) }
    try ship(disk, to: archive)
    // What lives on, up to the end of the head that was shipped last and beyond.
    for n in 100..<106 { try put(n, 0) }
    for v in 0..<8 { for n in 200..<204 { try put(n, v) } }
    _ = try journal.compact()
    let summary = try ship(disk, to: archive)
    var missing: [UInt64] = []
    for revision in 6...summary.revision {
      if try !restore(archive, to: SimulatedDisk(), at: .revision(revision)).findings.isEmpty {
        missing.append(revision)
      }
    }
    #expect(
      missing.isEmpty || summary.hasGap, "\(missing) of \(summary.revision) are missing, and no gap is named")
    try journal.close()
  }

  /// Eight bytes of garbage under a name.
  @Test func `a piece of garbage makes no branch`() throws {
    let disk = SimulatedDisk()
    try disk.addKeyring()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for n in 0..<20 { try journal.put(key(n), Self.body(n, 0)) }
    let archive = SimulatedDisk()
    try ship(disk, to: archive)
    let forged = ArchivedObject(3, salt: 5, 0..<8, .init(branch: 77, nextSequence: 9, time: 1), checksum: 1)
    archive.replace(forged.name, with: [UInt8](repeating: 0, count: 8))
    #expect(throws: Never.self) { try restore(archive, to: SimulatedDisk()) }
    let expired = try Store.expired(in: FolderArchive(archive), before: .max, now: .max)
    #expect(expired.findings.isEmpty, "\(expired.findings.map(\.words))")
    try journal.close()
  }

  /// A forged time gets into honest names, and stays when the forgery is gone; so does a forged end stop shipping.
  @Test func `a forged time gets into no honest name, and garbage stops no shipping`() throws {
    let clock = Counter()
    let disk = SimulatedDisk()
    try disk.addKeyring()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for n in 0..<20 { try journal.put(key(n), Self.body(n, 0)) }
    let archive = SimulatedDisk()
    try ship(Shipper(disk, to: FolderArchive(archive), clock: { clock.now }))
    let piece = try #require(ArchiveListing(FolderArchive(archive)).all(.piece).last)
    var end = piece.end
    (end.nextSequence, end.time) = (1, 9_999_999_999_999)
    let forged = ArchivedObject(UInt32(piece.number), salt: piece.salt, 0..<8, end, checksum: 1)
    archive.replace(forged.name, with: [UInt8](repeating: 0, count: 8))
    clock.advance(by: 1000)
    try journal.put(key(30), Self.body(30, 0))
    try ship(Shipper(disk, to: FolderArchive(archive), clock: { clock.now }))
    archive.replace(forged.name, with: nil)
    let times = try ArchiveListing(FolderArchive(archive)).all(.piece).map(\.end.time)
    #expect(times.allSatisfy { $0 <= clock.now }, "\(times)")
    end.nextSequence = 5000
    let later = ArchivedObject(UInt32(piece.number), salt: piece.salt, 0..<8, end, checksum: 1)
    archive.replace(later.name, with: [UInt8](repeating: 0, count: 8))
    let found = try ship(Shipper(disk, to: FolderArchive(archive), clock: { clock.now })).findings
    #expect(found.isEmpty, "eight bytes of garbage stop it: \(found.map(\.words))")
    try journal.close()
  }

  @Test func `a forged mark of transaction 0 ends no expiring`() throws {
    let disk = SimulatedDisk()
    try disk.addKeyring()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for n in 0..<20 { try journal.put(key(n), Self.body(n, 0)) }
    let archive = SimulatedDisk()
    try ship(disk, to: archive)
    let forge = SimulatedDisk()
    var builder = try SegmentBuilder(in: forge, number: 1, salt: 7)
    try builder.append(LiveSet(), firstSequence: 0)
    var payload = Buffer()
    payload.appendZeros(CommitMark.byteCount)
    var bytes = payload.mutableBytes
    CommitMark(frameCount: 0, firstOffset: builder.end, floor: .zero, time: 5).write(into: &bytes, at: 0)
    try builder.append(FrameHeader(.commit, sequence: 0, of: payload.bytes), payload.bytes)
    let entry = try builder.publish { end in
      SegmentHeader(
        .recovered, number: 1, storeID: key(99), branch: Branch(id: key(5), keepsTimes: true), salt: 7,
        firstSequence: 1,
        floor: LogPosition(segment: 1, offset: end), live: LiveSet())
    }
    archive.replace(
      ArchivedObject(entry, .init(branch: 5, nextSequence: 1, time: .max)).name,
      with: forge.contents(FileName.segment(1)))
    let plan = try ArchivePlan(FolderArchive(archive))
    let branch = try #require(plan.branches.first { $0.branch.prefix != 5 })
    let view = try plan.view(of: .newest, on: branch.branch.prefix)
    _ = try? plan.expired(before: 1, view, unlocking: .key([UInt8](repeating: 7, count: 32)))
    try journal.close()
  }

  @Test func `a name that says too much makes no moment`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for n in 0..<20 { try journal.put(key(n), Self.body(n, 0)) }
    let archive = SimulatedDisk()
    try ship(disk, to: archive)
    let piece = try #require(ArchiveListing(FolderArchive(archive)).all(.piece).last)
    var end = piece.end
    end.nextSequence += 1000
    let forged = ArchivedObject(UInt32(piece.number), salt: piece.salt, 0..<8, end, checksum: 1)
    archive.replace(forged.name, with: [UInt8](repeating: 0, count: 8))
    let found = try restore(archive, to: SimulatedDisk(), at: .revision(500))
    #expect(!found.findings.isEmpty, "revision \(found.revision) for 500, in silence")
    try journal.close()
  }

  @Test func `a store on a full disk is shipped`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for n in 0..<20 { try journal.put(key(n), Self.body(n, 0)) }
    disk.capacity = disk.usedByteCount
    let archive = SimulatedDisk()
    let shipper = Shipper(disk, to: FolderArchive(archive))
    for _ in 0..<2 { try ship(shipper) }
    #expect(archive.fileNames.contains { $0.hasPrefix("p-") })
    try journal.close()
  }

  /// Two shippers of one store without times, each with a listing of its own.
  @Test func `beside two shippers expiring goes on`() throws {
    let clock = Counter()
    let disk = SimulatedDisk()
    try disk.addKeyring()
    let archive = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let one = Shipper(disk, to: FolderArchive(archive), clock: { clock.now })
    let two = Shipper(disk, to: FolderArchive(archive), clock: { clock.now })
    for n in 0..<200 {
      try journal.put(key(n), Self.body(n, 0))
      clock.advance(by: 1000)
      try ship(n % 2 == 0 ? one : two)
    }
    clock.advance(by: 100_000_000)
    let expired = try Store.expired(in: FolderArchive(archive), before: .max, now: clock.now)
    #expect(expired.findings.isEmpty, "\(expired.findings.map(\.words))")
    try journal.close()
  }

  /// The moment at which keeping begins, where a recovery left nothing of the segment that held it.
  @Test func `what was there when keeping begins can be had after a recovery that left nothing of it`() throws
  {
    let clock = Counter()
    let disk = SimulatedDisk()
    try disk.addKeyring()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let archive = SimulatedDisk()
    for n in 0..<5 { try journal.put(key(n), Self.body(n, 0), .buffered) }
    try ship(Shipper(disk, to: FolderArchive(archive), clock: { clock.now }))
    let image = disk.crashImageNow(.processKilled)
    let again = try Journal.open(in: image, options: .small)
    clock.advance(by: 100_000)
    for n in 5..<10 { try again.put(key(n), Self.body(n, 0), .durable) }
    try ship(Shipper(image, to: FolderArchive(archive), clock: { clock.now }))
    let middle = clock.now - 50_000
    #expect(try restore(archive, to: SimulatedDisk(), at: .time(Self.date(middle))).revision == 5)
    let expired = try Store.expired(in: FolderArchive(archive), before: middle - 10_000, now: clock.now)
    #expect(expired.findings.isEmpty)
    try FolderArchive(archive).delete(expired.names)
    #expect(try restore(archive, to: SimulatedDisk(), at: .time(Self.date(middle))).revision == 5)
    try again.close()
  }

  /// One crash in a store without times, one shipper.
  @Test func `after a crash expiring goes on`() throws {
    let clock = Counter()
    let disk = SimulatedDisk()
    try disk.addKeyring()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let archive = SimulatedDisk()
    for n in 0..<20 { try journal.put(key(n), Self.body(n, 0), n < 10 ? .durable : .buffered) }
    try ship(Shipper(disk, to: FolderArchive(archive), clock: { clock.now }))
    let image = disk.crashImageNow(.processKilled)
    let again = try Journal.open(in: image, options: .small)
    clock.advance(by: 1000)
    for n in 20..<200 { try again.put(key(n), Self.body(n, 0)) }
    try ship(Shipper(image, to: FolderArchive(archive), clock: { clock.now }))
    clock.advance(by: 100_000_000_000)
    let expired = try Store.expired(in: FolderArchive(archive), before: .max, now: clock.now)
    #expect(expired.findings.isEmpty, "\(expired.findings)")
    try again.close()
  }

  /// What is read again is not what was verified, or what lies on the medium not what was written.
  @Test(arguments: [true, false])
  func `an object is put as it was verified, or not at all`(isSource: Bool) throws {
    let (source, archive) = (SimulatedDisk(), SimulatedDisk())
    source.replace("file", with: Self.body(1, 1))
    let contents = try ArchiveContents(source.open("file", .read))
    if isSource {
      source.replace("file", with: Self.body(1, 2))
    } else {
      let isStruck = Lock(false)
      archive.afterEachCall { call, name in
        guard call == .write, !isStruck.withLock({ $0 }) else { return }
        isStruck.withLock { $0 = true }
        let other = Self.body(1, 2)
        try? archive.openFile(name, .update).writeAll(other.rawSpan, at: 0)
      }
    }
    let file = try source.open("file", .read)
    #expect(throws: StorageError.self) {
      try archive.copy(file, as: "object", under: "object.partial", checksum: contents.checksum)
    }
    #expect(archive.fileNames.isEmpty)
  }
}
