// What a shipper's pin keeps and lets go, whoever writes, and whatever is in the file: FORMAT.md §25, §26.

@testable import Notelog
@testable import NotelogFormat
import NotelogBase
import NotelogStorage
import NotelogTestSupport
import Testing

/// An archive where something happens in the middle of a put.
private final class StuckArchive: Archive {
  private let folder: FolderArchive
  private let meanwhile = Lock<(@Sendable () throws -> Void)?>(nil)

  init(_ disk: SimulatedDisk) { folder = FolderArchive(disk) }

  /// The next put takes as long as that.
  func stick(_ body: @escaping @Sendable () throws -> Void) { meanwhile.withLock { $0 = body } }

  func objects() throws -> [String: Int] { try folder.objects() }
  func read(_ name: String, _ range: Range<Int>) throws -> [UInt8] { try folder.read(name, range) }
  func put(_ name: String, _ contents: ArchiveContents) throws {
    let body = meanwhile.withLock { meanwhile in
      defer { meanwhile = nil }
      return meanwhile
    }
    try body?()
    try folder.put(name, contents)
  }
}

@Suite struct `Shipper's pin` {
  private static func put(_ range: Range<Int>, _ journal: Journal, version: Int = 0) throws {
    for number in range { try journal.put(key(number), Shipping.body(number, version)) }
  }

  private static func segments(_ disk: SimulatedDisk) -> Set<String> {
    Set(disk.fileNames.filter { $0.hasSuffix(".journal") })
  }

  private static func contents(_ disk: SimulatedDisk) throws -> [Int: [UInt8]] {
    let journal = try Journal.open(in: disk, options: .small)
    defer { try? journal.close() }
    #expect(journal.report.verdict == .sound)
    var contents: [Int: [UInt8]] = [:]
    for id in try journal.records() { contents[Int(id.low)] = try journal.body(of: id) }
    return contents
  }

  /// An opening did not know when segments were replaced, and kept them for ever.
  @Test func `what was replaced goes after the next round, also where each writer comes and goes`() throws {
    let (disk, archive) = (SimulatedDisk(), SimulatedDisk())
    try Journal.create(in: disk, storeID: key(99), options: .small).close()
    let shipper = Shipper(disk, to: FolderArchive(archive))
    try ship(shipper)
    var (replaced, goneCount) = (Set<String>(), 0)
    for version in 0..<8 {
      let journal = try Journal.open(in: disk, options: .small)
      #expect(replaced.isDisjoint(with: disk.fileNames), "they were shipped: \(version)")
      goneCount += replaced.count
      try Self.put(0..<80, journal, version: version)
      let before = Self.segments(disk)
      let removed = try journal.compact().removedSegments
      try journal.close()
      // One that only comes by.
      try Journal.open(in: disk, options: .small).close()
      #expect(before.isSubset(of: disk.fileNames), "they are kept until they are shipped: \(version)")
      let names = try Set(Examination(disk, storeID: nil).live.entries.map { FileName.segment($0.number) })
      replaced = removed > 0 ? before.subtracting(names).subtracting([before.max() ?? ""]) : []
      #expect(try ship(shipper).findings.isEmpty)
    }
    #expect(goneCount > 8)
    let restored = SimulatedDisk()
    try restore(archive, to: restored)
    #expect(try Self.contents(restored).count == 80)
  }

  /// Segments of the log went, and those around them stayed: the round said nothing.
  @Test(arguments: [false, true])
  func `where too much is held while a put is stuck, segments go, and the next round says so`(
    keepsOlder: Bool
  ) throws {
    let (disk, target) = (SimulatedDisk(), SimulatedDisk())
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let archive = StuckArchive(target)
    let shipper = Shipper(disk, to: archive, holding: 40_000)
    try Self.put(0..<60, journal)
    #expect(try !ship(shipper).hasGap)
    try Self.put(60..<70, journal)
    let shipped = journal.lastSequence
    let held = Lock(Set<String>())
    archive.stick {
      for version in 1..<12 {
        // What was shipped stays live, or does not.
        try Self.put(keepsOlder ? 100..<180 : 0..<180, journal, version: version)
        held.withLock { $0.formUnion(Self.segments(disk)) }
        _ = try journal.compact()
      }
    }
    // The round itself may find that files are gone.
    let stuck = try? ship(shipper)
    _ = try journal.compact()
    let gone = held.withLock { $0 }.subtracting(disk.fileNames)
    #expect(gone.count > 5, "what is held takes no more than it may")
    try Self.put(0..<1, journal, version: 20)
    let next = try ship(shipper)
    #expect(next.findings.isEmpty)
    // Whether a moment is missing.
    let isMissing = (shipped..<journal.lastSequence).contains { revision in
      let found = try? restore(target, to: SimulatedDisk(), at: .revision(revision))
      return found?.findings.isEmpty != true
    }
    #expect(isMissing)
    #expect(next.hasGap || stuck?.hasGap == true)
    #expect(try !ship(shipper).hasGap)
    let restored = SimulatedDisk()
    try restore(target, to: restored)
    let expected = try Self.contents(disk.crashImageNow(.processKilled))
    #expect(try Self.contents(restored) == expected)
    try journal.close()
  }

