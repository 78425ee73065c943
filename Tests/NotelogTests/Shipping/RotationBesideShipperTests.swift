// A key is rotated while the store is shipped, by processes that come and go: FORMAT.md 21.4, §26.

import NotelogFormat
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct RotationBesideShipperTests {
  /// The keyring that opened what was shipped was never shipped, where a rotation ended between two rounds.
  @Test(arguments: [false, true])
  func `a rotation waits for one round, and every moment of before opens`(keepsEvidence: Bool) throws {
    let (disk, archive) = (SimulatedDisk(), SimulatedDisk())
    var options = Store.Options()
    options.keepsEvidence = keepsEvidence
    var store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    let shipper = Shipper(disk, to: archive.archive)
    var titles: [UInt64: [String]] = [:]
    func put(_ store: Store, _ title: String) throws {
      try store.putAll([Note(title: title, body: title)])
      titles[store.info().nextRevision - 1] = try Self.titles(store)
    }
    for number in 0..<5 { try put(store, "before \(number)") }
    try store.close()
    try shipper.ship()
    for round in 0..<3 {
      // A process, and nobody shipped since it rotated.
      store = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
      let first = try store.rotate("personal")
      #expect(first.retired.isEmpty && first.obstacle != nil && !first.isFinished, "\(round)")
      try put(store, "meanwhile \(round)")
      try store.close()
      // Another one.
      store = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
      #expect(try store.rotate("personal").retired.isEmpty, "\(round)")
      try store.close()
      try shipper.ship()
      store = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
      let last = try store.rotate("personal")
      #expect(last.retired.count == 1 && last.isFinished && last.obstacle == nil, "\(round)")
      try put(store, "after \(round)")
      try store.close()
    }
    #expect(try shipper.ship().findings.isEmpty)
    for (revision, titles) in titles {
      let restored = SimulatedDisk()
      let summary = try Store.restore(
        archive.archive, to: restored, at: .revision(revision), unlocking: TemporaryFolder.key)
      // With evidence no older keyring serves; of the moments between two rounds a later one is there.
      #expect(
        keepsEvidence
          ? !summary.findings.contains(where: \.isDamage) : summary.findings.isEmpty, "revision \(revision)")
      let store = try Store.open(in: restored, unlocking: TemporaryFolder.key, options: Store.Options())
      #expect(try Self.titles(store) == titles, "revision \(revision)")
      if keepsEvidence { #expect(try store.audit().isSound, "revision \(revision)") }
      try store.close()
    }
  }

  @Test func `a rotation ends at once where nobody ships`() throws {
    let (disk, archive) = (SimulatedDisk(), SimulatedDisk())
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    try store.putAll([Note(title: "title", body: "body")])
    do { try Shipper(disk, to: archive.archive).ship() }
    let step = try store.rotate("personal")
    #expect(step.isFinished && step.retired.count == 1)
    try store.close()
  }

  /// The other branch's key has the same number, and was taken.
  @Test func `of branches that rotate the same key, each is restored with its own`() throws {
    let (disk, archive) = (SimulatedDisk(), SimulatedDisk())
    let options = Store.Options()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    try store.putAll([Note(title: "first", body: "first")])
    try store.ship(to: archive.archive)
    let other = SimulatedDisk()
    _ = try Store.restore(archive.archive, to: other, unlocking: TemporaryFolder.key)
    let second = try Store.open(in: other, unlocking: TemporaryFolder.key, options: options)
    var titles: [String: [String]] = [:]
    for (number, (store, disk)) in [(store, disk), (second, other)].enumerated() {
      try store.rotate("personal")
      // One of the keyrings has a higher generation.
      if number == 1 { try store.createKey("another", .whenUnlocked) }
      try store.putAll([Note(title: "\(number)", body: "\(number)")])
      #expect(try store.ship(to: archive.archive).findings.isEmpty)
      let branch = try Examination(disk, storeID: nil).newest?.header.branchPrefix ?? 0
      titles[String(prefix: branch)] = try Self.titles(store)
      try store.close()
    }
    #expect(titles.count == 2)
    for (branch, titles) in titles {
      let restored = SimulatedDisk()
      _ = try Store.restore(archive.archive, to: restored, branch: branch, unlocking: TemporaryFolder.key)
      let store = try Store.open(in: restored, unlocking: TemporaryFolder.key, options: options)
      #expect(try Self.titles(store) == titles)
      try store.close()
      #expect(try Store.verify(in: restored, unlocking: TemporaryFolder.key).verdict == .sound)
    }
  }

  /// The newest keyring was taken, which has none of the keys, as all others count a schema that came later.
  @Test func `a moment between two rounds gets a keyring that opens it`() throws {
    let (disk, archive) = (SimulatedDisk(), SimulatedDisk())
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    try store.putAll([Note(title: "first", body: "first")])
    let shipper = Shipper(disk, to: archive.archive)
    try shipper.ship()
    try store.beginRotation(of: "personal")
    try store.putAll([Note(title: "second", body: "second")])
    let (revision, titles) = (store.info().nextRevision - 1, try Self.titles(store))
    try store.beginRotation(of: "personal")
    try shipper.ship()
    while try !store.rotate("personal").isFinished { try shipper.ship() }
    try shipper.ship()
    try store.close()
    let restored = SimulatedDisk()
    _ = try Store.restore(
      archive.archive, to: restored, at: .revision(revision), unlocking: TemporaryFolder.key)
    let again = try Store.open(in: restored, unlocking: TemporaryFolder.key, options: Store.Options())
    #expect(try Self.titles(again) == titles)
    try again.close()
  }

  private static func titles(_ store: Store) throws -> [String] {
    try store.query(Note.self).entries().map { try "\($0.title) \($0.body)" }.sorted()
  }
}
