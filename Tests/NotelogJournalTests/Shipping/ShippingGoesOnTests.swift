// What shipping notices, holds and lets go: FORMAT.md §26.

@testable import Notelog
@testable import NotelogFormat
import NotelogBase
import NotelogStorage
import NotelogTestSupport
import Testing

/// An archive of an app's own: three functions over a dictionary.
private final class DictionaryArchive: Archive {
  struct Away: Error {}

  private let state = Lock((objects: [String: [UInt8]](), isAway: false))

  func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

  func objects() throws -> [String: Int] { try use { $0.mapValues(\.count) } }
  func put(_ name: String, _ contents: ArchiveContents) throws {
    let bytes = try contents.read(0..<contents.byteCount)
    try use { $0[name] = bytes }
  }
  func read(_ name: String, _ range: Range<Int>) throws -> [UInt8] {
    try use { Array($0[name]?[range] ?? []) }
  }

  private func use<Result: Sendable>(_ body: (inout [String: [UInt8]]) -> Result) throws -> Result {
    try state.withLock { state throws(Away) in
      if state.isAway { throw Away() }
      return body(&state.objects)
    }
  }
}

@Suite struct `Shipping goes on` {
  private static func put(_ range: Range<Int>, _ journal: Journal, version: Int = 0) throws {
    for number in range {
      try journal.put(
        key(number),
        [UInt8](repeating: UInt8(truncatingIfNeeded: number + version), count: 150 + number * 7 % 100))
    }
  }

  private static func count(_ disk: SimulatedDisk) throws -> Int {
    let journal = try Journal.open(in: disk, options: .small)
    defer { try? journal.close() }
    #expect(journal.report.verdict == .sound)
    return try journal.records().count
  }

  private static func files(_ disk: SimulatedDisk) -> [String: [UInt8]] {
    Dictionary(uniqueKeysWithValues: disk.fileNames.map { ($0, disk.contents($0) ?? []) })
  }

  /// A store that was put back to what it was went on under the numbers that the archive had already.
  @Test func `an older copy of a store ships nothing, however far it goes on`() throws {
    let disk = SimulatedDisk()
    var journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try Self.put(0..<10, journal)
    try journal.close()
    let older = disk.copy()
    journal = try Journal.open(in: disk, options: .small)
    try Self.put(10..<40, journal)
    let archive = SimulatedDisk()
    #expect(try ship(disk, to: archive).findings.isEmpty)
    let before = Self.files(archive)
    let other = try Journal.open(in: older, options: .small)
    let shipper = Shipper(older, to: FolderArchive(archive))
    for round in 0..<8 {
      let kinds = try ship(shipper).findings.map(\.kind)
      #expect(kinds == [round < 3 ? .endsBeforeArchive : .partedFromArchive], "\(round)")
      #expect(Self.files(archive) == before, "\(round)")
      try Self.put(100 + round * 10..<110 + round * 10, other)
    }
    try other.close()
    try journal.close()
  }

  @Test func `of two copies of a store that go on, one ships`() throws {
    for isKilled in [true, false] {
      let disk = SimulatedDisk()
      let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
      try Self.put(0..<10, journal)
      try journal.synchronize()
      if !isKilled { try journal.close() }
      let copy = disk.crashImageNow(.processKilled)
      let archive = SimulatedDisk()
      let first = isKilled ? journal : try Journal.open(in: disk, options: .small)
      let second = try Journal.open(in: copy, options: .small)
      try Self.put(10..<30, first)
      #expect(try ship(disk, to: archive).findings.isEmpty)
      // Further than the first, and then in turns.
      try Self.put(50..<130, second)
      let before = Self.files(archive)
      for _ in 0..<3 {
        #expect(try ship(copy, to: archive).findings.count == 1, "killed: \(isKilled)")
        #expect(Self.files(archive) == before)
        try Self.put(200..<230, second)
      }
      try first.close()
      try second.close()
    }
  }

