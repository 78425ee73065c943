// Damage of a store, or of its backup, never takes away what the backup holds, and is never passed over:
// docs/maintenance.md, "Backup of a damaged store".

@testable import NotelogStorage
@testable import Notelog
import NotelogFormat
import NotelogTestSupport
import Testing

@Suite struct `Damage around backups` {
  /// A backup brought up to date from a store that had lost a segment removed its good copy of it; and the
  /// log's end, with a bit flipped in it, took the place of the good one without a word.
  @Test(arguments: [true, false], FileDamage.allCases)
  func `whatever a store lost, its backup still has what it had`(isClosed: Bool, damage: FileDamage) throws {
    let sample = try BackupSample(isClosed: isClosed)
    var tried = 0
    for name in sample.disk.fileNames where name.hasSuffix(".journal") {
      let bytes = try #require(sample.disk.contents(name))
      for image in damage.images(of: bytes) {
        let place = "\(name), \(damage) at \(image.place)"
        let source = sample.disk.copy()
        source.replace(name, with: image.bytes)
        let backup = sample.backup.copy()
        var isNoticed = false
        do { isNoticed = try !Journal.backup(from: source, to: backup).findings.isEmpty } catch {
          isNoticed = true
        }
        let restored = SimulatedDisk()
        let damages = try Journal.restore(from: backup, to: restored)
        let contents = try BackupSample.contents(restored)
        // A record of which a newer version is known to be damaged is not served in the version that the
        // backup had.
        let newer = sample.newestRecords(in: name, damage.range(at: image.place, of: bytes.count))
        let lost = sample.held.filter { number, body in
          let current = sample.current[number]
          let isSuperseded = current != body && newer.contains(number)
          return contents[number] != body && contents[number] != current && !isSuperseded
        }
        #expect(lost.isEmpty, "\(place): \(lost.keys.sorted()) are lost")
        // What nothing says was durable is no damage, at the end of a log that was not closed.
        let isDamaged = (try? Journal.verify(source).report.isDamaged) ?? true
        if contents != sample.current, isDamaged || isClosed {
          #expect(isNoticed, "\(place): the backup says nothing")
          #expect(contents == sample.held || !damages.isEmpty, "\(place): restoring says nothing")
        }
        tried += 1
      }
    }
    #expect(tried > 3)
  }

  /// One byte in `manifest` or in the log's end made a backup useless, and rot in a backup was found by
  /// nobody before it was restored.
  @Test(arguments: FileDamage.allCases)
  func `whatever becomes of a file of a backup, it is found, heals, and costs what was in it at most`(
    damage: FileDamage
  ) throws {
    let sample = try BackupSample(isClosed: true)
    let whole = sample.backup
    #expect(try Journal.backup(from: sample.disk, to: whole).findings == [])
    #expect(try !Self.isRotten(whole))
    for name in whole.fileNames where name != FileName.lock {
      let bytes = try #require(whole.contents(name))
      for image in damage.images(of: bytes) {
        let place = "\(name), \(damage) at \(image.place)"
        let backup = whole.copy()
        backup.replace(name, with: image.bytes)
        #expect(try Self.isRotten(backup), "\(place): verifying finds nothing")
        // What is restored of it.
        let restored = SimulatedDisk()
        let damages = try Journal.restore(from: backup, to: restored)
        let contents = try BackupSample.contents(restored)
        let lost = sample.current.filter { contents[$0] != $1 }.keys
        #expect(lost.isEmpty || !damages.isEmpty, "\(place): restoring says nothing of \(lost.sorted())")
        let hit = BackupSample.records(in: bytes, damage.range(at: image.place, of: bytes.count))
        #expect(hit.isSuperset(of: lost), "\(place): lost \(lost.sorted()), hit \(hit.sorted())")
        let isDamaged = try Journal.verify(restored).report.isDamaged
        #expect(lost.isEmpty || isDamaged, "\(place)")
        // The next one from the sound store heals it.
        #expect(try Journal.backup(from: sample.disk, to: backup, checksParts: true).findings == [])
        #expect(try !Self.isRotten(backup), "\(place): not healed")
        let again = SimulatedDisk()
        #expect(try Journal.restore(from: backup, to: again) == [])
        #expect(try BackupSample.contents(again) == sample.current, "\(place)")
      }
    }
  }

