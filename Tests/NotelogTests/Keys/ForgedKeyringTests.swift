// Keyrings that somebody without a key forged: what becomes of a backup, a restored and a salvaged store
// (INV-C8, docs/maintenance.md).

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

  private static func vouching(_ credential: Notelog.Credential) -> (Keyring) -> Bool {
    { (try? KeyringFiles.newest(of: [("", $0)], openedBy: credential)) != nil }
  }

  /// The bug: both keyrings of a good backup were replaced, all said that it was sound, and no password
  /// opened anything.
  @Test(arguments: [["keyring"], ["keyring.copy"], own])
  func `INV-C8 a forged keyring takes the place of none in a backup, and the key tells which is restored`(
    files: [String]
  ) throws {
    let (disk, backup) = (try Self.makeDisk(), SimulatedDisk())
    _ = try Store.backup(disk, to: backup)
    let genuine = Self.own.map { backup.contents($0) }
    let forged = try Self.forged(disk)
    for file in files { disk.replace(file, with: forged) }
    let done = try Store.backup(disk, to: backup)
    #expect(done.findings.contains { $0.part == .keyring && $0.message.contains("'k-00") })
    #expect(Self.own.map { backup.contents($0) } == genuine)
    let name = try #require(Self.further(backup).first)
    #expect(backup.contents(name) == forged && Self.further(backup).count == 1)
    let digest = try OpenSSL.sha256(forged).prefix(8).map { String(256 + Int($0), radix: 16).dropFirst() }
      .joined()
    #expect(
      name == "k-\(String(10_000_000_000 + (try Keyring(parsing: forged).generation)).dropFirst())-\(digest)")
    // Another backup finds it there.
    _ = try Store.backup(disk, to: backup)
    #expect(Self.further(backup) == [name])
    let restored = SimulatedDisk()
    #expect(throws: NotelogError(.locked, "")) { try Store.restore(backup, to: restored) }
    #expect(throws: NotelogError(.wrongPassword, "")) {
      try Store.restore(backup, to: restored, unlocking: Self.other)
    }
    #expect(restored.fileNames.isEmpty)
    #expect(try Store.restore(backup, to: restored, unlocking: Self.key).isEmpty)
    #expect(try Self.title(restored) == "Clark")
    let found = try Store.verify(in: backup, unlocking: Self.key)
    #expect(!found.isSound(.keyring) && found.wasUnlocked && found.openedCount > 0)
    #expect(try Store.verify(in: backup, unlocking: nil).findings.contains { $0.message.contains(name) })
  }

  /// Also where the forged one was there from the first backup on.
  @Test func `a store with one forged keyring leaves the genuine one in its first backup`() throws {
    for name in Self.own {
      let (disk, backup, restored) = (try Self.makeDisk(), SimulatedDisk(), SimulatedDisk())
      disk.replace(name, with: try Self.forged(disk))
      _ = try Store.backup(disk, to: backup)
      _ = try Store.restore(backup, to: restored, unlocking: Self.key)
      #expect(try Self.title(restored) == "Clark")
    }
  }

  @Test func `a keyring that the key vouches for takes the place of a backup's, and those before are gone`()
    throws
  {
    let (disk, backup) = (try Self.makeDisk(), SimulatedDisk())
    _ = try Store.backup(disk, to: backup)
    var store = try Store.open(in: disk, unlocking: Self.key, options: Self.small)
    try store.changeCredential(Self.key, to: Self.other)
    try store.close()
    _ = try Store.backup(disk, to: backup)
    #expect(Self.further(backup).count == 1)
    let unvouched = backup.copy()
    _ = try Store.backup(disk, to: backup, vouching: Self.vouching(Self.other))
    #expect(Self.further(backup).isEmpty)
    for name in Self.own { #expect(backup.contents(name) == disk.contents("keyring")) }
    let restored = SimulatedDisk()
    #expect(try Store.restore(backup, to: restored).isEmpty)
    #expect(try Self.title(restored, Self.other) == "Clark")
    #expect(throws: NotelogError(.wrongPassword, "")) { try Self.title(restored) }
    // Without the key both stay, and each opens with its own.
    for credential in [Self.key, Self.other] {
      let restored = SimulatedDisk()
      _ = try Store.restore(unvouched, to: restored, unlocking: credential)
      #expect(try Self.title(restored, credential) == "Clark")
    }
    // An older one of the store's own is none to take the place of a newer.
    let newest = backup.contents("keyring")
    for name in Self.own { disk.replace(name, with: unvouched.contents("keyring")) }
    _ = try Store.backup(disk, to: backup, vouching: Self.vouching(Self.key))
    #expect(backup.contents("keyring") == newest && Self.further(backup).count == 1)
    // An unlocked store vouches for its own; a locked one does not.
    for isLocked in [true, false] {
      let (folder, path) = (try TemporaryFolder(), try TemporaryFolder())
      store = try folder.create()
      try store.backup(to: path.path)
      try store.createKey("another", .whenUnlocked)
      if isLocked { store.lock() }
      #expect(try store.backup(to: path.path).findings.isEmpty != isLocked)
      try store.close()
    }
  }

  /// The bug: it was ignored.
  @Test func `a key that does not open the store is no key to back it up with`() throws {
    let (folder, backup) = (try TemporaryFolder(), try TemporaryFolder())
    try folder.create().close()
    #expect(throws: NotelogError(.wrongPassword, "")) {
      try Store.backup(of: folder.path, to: backup.path, unlocking: Self.other)
    }
    #expect(throws: NotelogError(.notFound, "")) {
      try Store.restore(from: backup.path, to: TemporaryFolder().path)
    }
    #expect(try Store.backup(of: folder.path, to: backup.path, unlocking: Self.key).findings.isEmpty)
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
