// Keyrings that somebody without a key forged: what becomes of an archive, a restored and a salvaged store
// (INV-C8, docs/maintenance.md).

import Foundation
import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog
@testable import NotelogCrypto

@Suite struct ForgedKeyringTests {
  private static let key = TemporaryFolder.key
  private static let other = Notelog.Credential.key([UInt8](repeating: 43, count: 32))
  private static let own = ["keyring", "keyring.copy"]

  private static let small: Store.Options = {
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    return options
  }()

  private static func makeDisk() throws -> SimulatedDisk {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: key, options: small)
    try store.putAll([Note(title: "Clark", body: "body")])
    try store.close()
    return disk
  }

  /// What anybody makes of a keyring: noise for all wraps, a later generation, and a digest that fits.
  private static func forged(_ disk: SimulatedDisk) throws -> [UInt8] {
    let genuine = try #require(disk.contents("keyring"))
    var bytes = Array(genuine[..<Int(genuine.rawSpan.load(UInt32.self, at: 12))])
    bytes[34] = 1
    let end = bytes.count - 64
    for index in 112..<216 { bytes[index] = UInt8(truncatingIfNeeded: index &* 151) }
    for index in end..<end + 32 { bytes[index] = 7 }
    bytes.replaceSubrange(end + 32..<end + 64, with: try OpenSSL.sha256(Array(bytes[..<(end + 32)])))
    #expect(try Keyring(parsing: bytes).generation > Keyring(parsing: genuine).generation)
    return bytes
  }

  private static func further(_ disk: SimulatedDisk) -> [String] {
    disk.fileNames.filter { $0.hasPrefix("k-") }.sorted()
  }

  private static func title(_ disk: SimulatedDisk, _ credential: Notelog.Credential = key) throws -> String? {
    let store = try Store.open(in: disk, unlocking: credential, options: small)
    defer { try? store.close() }
    return try store.query(Note.self).first()?.title
  }

  /// The bug: both keyrings of a good backup were replaced, all said that it was sound, and no password
  /// opened anything.
  @Test(arguments: [["keyring"], ["keyring.copy"], own])
  func `INV-C8 a forged keyring takes the place of none in an archive, and the key tells which is restored`(
    files: [String]
  ) throws {
    let (disk, archive) = (try Self.makeDisk(), SimulatedDisk())
    try Shipper(disk, to: archive.archive).ship()
    let genuine = try #require(Self.further(archive).first)
    let sound = archive.contents(genuine)
    let forged = try Self.forged(disk)
    for file in files { disk.replace(file, with: forged) }
    for _ in 0..<2 {
      try Shipper(disk, to: archive.archive).ship(checkingAll: true)
      #expect(archive.contents(genuine) == sound && Self.further(archive).count == 2)
    }
    let name = try #require(Self.further(archive).last)
    #expect(archive.contents(name) == forged)
    let digest = try OpenSSL.sha256(forged).prefix(8).map { String(256 + Int($0), radix: 16).dropFirst() }
      .joined()
    #expect(
      name == "k-\(String(10_000_000_000 + (try Keyring(parsing: forged).generation)).dropFirst())-\(digest)")
    let restored = SimulatedDisk()
    #expect(throws: NotelogError(.locked, "")) { try Store.restore(archive.archive, to: restored) }
    #expect(throws: NotelogError(.wrongPassword, "")) {
      try Store.restore(archive.archive, to: restored, unlocking: Self.other)
    }
    #expect(restored.fileNames.isEmpty)
    let summary = try Store.restore(archive.archive, to: restored, unlocking: Self.key)
    #expect(summary.findings.count == 1 && summary.findings.allSatisfy { $0.message.contains(name) })
    #expect(try Self.title(restored) == "Clark")
    let found = try Store.verify(archive.archive, unlocking: Self.key)
    #expect(!found.isSound(.keyring) && found.wasUnlocked && found.openedCount > 0)
    #expect(found.findings.contains { $0.message.contains(name) })
    // Nothing goes while it is there, by whatever key.
    for credential in [nil, Self.key] {
      let expired = try Store.expired(in: archive.archive, before: .distantFuture, unlocking: credential)
      #expect(!expired.names.contains { $0.hasPrefix("k-") })
    }
  }

  /// Also where the forged one was there from the first round on.
  @Test func `a store with one forged keyring leaves the genuine one in its archive`() throws {
    for name in Self.own {
      let (disk, archive, restored) = (try Self.makeDisk(), SimulatedDisk(), SimulatedDisk())
      disk.replace(name, with: try Self.forged(disk))
      try Shipper(disk, to: archive.archive).ship()
      _ = try Store.restore(archive.archive, to: restored, unlocking: Self.key)
      #expect(try Self.title(restored) == "Clark")
    }
  }

  @Test func `a keyring expires by a key that opens a newer one, and by no other`() throws {
    let (disk, archive) = (try Self.makeDisk(), SimulatedDisk())
    try Shipper(disk, to: archive.archive).ship()
    let before = Self.further(archive)
    let store = try Store.open(in: disk, unlocking: Self.key, options: Self.small)
    try store.changeCredential(Self.key, to: Self.other)
    try store.close()
    try Shipper(disk, to: archive.archive).ship()
    #expect(before.count == 1 && Self.further(archive).count == 2)
    // Each opens with its own.
    for credential in [Self.key, Self.other] {
      let restored = SimulatedDisk()
      _ = try Store.restore(archive.archive, to: restored, unlocking: credential)
      #expect(try Self.title(restored, credential) == "Clark")
    }
    for (credential, gone) in [(nil, []), (Self.key, []), (Self.other, before)]
      as [(Notelog.Credential?, [String])]
    {
      let expired = try Store.expired(in: archive.archive, before: .distantFuture, unlocking: credential)
      #expect(expired.names.filter { $0.hasPrefix("k-") } == gone)
      try archive.archive.delete(expired.names)
    }
    #expect(Self.further(archive).count == 1 && Self.further(archive) != before)
    let restored = SimulatedDisk()
    #expect(try Store.restore(archive.archive, to: restored).findings.isEmpty)
    #expect(try Self.title(restored, Self.other) == "Clark")
    #expect(throws: NotelogError(.wrongPassword, "")) { try Self.title(restored) }
  }

  /// The bug: it was ignored.
  @Test func `a key that opens no keyring of an archive is no key to expire by`() throws {
    let (disk, archive) = (try Self.makeDisk(), SimulatedDisk())
    try Shipper(disk, to: archive.archive).ship()
    #expect(throws: NotelogError(.wrongPassword, "")) {
      try Store.expired(in: archive.archive, before: .distantFuture, unlocking: Self.other)
    }
  }

  /// The bug: salvage took an added file for the keyring, and left the genuine one behind.
  @Test func `salvage brings all keyrings along, and the key tells which is the store's`() throws {
    let added = "keyring (conflicted copy)"
    let disk = try Self.makeDisk()
    let (genuine, forged) = (disk.contents("keyring"), try Self.forged(disk))
    func salvage(_ credential: Notelog.Credential?) throws -> (SalvageSummary, SimulatedDisk) {
      let target = SimulatedDisk()
      return (try Store.salvage(from: disk, to: target, unlocking: credential), target)
    }
    disk.replace(added, with: forged)
    for credential in [nil, Self.key] {
      let (summary, target) = try salvage(credential)
      #expect(try Self.title(target) == "Clark")
      #expect(summary.keyringFile == nil && summary.furtherKeyrings == Self.further(target))
      #expect(Self.further(target).map { target.contents($0) } == [forged])
    }
    // One that opened none was passed over, and said last.
    #expect(throws: NotelogError(.wrongPassword, "")) { try salvage(Self.other) }
    for name in Self.own { disk.replace(name, with: forged) }
    disk.replace(added, with: genuine)
    let (summary, target) = try salvage(nil)
    #expect(summary.keyringFile == nil && Self.further(target).map { target.contents($0) } == [genuine])
    let (byKey, opened) = try salvage(Self.key)
    #expect(byKey.keyringFile == added && Self.further(opened).map { opened.contents($0) } == [forged])
    #expect(try Self.title(opened) == "Clark")
  }
}