  private static func isRotten(_ backup: SimulatedDisk) throws -> Bool {
    let folder = try #require(try BackupView.find(in: backup))
    guard folder.findings.isEmpty, let view = folder.view else { return true }
    return try !view.verifyParts { _, _ in true }.isEmpty || Journal.verify(view).report.isDamaged
  }

  /// What is between a segment's ends is read only when that is asked for; the ends are always.
  @Test func `a part that rotted is copied again, once it is looked at`() throws {
    let sample = try BackupSample(isClosed: true)
    let backup = sample.backup
    let name = try #require(backup.fileNames.first { $0.hasSuffix(".segment") })
    let bytes = try #require(backup.contents(name))
    for (place, isFoundAlways) in [(5000, false), (bytes.count - 10, true), (10, true), (4100, true)] {
      var rotten = bytes
      rotten[place] ^= 1
      backup.replace(name, with: rotten)
      let report = try Journal.backup(from: sample.disk, to: backup)
      #expect(report.healedSegments == (isFoundAlways ? 1 : 0), "\(place)")
      #expect((backup.contents(name) == bytes) == isFoundAlways, "\(place)")
      let checked = try Journal.backup(from: sample.disk, to: backup, checksParts: true)
      #expect(checked.healedSegments == (isFoundAlways ? 0 : 1), "\(place)")
      #expect(backup.contents(name) == bytes)
    }
  }

  @Test func `what belongs to the last backup of a sound store stays until there is another one`() throws {
    let sample = try BackupSample(isClosed: false)
    let before = sample.backup.fileNames.filter { !$0.hasPrefix("manifest") }
    // The store is compacted, so that much of the backup is superseded, and loses a record.
    let journal = try Journal.open(in: sample.disk, options: .small)
    for number in 0..<60 { try journal.put(key(number), BackupSample.body(number, 3)) }
    #expect(try journal.compact().removedSegments > 0)
    for number in 200..<260 { try journal.put(key(number), BackupSample.body(number, 3)) }
    try journal.close()
    let damaged = sample.disk.copy()
    let name = try #require(damaged.fileNames.last { $0.hasSuffix(".journal") })
    var bytes = try #require(damaged.contents(name))
    bytes[bytes.count / 2] ^= 1
    damaged.replace(name, with: bytes)
    for _ in 0..<2 {
      #expect(try !Journal.backup(from: damaged, to: sample.backup).findings.isEmpty)
      #expect(Set(before).isSubset(of: sample.backup.fileNames))
      #expect(sample.backup.fileNames.contains { $0.hasSuffix(".damaged") })
      #expect(try !Journal.restore(from: sample.backup, to: SimulatedDisk()).isEmpty)
    }
    #expect(try Journal.backup(from: sample.disk, to: sample.backup).findings == [])
    #expect(before.contains { !sample.backup.fileNames.contains($0) })
    #expect(!sample.backup.fileNames.contains { $0.hasSuffix(".damaged") })
    #expect(try Journal.restore(from: sample.backup, to: SimulatedDisk()) == [])
  }

  /// The frame that published a compaction was lost in the store, the compacted segment with it from its live
  /// set. The log's end is mended from the backup, and names that segment again.
  @Test func `a segment that the mended end of the log names comes from the last backup of a sound store`()
    throws
  {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for version in 0..<3 {
      for number in 0..<40 { try journal.put(key(number), BackupSample.body(number, version)) }
    }
    // Another process keeps the sources.
    try disk.makeFolder("pins")
    let pin = try disk.open("pins/other.pin", .createNew)
    try pin.lock(.shared)
    #expect(try journal.compact().removedSegments > 0)
    try journal.synchronize()
    let backup = SimulatedDisk()
    #expect(try Journal.backup(from: disk, to: backup).findings == [])
    try journal.put(key(1), BackupSample.body(1, 4))
    try journal.close()
    let change = try #require(FrameMap(disk).frames.last { $0.kind == MappedFrame.liveChange })
    var bytes = try #require(disk.contents(change.segment))
    bytes[change.range.lowerBound + 8] ^= 1
    disk.replace(change.segment, with: bytes)
    #expect(try !Journal.backup(from: disk, to: backup).findings.isEmpty)
    let restored = SimulatedDisk()
    #expect(try Journal.restore(from: backup, to: restored) == [])
    let contents = try BackupSample.contents(restored)
    for number in 0..<40 {
      #expect(contents[number] == BackupSample.body(number, number == 1 ? 4 : 2), "\(number)")
    }
    // Until here the sources are there.
    pin.close()
  }