  /// A shipper always holds a pin, and nothing that was replaced was ever deleted.
  @Test func `what was replaced goes once it is shipped, while the shipper goes on`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let archive = SimulatedDisk()
    let shipper = Shipper(disk, to: FolderArchive(archive))
    try Self.put(0..<60, journal)
    try ship(shipper)
    try Self.put(0..<60, journal, version: 1)
    let replaced = disk.fileNames.filter { $0.hasSuffix(".journal") }.dropLast()
    #expect(try journal.compact().removedSegments > 0)
    #expect(Set(replaced).isSubset(of: disk.fileNames), "they are held until they are shipped")
    try ship(shipper)
    try Self.put(0..<60, journal, version: 2)
    _ = try journal.compact()
    #expect(Set(replaced).isDisjoint(with: disk.fileNames))
    let restored = SimulatedDisk()
    try restore(archive, to: restored)
    #expect(try Self.count(restored) == 60)
    try journal.close()
  }

  @Test func `an archive that is away costs so much room at most, and then a gap`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let archive = DictionaryArchive()
    let shipper = Shipper(disk, to: archive, holding: 60_000)
    try Self.put(0..<60, journal)
    #expect(try ship(shipper).findings.isEmpty)
    archive.setAway(true)
    for version in 1..<12 {
      try Self.put(0..<60, journal, version: version)
      _ = try journal.compact()
      #expect(throws: NotelogError(.inputOutput, "")) { try shipper.ship() }
    }
    _ = try journal.compact()
    let byteCount = disk.fileNames.filter { $0.hasSuffix(".journal") }.reduce(0) {
      $0 + (disk.contents($1)?.count ?? 0)
    }
    #expect(byteCount < 150_000)
    archive.setAway(false)
    let back = try ship(shipper)
    #expect(back.hasGap && back.findings.isEmpty)
    #expect(try !ship(shipper).hasGap)
    let restored = SimulatedDisk()
    _ = try Store.restore(archive, to: restored)
    #expect(try Self.count(restored) == 60)
    try journal.close()
  }

  @Test func `a restored store goes on shipping to its archive, and its branch is the newest`() throws {
    let disk = SimulatedDisk()
    let archive = SimulatedDisk()
    try disk.addKeyring()
    var journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try Self.put(0..<50, journal)
    #expect(try ship(disk, to: archive).findings.isEmpty)
    let first = journal.lastSequence
    try journal.close()
    let next = SimulatedDisk()
    try restore(archive, to: next)
    journal = try Journal.open(in: next, options: .small)
    try Self.put(50..<90, journal)
    #expect(try ship(next, to: archive).findings.isEmpty)
    let again = SimulatedDisk()
    #expect(try restore(archive, to: again).findings.isEmpty)
    #expect(try Self.count(again) == 90)
    // The moment before is still there.
    let before = SimulatedDisk()
    #expect(try restore(archive, to: before, at: .revision(first)).revision == first)
    #expect(try Self.count(before) == 50)
    // The first one goes on too: now somebody has to choose.
    let old = try Journal.open(in: disk, options: .small)
    try Self.put(100..<105, old)
    #expect(try ship(disk, to: archive).findings.isEmpty)
    #expect(throws: NotelogError(.invalidArgument, "")) { try restore(archive, to: SimulatedDisk()) }
    let expired = try Store.expired(in: FolderArchive(archive), before: .max, now: .max)
    #expect(expired.names.isEmpty && !expired.findings.isEmpty)
    for branch in try Store.branches(of: FolderArchive(archive)) {
      let chosen = SimulatedDisk()
      #expect(try restore(archive, to: chosen, branch: branch.name).findings.isEmpty)
      #expect([55, 90].contains(try Self.count(chosen)))
    }
    try old.close()
    try journal.close()
  }

  /// What the restored store has of a segment was taken for all of it.
  @Test func `a store restored in the middle of a segment ships, and the moments behind stay`() throws {
    for _ in 0..<8 {
      let (disk, archive) = (SimulatedDisk(), SimulatedDisk())
      let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
      try Self.put(0..<200, journal)
      try ship(disk, to: archive)
      let branch = try #require(Store.branches(of: FolderArchive(archive)).first).name
      for revision in [UInt64(20), 150] {
        let next = SimulatedDisk()
        try restore(archive, to: next, at: .revision(revision), branch: branch)
        let other = try Journal.open(in: next, options: .small)
        try Self.put(300..<310, other)
        try ship(next, to: archive)
        try other.close()
      }
      for revision in [UInt64(10), 20, 30, 100, 150, 160, 190, journal.lastSequence] {
        let restored = SimulatedDisk()
        let summary = try restore(archive, to: restored, at: .revision(revision), branch: branch)
        #expect(summary.findings.isEmpty && summary.revision == revision)
        #expect(try Self.count(restored) == Int(revision))
      }
      try journal.close()
    }
  }

  @Test func `pieces, segments and a keyring put together by hand are a store`() throws {
    let disk = SimulatedDisk()
    try disk.addKeyring()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let archive = SimulatedDisk()
    let shipper = Shipper(disk, to: FolderArchive(archive))
    for number in 0..<120 {
      try Self.put(number..<number + 1, journal)
      if number % 7 == 0 { try ship(shipper) }
    }
    _ = try journal.compact()
    try ship(shipper)
    let byHand = SimulatedDisk()
    var pieces: [UInt64: [UInt8]] = [:]
    let objects = archive.fileNames.sorted().compactMap { ArchivedObject(name: $0) }
    for object in objects {
      let bytes = try #require(archive.contents(object.name))
      switch object.kind {
      case .compacted, .log: byHand.replace(FileName.segment(UInt32(object.number)), with: bytes)
      case .piece:
        let start = pieces[object.number, default: []].prefix(object.range.lowerBound)
        if object.range.upperBound > pieces[object.number]?.count ?? 0 {
          pieces[object.number] = start + bytes
        }
      case .keyring: byHand.replace("keyring", with: bytes)
      case .damaged: Issue.record("nothing is damaged")
      }
    }
    let last = try #require(pieces.keys.max())
    byHand.replace(FileName.segment(UInt32(last)), with: pieces[last])
    #expect(try Self.count(byHand) == 120)
    try journal.close()
  }

  @Test func `names that lie about times let nothing go, and other names are left alone`() throws {
    let disk = SimulatedDisk()
    try disk.addKeyring()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let archive = SimulatedDisk()
    for version in 0..<3 {
      try Self.put(0..<40, journal, version: version)
      try ship(disk, to: archive)
    }
    let folder = FolderArchive(archive)
    let now = JournalOptions().clock()
    #expect(try !Store.expired(in: folder, before: .max, now: now).names.isEmpty)
    let piece = try #require(ArchiveListing(folder).all(.piece).last)
    var end = piece.end
    end.time = now + 300_000_000_000
    let ahead = ArchivedObject(1, salt: 5, 0..<10, end, checksum: 0)
    for name in [
      ahead.name, "notes.txt", "k-9999999999-0123456789abcdef", "l-1-2-3-4-5-6-7", "store-\u{1B}[31m",
    ] {
      let image = archive.copy()
      image.replace(name, with: [UInt8](repeating: 1, count: 10))
      let expired = try Store.expired(in: FolderArchive(image), before: .max, now: now)
      #expect(expired.names.isEmpty == (name == ahead.name), "\(name)")
      #expect(!expired.names.contains(name))
      let restored = SimulatedDisk()
      if name != ahead.name { #expect(try restore(image, to: restored).findings.isEmpty, "\(name)") }
    }
    try journal.close()
  }

  /// What a shipper has put and not yet named is nobody's to take.
  @Test func `what expires beside a shipper is nothing that it ships`() throws {
    let disk = SimulatedDisk()
    try disk.addKeyring()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let archive = SimulatedDisk()
    let folder = FolderArchive(archive)
    let shipper = Shipper(disk, to: folder)
    let isDeleting = Lock(false)
    var putCount = 0
    for version in 0..<12 {
      try Self.put(0..<40, journal, version: version)
      // In steps, so that an output has a lower number than the head that names it.
      _ = try journal.compact(WorkBudget(byteCount: 4000))
      archive.afterEachCall { call, _ in
        guard call == .rename, !isDeleting.withLock({ $0 }) else { return }
        isDeleting.withLock { $0 = true }
        defer { isDeleting.withLock { $0 = false } }
        do {
          let expired = try Store.expired(in: folder, before: .max, now: .max)
          try folder.delete(expired.names)
        } catch { Issue.record("\(error)") }
      }
      putCount += try ship(shipper).putObjects
      archive.afterEachCall(nil)
      let restored = SimulatedDisk()
      #expect(try restore(archive, to: restored).findings.isEmpty, "\(version)")
      #expect(try Self.count(restored) == 40)
    }
    #expect(putCount > 24)
    try journal.close()
  }
}
