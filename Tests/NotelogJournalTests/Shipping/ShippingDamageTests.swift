// Damage of a store, or of its archive, never takes away what the archive holds, and is never passed over:
// INV-C7, FORMAT.md §26.

@testable import NotelogStorage
@testable import Notelog
import NotelogFormat
import NotelogTestSupport
import Testing

@Suite struct `Damage around archives` {
  /// A backup brought up to date from a store that had lost a segment removed its good copy of it; and the
  /// log's end, with a bit flipped in it, took the place of the good one without a word.
  @Test(arguments: [true, false], FileDamage.allCases)
  func `whatever a store lost, its archive still has what it had`(isClosed: Bool, damage: FileDamage) throws {
    let sample = try ShippedSample(isClosed: isClosed)
    var tried = 0
    for name in sample.disk.fileNames where name.hasSuffix(".journal") {
      let bytes = try #require(sample.disk.contents(name))
      for image in damage.images(of: bytes) {
        let place = "\(name), \(damage) at \(image.place)"
        let source = sample.disk.copy()
        source.replace(name, with: image.bytes)
        let archive = sample.archive.copy()
        var isNoticed = false
        do { isNoticed = try !backUp(source, to: archive).findings.isEmpty } catch {
          isNoticed = true
        }
        let restored = SimulatedDisk()
        let found = try restore(archive, to: restored)
        let contents = try ShippedSample.contents(restored)
        // A record of which a newer version is known to be damaged is not served in the version that the
        // archive had.
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
          #expect(isNoticed, "\(place): shipping says nothing")
          let isSaid = !found.findings.isEmpty || found.revision < sample.revision
          #expect(contents == sample.held || isSaid, "\(place): restoring says nothing")
        }
        tried += 1
      }
    }
    #expect(tried > 3)
  }

  /// One byte in `manifest` or in the log's end made a backup useless, and rot in a backup was found by
  /// nobody before it was restored.
  @Test(arguments: FileDamage.allCases)
  func `whatever becomes of an object, it is found, heals, and costs what was in it at most`(
    damage: FileDamage
  ) throws {
    let sample = try ShippedSample(isClosed: true)
    let whole = sample.archive
    let summary = try backUp(sample.disk, to: whole)
    #expect(summary.findings == [])
    // Of what is gone without a trace, the revision speaks.
    func isRotten(_ archive: SimulatedDisk) -> Bool {
      guard let found = try? verify(archive) else { return true }
      return !found.damages.isEmpty || found.revision < summary.revision
    }
    #expect(!isRotten(whole))
    for name in whole.fileNames where !name.hasPrefix("store-") {
      let bytes = try #require(whole.contents(name))
      for image in damage.images(of: bytes) {
        let place = "\(name), \(damage) at \(image.place)"
        let archive = whole.copy()
        archive.replace(name, with: image.bytes)
        #expect(isRotten(archive), "\(place): verifying finds nothing")
        // What is restored of it.
        let restored = SimulatedDisk()
        let found = try restore(archive, to: restored)
        let isSaid = !found.findings.isEmpty || found.revision < summary.revision
        let contents = try ShippedSample.contents(restored)
        let lost = sample.current.filter { contents[$0] != $1 }.keys
        #expect(lost.isEmpty || isSaid, "\(place): restoring says nothing of \(lost.sorted())")
        let hit = ShippedSample.records(in: bytes, damage.range(at: image.place, of: bytes.count))
        #expect(
          hit.isSuperset(of: lost) || found.revision < summary.revision,
          "\(place): lost \(lost.sorted()), hit \(hit.sorted())")
        let isDamaged = try Journal.verify(restored).report.isDamaged
        #expect(lost.isEmpty || isDamaged || found.revision < summary.revision, "\(place)")
        // The next one from the sound store heals it.
        #expect(try backUp(sample.disk, to: archive, checkingAll: true).findings == [])
        #expect(!isRotten(archive), "\(place): not healed")
        let again = SimulatedDisk()
        #expect(try restore(archive, to: again).findings == [])
        #expect(try ShippedSample.contents(again) == sample.current, "\(place)")
      }
    }
  }

  /// Rounds go by names and lengths; bytes are read only when that is asked for.
  @Test func `an object that rotted is put again, once it is looked at`() throws {
    let sample = try ShippedSample(isClosed: true)
    let archive = sample.archive
    let name = try #require(archive.fileNames.first { $0.hasPrefix("s-") })
    let bytes = try #require(archive.contents(name))
    for (place, isCut) in [(5000, false), (bytes.count - 10, false), (10, false), (bytes.count - 1, true)] {
      var rotten = bytes
      if isCut { rotten.removeLast() } else { rotten[place] ^= 1 }
      archive.replace(name, with: rotten)
      let report = try ship(sample.disk, to: archive)
      #expect(report.mendedObjects == (isCut ? 1 : 0), "\(place)")
      #expect((archive.contents(name) == bytes) == isCut, "\(place)")
      let checked = try ship(sample.disk, to: archive, checkingAll: true)
      #expect(checked.mendedObjects == (isCut ? 0 : 1), "\(place)")
      #expect(archive.contents(name) == bytes)
    }
  }

  @Test func `what belongs to the last moment of a sound store stays until there is another one`() throws {
    let sample = try ShippedSample(isClosed: false)
    let before = sample.archive.fileNames
    // The store is compacted, so that much of the archive is superseded, and loses a record.
    let journal = try Journal.open(in: sample.disk, options: .small)
    for number in 0..<60 { try journal.put(key(number), ShippedSample.body(number, 3)) }
    #expect(try journal.compact().removedSegments > 0)
    for number in 200..<260 { try journal.put(key(number), ShippedSample.body(number, 3)) }
    try journal.close()
    let damaged = sample.disk.copy()
    let name = try #require(damaged.fileNames.last { $0.hasSuffix(".journal") })
    var bytes = try #require(damaged.contents(name))
    bytes[bytes.count / 2] ^= 1
    damaged.replace(name, with: bytes)
    // What was put is not read again unless that is asked for.
    for checksAll in [false, true] {
      #expect(try !backUp(damaged, to: sample.archive, checkingAll: checksAll).findings.isEmpty)
      #expect(Set(before).isSubset(of: sample.archive.fileNames))
      #expect(try !restore(sample.archive, to: SimulatedDisk()).findings.isEmpty)
    }
    #expect(try backUp(sample.disk, to: sample.archive).findings == [])
    #expect(before.contains { !sample.archive.fileNames.contains($0) })
    #expect(try restore(sample.archive, to: SimulatedDisk()).findings == [])
  }

  /// The frame that published a compaction was lost in the store, the compacted segment with it from its live
  /// set. The log's end is mended from the archive, and names that segment again.
  @Test func `a segment that the mended end of the log names comes from the archive`()
    throws
  {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for version in 0..<3 {
      for number in 0..<40 { try journal.put(key(number), ShippedSample.body(number, version)) }
    }
    // Another process keeps the sources.
    try disk.makeFolder("pins")
    let pin = try disk.open("pins/other.pin", .createNew)
    try pin.lock(.shared)
    #expect(try journal.compact().removedSegments > 0)
    try journal.synchronize()
    let archive = SimulatedDisk()
    #expect(try backUp(disk, to: archive).findings == [])
    try journal.put(key(1), ShippedSample.body(1, 4))
    try journal.close()
    let change = try #require(FrameMap(disk).frames.last { $0.kind == MappedFrame.liveChange })
    var bytes = try #require(disk.contents(change.segment))
    bytes[change.range.lowerBound + 8] ^= 1
    disk.replace(change.segment, with: bytes)
    #expect(try !backUp(disk, to: archive).findings.isEmpty)
    let restored = SimulatedDisk()
    #expect(try restore(archive, to: restored).findings == [])
    let contents = try ShippedSample.contents(restored)
    for number in 0..<40 {
      #expect(contents[number] == ShippedSample.body(number, number == 1 ? 4 : 2), "\(number)")
    }
    // Until here the sources are there.
    pin.close()
  }

  /// The newest segment gone, or an older copy of the store: the archive would have lost what it alone still
  /// had.
  @Test func `a store that ends before its archive leaves the archive as it is`() throws {
    let sample = try ShippedSample(isClosed: true)
    #expect(try backUp(sample.disk, to: sample.archive).findings == [])
    let cut = sample.disk.copy()
    cut.replace(try #require(cut.fileNames.last { $0.hasSuffix(".journal") }), with: nil)
    let files = sample.archive.fileNames.map { sample.archive.contents($0) }
    for source in [sample.older, cut] {
      #expect(try backUp(source, to: sample.archive).findings.contains { $0.kind == .endsBeforeArchive })
      #expect(sample.archive.fileNames.map { sample.archive.contents($0) } == files)
    }
  }

  @Test(arguments: FileDamage.allCases)
  func `a first archive of a damaged store holds all that is sound in it, and says what isn't`(
    damage: FileDamage
  ) throws {
    let sample = try ShippedSample(isClosed: true)
    for name in sample.disk.fileNames where name.hasSuffix(".journal") {
      let bytes = try #require(sample.disk.contents(name))
      for image in damage.images(of: bytes) {
        let place = "\(name), \(damage) at \(image.place)"
        let source = sample.disk.copy()
        source.replace(name, with: image.bytes)
        let archive = SimulatedDisk()
        // Where too little is left to say what the store was, there is no archive.
        guard let report = try? backUp(source, to: archive) else { continue }
        let restored = SimulatedDisk()
        let found = try restore(archive, to: restored)
        if try Journal.verify(source).report.isDamaged { #expect(!report.findings.isEmpty, "\(place)") }
        let contents = try ShippedSample.contents(restored)
        let hit = ShippedSample.records(in: bytes, damage.range(at: image.place, of: bytes.count))
        let lost = sample.current.filter { contents[$0] != $1 }.keys
        // Where the newest segment tells no more which others there are, the moment before is what is left.
        let isSaid = !found.findings.isEmpty || found.revision < sample.revision
        #expect(lost.isEmpty || isSaid, "\(place)")
        #expect(
          hit.isSuperset(of: lost) || found.revision < sample.revision,
          "\(place): lost \(lost.sorted()), hit \(hit.sorted())")
      }
    }
  }

  @Test func `a store that can't be written to is shipped all the same`() throws {
    for errno in [SystemErrno.readOnly, SystemErrno.accessDenied] {
      let sample = try ShippedSample(isClosed: true)
      let source = sample.disk.copy()
      source.plan(Fault(.error(errno), of: [.mkdir], passing: 0))
      let archive = SimulatedDisk()
      _ = try backUp(source, to: archive)
      #expect(source.firedFaults.count == 1)
      let restored = SimulatedDisk()
      #expect(try restore(archive, to: restored).findings.isEmpty)
      #expect(try ShippedSample.contents(restored) == sample.current)
    }
  }

  @Test func `no failing call takes anything from what was shipped`() throws {
    let sample = try ShippedSample(isClosed: true)
    let damaged = sample.disk.copy()
    let name = try #require(damaged.fileNames.last { $0.hasSuffix(".journal") })
    var bytes = try #require(damaged.contents(name))
    bytes[5000] ^= 1
    damaged.replace(name, with: bytes)
    struct Lost: Error {}
    for source in [sample.disk, damaged] {
      let sound = source === sample.disk
      let (struck, failures) = FaultSweep.run(from: sample.archive) { archive, _ in
        let isDone = (try? backUp(source.copy(), to: archive)) != nil
        archive.forgetFaults()
        let restored = SimulatedDisk()
        let damages = try restore(archive, to: restored).findings
        let contents = try ShippedSample.contents(restored)
        let lost = sample.held.contains { contents[$0] != $1 && contents[$0] != sample.current[$0] }
        if lost || (sound && !damages.isEmpty) || (sound && isDone && contents != sample.current) {
          throw Lost()
        }
      }
      #expect(
        failures.isEmpty, "\(failures.count) of \(struck):\n\(failures.prefix(12).joined(separator: "\n"))")
      #expect(struck > 80)
    }
  }
}