  /// The newest segment gone, or an older copy of the store: the backup would have lost what it alone still
  /// had.
  @Test func `a store that ends before its backup leaves the backup as it is`() throws {
    let sample = try BackupSample(isClosed: true)
    let older = SimulatedDisk()
    #expect(try Journal.restore(from: sample.backup, to: older) == [])
    #expect(try Journal.backup(from: sample.disk, to: sample.backup).findings == [])
    let files = sample.backup.fileNames.map { sample.backup.contents($0) }
    #expect(try Journal.backup(from: older, to: sample.backup).findings.map(\.kind) == [.endsBeforeBackup])
    #expect(sample.backup.fileNames.map { sample.backup.contents($0) } == files)
  }

  @Test(arguments: FileDamage.allCases)
  func `a first backup of a damaged store holds all that is sound in it, and says what isn't`(
    damage: FileDamage
  ) throws {
    let sample = try BackupSample(isClosed: true)
    for name in sample.disk.fileNames where name.hasSuffix(".journal") {
      let bytes = try #require(sample.disk.contents(name))
      for image in damage.images(of: bytes) {
        let place = "\(name), \(damage) at \(image.place)"
        let source = sample.disk.copy()
        source.replace(name, with: image.bytes)
        let backup = SimulatedDisk()
        // Where too little is left to say what the store was, there is no backup.
        guard let report = try? Journal.backup(from: source, to: backup) else { continue }
        let restored = SimulatedDisk()
        let damages = try Journal.restore(from: backup, to: restored)
        if try Journal.verify(source).report.isDamaged {
          #expect(!report.findings.isEmpty && !damages.isEmpty, "\(place)")
        }
        let contents = try BackupSample.contents(restored)
        let hit = BackupSample.records(in: bytes, damage.range(at: image.place, of: bytes.count))
        let lost = sample.current.filter { contents[$0] != $1 }.keys
        #expect(hit.isSuperset(of: lost), "\(place): lost \(lost.sorted()), hit \(hit.sorted())")
      }
    }
  }

  @Test func `a store that can't be written to is backed up all the same`() throws {
    for errno in [SystemErrno.readOnly, SystemErrno.accessDenied] {
      let sample = try BackupSample(isClosed: true)
      let source = sample.disk.copy()
      source.plan(Fault(.error(errno), of: [.mkdir], passing: 0))
      let backup = SimulatedDisk()
      _ = try Journal.backup(from: source, to: backup)
      #expect(source.firedFaults.count == 1)
      let restored = SimulatedDisk()
      #expect(try Journal.restore(from: backup, to: restored).isEmpty)
      #expect(try BackupSample.contents(restored) == sample.current)
    }
  }

  @Test func `no failing call of a backup takes anything from the one before`() throws {
    let sample = try BackupSample(isClosed: true)
    let damaged = sample.disk.copy()
    let name = try #require(damaged.fileNames.last { $0.hasSuffix(".journal") })
    var bytes = try #require(damaged.contents(name))
    bytes[5000] ^= 1
    damaged.replace(name, with: bytes)
    struct Lost: Error {}
    for source in [sample.disk, damaged] {
      let sound = source === sample.disk
      let (struck, failures) = FaultSweep.run(from: sample.backup) { backup, _ in
        let isDone = (try? Journal.backup(from: source.copy(), to: backup)) != nil
        backup.forgetFaults()
        let restored = SimulatedDisk()
        let damages = try Journal.restore(from: backup, to: restored)
        let contents = try BackupSample.contents(restored)
        let lost = sample.held.contains { contents[$0] != $1 && contents[$0] != sample.current[$0] }
        if lost || (sound && !damages.isEmpty) || (sound && isDone && contents != sample.current) {
          throw Lost()
        }
      }
      #expect(
        failures.isEmpty, "\(failures.count) of \(struck):\n\(failures.prefix(12).joined(separator: "\n"))")
      #expect(struck > 100)
    }
  }
}
