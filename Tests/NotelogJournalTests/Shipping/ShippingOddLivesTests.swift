// What an archive holds after odd lives of its store, and beside a medium that fails: FORMAT.md §26.

@testable import Notelog
@testable import NotelogFormat
import Foundation
import NotelogBase
import NotelogCrypto
import NotelogStorage
import NotelogTestSupport
import Testing

/// An archive of which some objects can't be read now.
private struct AwayArchive: Archive {
  let folder: FolderArchive
  let isAway: @Sendable (String) -> Bool

  func objects() throws -> [String: Int] { try folder.objects() }
  func put(_ name: String, _ contents: ArchiveContents) throws { try folder.put(name, contents) }
  func read(_ name: String, _ range: Range<Int>) throws -> [UInt8] {
    if isAway(name) { throw NotelogError(.inputOutput, "the connection was lost") }
    return try folder.read(name, range)
  }
}

private struct Remark: Record {
  var id = RecordID()
  var title = ""
  static let schema = Schema<Remark>("remark") { Sealed("title", \.title, key: "personal") }
}

@Suite struct `Odd lives of a shipped store` {
  typealias Counter = `Histories of shipping`.Counter

  private static func put(_ range: Range<Int>, _ journal: Journal, version: Int = 0) throws {
    for number in range { try journal.put(key(number), Shipping.body(number, version)) }
  }

  private static func prefix(_ disk: SimulatedDisk) throws -> UInt32 {
    try Examination(disk, storeID: nil).newest?.header.branchPrefix ?? 0
  }

  /// Two stores restored from an archive ship to it: the one that was restored as of an earlier moment has lower numbers.
  @Test func `of two stores that were restored from one archive, neither is the other's past`() throws {
    let (disk, archive) = (SimulatedDisk(), SimulatedDisk())
    try disk.addKeyring()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try Self.put(0..<40, journal)
    try ship(disk, to: archive)
    try journal.close()
    let (first, second) = (SimulatedDisk(), SimulatedDisk())
    try restore(archive, to: first)
    try restore(archive, to: second, at: .revision(20))
    let tried = try Journal.open(in: first, options: .small)
    try Self.put(50..<52, tried)
    try ship(first, to: archive)
    let used = try Journal.open(in: second, options: .small)
    try Self.put(60..<65, used)
    try ship(second, to: archive)
    #expect(throws: NotelogError(.invalidArgument, "")) { try restore(archive, to: SimulatedDisk()) }
    let expired = try Store.expired(in: FolderArchive(archive), before: .max, now: .max)
    #expect(expired.names.isEmpty && !expired.findings.isEmpty)
    try FolderArchive(archive).delete(expired.names)
    let branch = try String(prefix: Self.prefix(second))
    let restored = SimulatedDisk()
    #expect(try restore(archive, to: restored, branch: branch).findings.isEmpty)
    let again = try Journal.open(in: restored, options: .small)
    #expect(try again.body(of: key(64)) == Shipping.body(64, 0))
    for journal in [tried, used, again] { try journal.close() }
  }

  @Test(arguments: [false, true])
  func `a branch that can't be read is named, and nothing expires`(isAway: Bool) throws {
    let (disk, archive) = (SimulatedDisk(), SimulatedDisk())
    try disk.addKeyring()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try Self.put(0..<40, journal)
    try ship(disk, to: archive)
    try journal.close()
    let next = SimulatedDisk()
    try restore(archive, to: next)
    let other = try Journal.open(in: next, options: .small)
    try Self.put(50..<55, other)
    try ship(next, to: archive)
    try other.close()
    let prefix = try Self.prefix(next)
    let objects = try ArchiveListing(FolderArchive(archive)).objects.values.filter { $0.end.branch == prefix }
    #expect(!objects.isEmpty)
    let names = Set(objects.map(\.name))
    if !isAway {
      for object in objects {
        archive.replace(object.name, with: [UInt8](repeating: 0, count: object.byteCount))
      }
    }
    let damaged = AwayArchive(folder: FolderArchive(archive)) { isAway && names.contains($0) }
    let found = try? Store.restore(damaged, to: SimulatedDisk())
    #expect(found?.findings.contains(where: \.isDamage) ?? true, "\(String(describing: found))")
    let expired = try Store.expired(in: damaged, before: .max, now: .max)
    #expect(names.isDisjoint(with: expired.names) && !expired.findings.isEmpty)
  }

