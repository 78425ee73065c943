// Rounds of shipping, and deletion of what expired, interrupted at every step: FORMAT.md §26.

@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct `Crashes of shipping and deletion` {
  /// INV-C6.
  @Test func `a crash at any step leaves a committed prefix that holds all that was shipped before`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<80 { try journal.put(key(number), `Shipping`.body(number, 0)) }
    let first = disk.copy()
    for number in 0..<80 { try journal.put(key(number), `Shipping`.body(number, 1)) }
    try journal.synchronize()
    // What is lost of the names is drawn by the seed: that a piece's outlives a segment's takes more than one.
    let tally = TestEffort.sample(UInt64(1)..<41, 3).map { seed in
      CrashSweep<Int>(
        name: "shipping-\(seed)", seed: seed,
        workload: { archive, notes in
          _ = try backUp(first, to: archive)
          notes.note(0)
          _ = try backUp(disk, to: archive)
          notes.note(1)
        },
        check: { archive, _, notes in
          struct Wrong: Error {}
          let target = SimulatedDisk()
          do {
            guard try restore(archive, to: target).findings.isEmpty else { throw Wrong() }
          } catch let error as NotelogError where error.code == .notFound && notes.isEmpty {
            // The first of all was interrupted: there is none yet.
            return
          }
          let journal = try Journal.open(in: target, options: .small)
          let found = try journal.records().count
          let versions = try (0..<found).map { number in
            let body = try journal.body(of: key(number))
            return [0, 1].first { `Shipping`.body(number, $0) == body } ?? 2
          }
          // In the order of the transactions.
          let newer = versions.prefix { $0 == 1 }.count
          guard versions[newer...].allSatisfy({ $0 == 0 }), found == 80 || newer == 0,
            notes.isEmpty || found == 80,
            notes.last != 1 || newer == 80
          else { throw Wrong() }
        }
      ).run()
    }.reduce(CrashTally(), +)
    #expect(tally.failures.isEmpty, "\(tally.summary)")
    #expect(tally.pairCount > 50)
  }

  /// INV-C7.
  @Test func `a crash at any step with a damaged store takes nothing from what was shipped`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<40 { try journal.put(key(number), `Shipping`.body(number, 0)) }
    let first = disk.copy()
    for number in 0..<40 { try journal.put(key(number), `Shipping`.body(number, 1)) }
    try journal.close()
    let sound = disk.copy()
    // A segment that the archive has is gone; the one that was the head has a block that does not check.
    let names = disk.fileNames.filter { $0.hasSuffix(".journal") }
    disk.replace(names[0], with: nil)
    let end = try #require(first.fileNames.last { $0.hasSuffix(".journal") })
    var bytes = try #require(disk.contents(end))
    bytes.replaceSubrange(5000..<5512, with: repeatElement(0, count: 512))
    disk.replace(end, with: bytes)
    let tally = TestEffort.sample(UInt64(1)..<21, 1).map { seed in
      CrashSweep<Int>(
        name: "shipping-damaged-\(seed)", seed: seed,
        workload: { archive, notes in
          _ = try backUp(first, to: archive)
          notes.note(0)
          _ = try backUp(disk, to: archive)
          notes.note(1)
          _ = try backUp(sound, to: archive)
          notes.note(2)
        },
        check: { archive, _, notes in
          struct Wrong: Error {}
          let target = SimulatedDisk()
          do { _ = try restore(archive, to: target).findings } catch let error as NotelogError
            where error.code == .notFound && notes.isEmpty
          {
            return
          }
          guard !notes.isEmpty else { return }
          let contents = try ShippedSample.contents(target)
          for number in 0..<40 {
            let version = [0, 1].first { `Shipping`.body(number, $0) == contents[number] }
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
  @Test func `what an archive holds, the store holds after any crash`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<80 { try journal.put(key(number), `Shipping`.body(number, 0), .buffered) }
    let archive = SimulatedDisk()
    _ = try backUp(disk, to: archive)
    for loss in LossModel.allCases {
      let again = try Journal.open(in: disk.crashImageNow(loss), options: .small)
      for number in 0..<80 {
        #expect(try again.body(of: key(number)) == `Shipping`.body(number, 0), "\(loss)")
      }
    }
  }
}
