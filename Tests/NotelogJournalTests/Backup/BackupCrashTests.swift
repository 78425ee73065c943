// A backup interrupted at every step of it: FORMAT.md §26.

@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct `Crashes of backup` {
  /// INV-C6.
  @Test func `a crash at any step of a backup leaves the one before or the new one`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<80 { try journal.put(key(number), `Backup`.body(number, 0)) }
    let first = disk.copy()
    for number in 0..<80 { try journal.put(key(number), `Backup`.body(number, 1)) }
    try journal.synchronize()
    // What is lost of the names is drawn by the seed: that the manifest's outlives a segment's takes more
    // than one.
    let tally = TestEffort.sample(UInt64(1)..<41, 3).map { seed in
      CrashSweep<Int>(
        name: "backup-\(seed)", seed: seed,
        workload: { backup, notes in
          _ = try Journal.backup(from: first, to: backup)
          notes.note(0)
          _ = try Journal.backup(from: disk, to: backup)
          notes.note(1)
        },
        check: { backup, _, notes in
          struct Wrong: Error {}
          let target = SimulatedDisk()
          do {
            guard try Journal.restore(from: backup, to: target).isEmpty else { throw Wrong() }
          } catch let error as NotelogError where error.code == .notFound && notes.isEmpty {
            // The first of all was interrupted: there is none yet.
            return
          }
          let journal = try Journal.open(in: target, options: .small)
          let versions = try Set(
            (0..<80).map { number in
              let body = try journal.body(of: key(number))
              return [0, 1].first { `Backup`.body(number, $0) == body }
            })
          guard versions.count == 1, let version = versions.first ?? nil, version >= notes.last ?? 0 else {
            throw Wrong()
          }
          // The other manifest names a backup that is as whole, that one or the one before.
          guard !notes.isEmpty else { return }
          backup.replace("manifest", with: nil)
          guard try Journal.restore(from: backup, to: SimulatedDisk()).isEmpty else { throw Wrong() }
        }
      ).run()
    }.reduce(CrashTally(), +)
    #expect(tally.failures.isEmpty, "\(tally.summary)")
    #expect(tally.pairCount > 50)
  }

  /// INV-C7.
  @Test func `a crash at any step of a backup of a damaged store takes nothing from the one before`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<40 { try journal.put(key(number), `Backup`.body(number, 0)) }
    let first = disk.copy()
    for number in 0..<40 { try journal.put(key(number), `Backup`.body(number, 1)) }
    try journal.close()
    let sound = disk.copy()
    // A segment that the backup has is gone; the one that was its log's end has a block that does not check.
    let names = disk.fileNames.filter { $0.hasSuffix(".journal") }
    disk.replace(names[0], with: nil)
    let end = try #require(first.fileNames.last { $0.hasSuffix(".journal") })
    var bytes = try #require(disk.contents(end))
    bytes.replaceSubrange(5000..<5512, with: repeatElement(0, count: 512))
    disk.replace(end, with: bytes)
    let tally = TestEffort.sample(UInt64(1)..<21, 1).map { seed in
      CrashSweep<Int>(
        name: "backup-damaged-\(seed)", seed: seed,
        workload: { backup, notes in
          _ = try Journal.backup(from: first, to: backup)
          notes.note(0)
          _ = try Journal.backup(from: disk, to: backup)
          notes.note(1)
          _ = try Journal.backup(from: sound, to: backup)
          notes.note(2)
        },
        check: { backup, _, notes in
          struct Wrong: Error {}
          let target = SimulatedDisk()
          do { _ = try Journal.restore(from: backup, to: target) } catch let error as NotelogError
            where error.code == .notFound && notes.isEmpty
          {
            return
          }
          let contents = try BackupSample.contents(target)
          for number in 0..<40 {
            let version = [0, 1].first { `Backup`.body(number, $0) == contents[number] }
            guard let version, notes.last != 2 || version == 1 else { throw Wrong() }
          }
        }
      ).run()
    }.reduce(CrashTally(), +)
    #expect(tally.failures.isEmpty, "\(tally.summary)")
    #expect(tally.pairCount > 50)
  }

  /// A copy of what was written and not durable outlived it: restored, it was newer than the store that went
  /// on.
  @Test func `what a backup holds, the store holds after any crash`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<80 { try journal.put(key(number), `Backup`.body(number, 0), .buffered) }
    let backup = SimulatedDisk()
    _ = try Journal.backup(from: disk, to: backup)
    for loss in LossModel.allCases {
      let again = try Journal.open(in: disk.crashImageNow(loss), options: .small)
      for number in 0..<80 { #expect(try again.body(of: key(number)) == `Backup`.body(number, 0), "\(loss)") }
    }
  }
}