  /// A recovered segment makes no moments before a live change; nobody said that they are gone.
  @Test
  func
    `of moments that a recovery takes along, each is restored, or the round says that some may be missing`()
    throws
  {
    let (disk, archive) = (SimulatedDisk(), SimulatedDisk())
    var journal: Journal? = try Journal.create(in: disk, storeID: key(99), options: .small)
    let shipper = Shipper(disk, to: FolderArchive(archive))
    for version in 0..<2 { try Self.put(0..<60, #require(journal), version: version) }
    try ship(shipper)
    let shipped = try #require(journal).lastSequence
    try Self.put(60..<62, #require(journal))
    #expect(try #require(journal).compact().removedSegments > 0)
    try Self.put(62..<64, #require(journal))
    // The process dies; the shipper goes on.
    journal = nil
    let again = try Journal.open(in: disk, options: .small)
    let next = try ship(shipper)
    #expect(next.findings.isEmpty)
    let missing = (shipped...next.revision).filter { revision in
      let found = try? restore(archive, to: SimulatedDisk(), at: .revision(revision))
      return found?.findings.isEmpty != true
    }
    #expect(missing.isEmpty || next.hasGap, "\(missing) of \(shipped)...\(next.revision)")
    try again.close()
  }

  /// Names of objects had a time that went back, and nothing ever expired again.
  @Test(arguments: [true, false])
  func `where the clock steps back an hour, expiring goes on once that hour has passed`(keepsTimes: Bool)
    throws
  {
    let (disk, archive) = (SimulatedDisk(), SimulatedDisk())
    let clock = Lock<UInt64>(100 * 3_600_000)
    var options = JournalOptions.small
    options.keepsCommitTimes = keepsTimes
    options.clock = { clock.withLock { $0 } }
    let journal = try Journal.create(in: disk, storeID: key(99), options: options)
    try disk.addKeyring()
    let shipper = Shipper(disk, to: FolderArchive(archive), clock: { clock.withLock { $0 } })
    func expired(_ since: UInt64) throws -> (names: [String], findings: [Finding]) {
      try NotelogJournalTests.expired(in: archive, before: since, now: clock.withLock { $0 })
    }
    var (moments, version) = ([(revision: UInt64, time: UInt64)](), 0)
    func goOn() throws {
      for _ in 0..<5 {
        clock.withLock { $0 += 60_000 }
        try Self.put(0..<80, journal, version: version)
        version += 1
        _ = try journal.compact()
        try ship(shipper)
        moments.append((journal.lastSequence, clock.withLock { $0 }))
      }
    }
    try goOn()
    #expect(try !expired(moments[3].time).names.isEmpty)
    clock.withLock { $0 -= 3_600_000 }
    try goOn()
    let early = try expired(moments[3].time)
    #expect(early.names.isEmpty && !early.findings.isEmpty)
    clock.withLock { $0 += 3_600_000 }
    try goOn()
    let after = try expired(moments[10].time)
    #expect(after.findings.isEmpty && after.names.count > 8)
    try FolderArchive(archive).delete(after.names)
    for moment in moments[10...] {
      #expect(try restore(archive, to: SimulatedDisk(), at: .revision(moment.revision)).findings.isEmpty)
    }
    try journal.close()
  }

  private static let forged: [[UInt8]] = {
    func words(_ words: [UInt64]) -> [UInt8] {
      words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) } }
    }
    let most = UInt64.max
    return [
      [], [UInt8](repeating: 0, count: 31), [UInt8](repeating: 0, count: 32),
      [UInt8](repeating: 255, count: 32),
      words([5, 5, 0, 0]), words([most, 0, most, ~most]), words([most, most, 0, ~(most &+ most)]),
      words([most, most, most, ~(most &+ most)]), words([0, most, 0, ~most]), words([0, 0, 0, ~0]),
      [UInt8](repeating: 7, count: 5000),
    ]
  }()

  /// Who can write the files can delete them, too: more comes of no pin.
  @Test(arguments: [true, false])
  func `a forged pin costs moments in between at most, and never the store or what was shipped`(
    isShippers: Bool
  ) throws {
    for (index, bytes) in Self.forged.enumerated() {
      let (disk, archive) = (SimulatedDisk(), SimulatedDisk())
      var journal = try Journal.create(in: disk, storeID: key(99), options: .small)
      var shipper = Shipper(disk, to: FolderArchive(archive))
      try Self.put(0..<60, journal)
      try ship(shipper)
      let shipped = journal.lastSequence
      let pins = disk.fileNames.filter { $0.hasPrefix("pins/") }
      #expect(pins.count == 1)
      var file: (any StorageFile)?
      if isShippers {
        let own = try disk.open(pins[0], .update)
        try own.truncate(to: 0)
        try own.writeAll(bytes.rawSpan, at: 0)
        own.close()
      } else {
        let other = try disk.open("pins/1-a.pin", .createNew)
        try other.lock(.shared)
        try other.writeAll(bytes.rawSpan, at: 0)
        file = other
      }
      for version in 1..<4 {
        try Self.put(0..<60, journal, version: version)
        _ = try journal.compact()
        try journal.close()
        journal = try Journal.open(in: disk, options: .small)
      }
      #expect(try ship(shipper).findings.isEmpty, "\(index)")
      #expect(try restore(archive, to: SimulatedDisk(), at: .revision(shipped)).findings.isEmpty, "\(index)")
      let restored = SimulatedDisk()
      #expect(try restore(archive, to: restored).findings.isEmpty, "\(index)")
      try journal.close()
      #expect(try Self.contents(restored) == Self.contents(disk), "\(index)")
      file?.close()
      // When whoever forged it has gone, or whose it was, it goes on as before.
      shipper = Shipper(disk, to: FolderArchive(archive))
      journal = try Journal.open(in: disk, options: .small)
      try Self.put(0..<60, journal, version: 4)
      try ship(shipper)
      _ = try journal.compact()
      try ship(shipper)
      _ = try journal.compact()
      let held = Self.segments(disk).count
      #expect(held < 6, "\(index): \(held) segments are left")
      try journal.close()
    }
  }
}