  @Test func `garbage under names that are possible stops no shipping`() throws {
    let (disk, archive) = (SimulatedDisk(), SimulatedDisk())
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try Self.put(0..<100, journal)
    try ship(disk, to: archive)
    let segments = try #require(ArchivePlan(FolderArchive(archive)).branches.first).branch.segments
    let (first, last) = (segments[0], try #require(segments.last))
    let end = ArchivedObject.LogEnd(branch: first.branch, nextSequence: last.nextSequence, time: 1)
    let range = 0..<5000
    for forged in [
      // More than what follows it goes on from; behind the newest; in its place.
      ArchivedObject(UInt32(first.number), salt: first.salt, range, end, checksum: 1),
      ArchivedObject(UInt32(last.number + 1), salt: 5, range, end, checksum: 1),
      ArchivedObject(UInt32(last.number), salt: 5, range, end, checksum: 1),
    ] {
      archive.replace(forged.name, with: [UInt8](repeating: 0, count: range.count))
      let found = try ship(disk, to: archive).findings
      #expect(found.isEmpty, "\(forged.name): \(found.map(\.words))")
      archive.replace(forged.name, with: nil)
    }
    try journal.close()
  }

  @Test func `a piece under a name that says too much makes no moment`() throws {
    let (disk, archive) = (SimulatedDisk(), SimulatedDisk())
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try Self.put(0..<20, journal)
    try ship(disk, to: archive)
    let piece = try #require(ArchiveListing(FolderArchive(archive)).all(.piece).last)
    var end = piece.end
    end.nextSequence = 1000
    let forged = ArchivedObject(
      UInt32(piece.number), salt: piece.salt, piece.range, end, checksum: piece.checksum)
    archive.replace(forged.name, with: archive.contents(piece.name))
    archive.replace(piece.name, with: nil)
    let found = try restore(archive, to: SimulatedDisk(), at: .revision(500))
    #expect(!found.findings.isEmpty, "revision \(found.revision) for 500, in silence")
    try journal.close()
  }

  /// The pin was made, and what it keeps found no room in it: it kept everything.
  @Test(arguments: [false, true])
  func `on a full disk a shipper keeps nothing that was shipped`(isShipped: Bool) throws {
    let (disk, archive) = (SimulatedDisk(), SimulatedDisk())
    disk.capacity = 300_000
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    var count = 0
    while (try? Self.put(count..<count + 1, journal)) != nil { count += 1 }
    disk.capacity = disk.usedByteCount
    let shipper = Shipper(disk, to: FolderArchive(archive))
    if isShipped { try ship(shipper) }
    #expect(!disk.heldPins().contains { $0.keeps(journal.lastSequence, of: 1) })
    for number in 0..<40 {
      if isShipped, number % 20 == 0 { try ship(shipper) }
      try journal.delete(key(number))
    }
    for _ in 0..<3 {
      _ = try journal.compact()
      if isShipped { try ship(shipper) }
    }
    _ = try journal.compact()
    #expect(throws: Never.self) { try Self.put(0..<10, journal) }
    try journal.close()
  }

  @Test func `what is left of a damaged segment stays beside garbage that has the name of a whole one`()
    throws
  {
    let clock = Counter()
    let (disk, archive) = (SimulatedDisk(), SimulatedDisk())
    try disk.addKeyring()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let shipper = Shipper(disk, to: FolderArchive(archive), clock: { clock.now })
    for version in 0..<4 {
      clock.advance(by: 1000)
      try Self.put(0..<60, journal, version: version)
      _ = try journal.compact()
      try ship(shipper)
    }
    try journal.close()
    let newest = try ArchivePlan(FolderArchive(archive)).view(of: .newest).objects
    let objects = try ArchiveListing(FolderArchive(archive)).all(.compacted)
    let lost = try #require(objects.first { !newest.contains($0) })
    let bytes = [UInt8](repeating: 1, count: lost.byteCount)
    let number = UInt32(lost.number)
    let left = ArchivedObject(
      damaged: number, salt: lost.salt, byteCount: bytes.count, checksum: Checksum.of(bytes.rawSpan))
    let garbage = ArchivedObject(
      LiveEntry(number: number, byteCount: 5000, salt: lost.salt, footerChecksum: 1), nil)
    archive.replace(lost.name, with: nil)
    archive.replace(left.name, with: bytes)
    archive.replace(garbage.name, with: [UInt8](repeating: 0, count: 5000))
    let expired = try Store.expired(in: FolderArchive(archive), before: 1, now: clock.now)
    #expect(expired.findings.isEmpty && !expired.names.contains(left.name))
  }

  /// Both rotated the same key; then one of them expired, and its keyring stayed.
  @Test func `a branch is restored with its own keyring, also when the other branch has expired`() throws {
    let credential = Credential.key([UInt8](repeating: 42, count: 32))
    let (disk, archive) = (SimulatedDisk(), FolderArchive(SimulatedDisk()))
    let store = try Store.create(in: disk, unlocking: credential, options: Store.Options())
    try store.putAll([Remark(title: "first")])
    try store.ship(to: archive)
    let next = SimulatedDisk()
    _ = try Store.restore(archive, to: next, unlocking: credential)
    let other = try Store.open(in: next, unlocking: credential, options: Store.Options())
    for (number, store) in [other, store].enumerated() {
      #expect(try store.rotate("personal").isFinished)
      if number == 1 { try store.createKey("another", .whenUnlocked) }
      try store.putAll([Remark(title: "\(number)")])
      // Nothing of what both come from is left.
      _ = try store.journal.compact(.unlimited, .purge)
      #expect(try store.ship(to: archive).findings.isEmpty)
      try store.close()
    }
    let branch = try String(prefix: Self.prefix(next))
    let expired = try Store.expired(
      in: archive, before: .max, branch: branch, unlocking: credential, now: .max)
    #expect(expired.findings.isEmpty, "\(expired.findings.map(\.words))")
    try archive.delete(expired.names)
    #expect(try Store.branches(of: archive).count == 1)
    let restored = SimulatedDisk()
    #expect(try Store.restore(archive, to: restored, unlocking: credential).findings.isEmpty)
    let verified = try Store.verify(in: restored, unlocking: credential)
    #expect(verified.verdict == .sound, "\(verified.findings.map(\.words))")
  }
}
