// What an archive holds after odd lives of its store, and beside a medium that fails: FORMAT.md §26.

@testable import Notelog
@testable import NotelogFormat
import Foundation
import NotelogBase
import NotelogCrypto
import NotelogStorage
import NotelogTestSupport
import Testing

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
