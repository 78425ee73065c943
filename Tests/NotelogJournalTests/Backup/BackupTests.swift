// A backup is whole or not there, copies only what is new, and what it holds can be restored.

@testable import Notelog
@testable import NotelogStorage
import NotelogFormat
import NotelogBase
import NotelogTestSupport
import Testing

@Suite struct `Backup` {
  static func body(_ number: Int, _ version: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number &+ version &* 7), count: 200)
  }

  private static func contents(_ disk: SimulatedDisk) throws -> [Int: [UInt8]] {
    let journal = try Journal.open(in: disk, options: .small)
    #expect(journal.report.verdict == .sound)
    var contents: [Int: [UInt8]] = [:]
    for id in try journal.records() { contents[Int(id.low)] = try journal.body(of: id) }
    try journal.close()
    return contents
  }

  private static func isNoticed(_ backup: SimulatedDisk) -> Bool {
    do { return try !Journal.restore(from: backup, to: SimulatedDisk()).isEmpty } catch {
      return true
    }
  }

  private static func restored(_ backup: SimulatedDisk) throws -> [Int: [UInt8]] {
    let disk = SimulatedDisk()
    #expect(try Journal.restore(from: backup, to: disk) == [])
    return try contents(disk)
  }

  @Test func `a backup of a store in use holds what was committed, and copies only what is new`() throws {
    let disk = SimulatedDisk()
    let backup = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    var model: [Int: [UInt8]] = [:]
    for round in 0..<4 {
      for number in 0..<150 where number % 4 != round {
        try journal.put(key(number), Self.body(number, round))
        model[number] = Self.body(number, round)
      }
      if round == 2 { _ = try journal.compact() }
      let report = try Journal.backup(from: disk, to: backup)
      #expect(report.findings == [])
      #expect(round != 1 || report.keptSegments > 0)
      #expect(try Self.restored(backup) == model)
      let again = try Journal.backup(from: disk, to: backup)
      #expect(again.copiedSegments == 0)
    }
    try journal.close()
    // One that was closed, too.
    _ = try Journal.backup(from: disk, to: backup)
    #expect(try Self.restored(backup) == model)
    #expect(disk.fileNames.allSatisfy { !$0.hasPrefix("pins/") })
  }

  /// INV-C5.
  @Test func `a pin keeps replaced segments until it is gone`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for version in 0..<4 { for number in 0..<60 { try journal.put(key(number), Self.body(number, version)) } }
    let names = disk.fileNames.filter { $0.hasSuffix(".journal") }
    try disk.makeFolder("pins")
    let pin = try disk.open("pins/1-a.pin", .createNew)
    try pin.lock(.shared)
    #expect(try journal.compact().removedSegments > 0)
    #expect(Set(names).isSubset(of: disk.fileNames))
    #expect(journal.compactor.state.withLock { !$0.deferred.isEmpty })
    try journal.close()
    var again = try Journal.open(in: disk, options: .small)
    #expect(again.compactor.state.withLock { !$0.deferred.isEmpty })
    #expect(Set(names.dropLast()).isSubset(of: disk.fileNames))
    try again.close()
    // The process that held it ends without a word.
    pin.close()
    again = try Journal.open(in: disk, options: .small)
    #expect(again.compactor.state.withLock { $0.deferred.isEmpty })
    #expect(Set(names.dropLast()).isDisjoint(with: disk.fileNames))
    #expect(disk.contents("pins/1-a.pin") == nil)
  }

  @Test func `damage in the store is reported by the backup`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<150 { try journal.put(key(number), Self.body(number, 0)) }
    try journal.close()
    var bytes = try #require(disk.contents("000000000001.journal"))
    bytes[5000] ^= 1
    disk.replace("000000000001.journal", with: bytes)
    let backup = SimulatedDisk()
    let report = try Journal.backup(from: disk, to: backup)
    #expect(report.findings.map(\.segment) == [1])
    #expect(try Journal.restore(from: backup, to: SimulatedDisk()).map(\.segment) == [1])
    // One that does not check is copied again, and mended once the store is.
    #expect(try Journal.backup(from: disk, to: backup).copiedSegments == 1)
    bytes[5000] ^= 1
    disk.replace("000000000001.journal", with: bytes)
    #expect(try Journal.backup(from: disk, to: backup).findings == [])
    #expect(try Journal.restore(from: backup, to: SimulatedDisk()) == [])
  }

  @Test func `a backup that is damaged is not restored in silence`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<100 { try journal.put(key(number), Self.body(number, 0)) }
    let backup = SimulatedDisk()
    _ = try Journal.backup(from: disk, to: backup)
    // The lock holds nothing, and a manifest that is damaged has another one.
    for name in backup.fileNames where name != FileName.lock && !name.hasPrefix("manifest") {
      let image = backup.copy()
      var bytes = try #require(image.contents(name))
      bytes[bytes.count / 2] ^= 4
      image.replace(name, with: bytes)
      #expect(Self.isNoticed(image), "\(name)")
      image.replace(name, with: nil)
      #expect(Self.isNoticed(image), "\(name) gone")
    }
  }

  /// Its keyring replaced that of the store whose folder was named by mistake, and nobody could open that any
  /// more.
  @Test func `a folder with anything else than a backup is left as it is`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(1), Self.body(1, 0))
    for other in [
      ["keyring"], ["000000000001.journal", "keyring", "lock"], ["chapter.end"], ["manifest.txt"],
    ] {
      let target = SimulatedDisk()
      for name in other { target.replace(name, with: [1, 2, 3]) }
      #expect(throws: NotelogError(.alreadyExists, "")) { try Journal.backup(from: disk, to: target) }
      #expect(target.fileNames == other)
    }
    // What an interrupted first one leaves behind is no hindrance.
    let target = SimulatedDisk()
    for name in ["lock", "manifest.partial", "manifest.copy.partial"] { target.replace(name, with: []) }
    _ = try Journal.backup(from: disk, to: target)
    #expect(try Journal.restore(from: target, to: SimulatedDisk()).isEmpty)
    try journal.close()
  }

  @Test func `a backup removes what belonged to the one before, and no file that merely ends like it`() throws
  {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(1), Self.body(1, 0))
    let backup = SimulatedDisk()
    _ = try Journal.backup(from: disk, to: backup)
    let before = backup.fileNames
    let others = ["chapter.end", "1-2-3.end", "01-2-3-4.end", "1-2-g-4.segment", "a.damaged.partial"]
    for name in others { backup.replace(name, with: [1]) }
    try journal.put(key(2), Self.body(2, 0))
    _ = try Journal.backup(from: disk, to: backup)
    #expect(Set(others).isSubset(of: backup.fileNames))
    #expect(before.contains { $0.hasSuffix(".end") && !backup.fileNames.contains($0) })
    try journal.close()
  }

  /// With however little room: what there is of a backup stays, and the next try finishes it.
  @Test func `a backup that finds its disk full is brought up to date once there is room`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<150 { try journal.put(key(number), Self.body(number, 0)) }
    let backup = SimulatedDisk()
    _ = try Journal.backup(from: disk, to: backup)
    var before: [Int: [UInt8]] = [:]
    for number in 0..<150 { before[number] = Self.body(number, 0) }
    var after = before
    for number in 0..<150 where number % 3 == 0 {
      after[number] = Self.body(number, 1)
      try journal.put(key(number), Self.body(number, 1))
    }
    var fullCount = 0
    for room in stride(from: 0, to: 60_000, by: 500) {
      let target = backup.copy()
      target.capacity = target.usedByteCount + room
      do { _ = try Journal.backup(from: disk, to: target) } catch {
        try #require(error.code == .full, "\(room): \(error)")
        fullCount += 1
        #expect(try Self.restored(target.copy()) == before, "\(room)")
        target.capacity = nil
        #expect(try Journal.backup(from: disk, to: target).findings == [], "\(room)")
      }
      #expect(try Self.restored(target) == after, "\(room)")
    }
    #expect(fullCount > 20 && fullCount < 120)
    try journal.close()
  }

  @Test func `two backups at once into one folder are refused, and a part that was cut is copied again`()
    throws
  {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<150 { try journal.put(key(number), Self.body(number, 0)) }
    let backup = SimulatedDisk()
    _ = try Journal.backup(from: disk, to: backup)
    let held = try backup.open(FileName.lock, .update)
    try held.lock(.exclusive)
    #expect(throws: NotelogError(.busy, "")) { try Journal.backup(from: disk, to: backup) }
    held.close()
    let part = try #require(backup.fileNames.first { $0.hasSuffix(".segment") })
    let bytes = try #require(backup.contents(part))
    backup.replace(part, with: Array(bytes.dropLast(8)))
    #expect(try Journal.backup(from: disk, to: backup).copiedSegments == 1)
    #expect(backup.contents(part) == bytes)
    try journal.close()
  }

  /// A head that is finished is cut to its length. Whoever had asked for the length before, read beyond the
  /// end; busy writers did that to a backup four times in a row, and it gave up.
  @Test func `a head that is finished each time a backup looks at it is no damage`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(0), Self.body(0, 0))
    let looks = Lock((count: 0, isWriting: false))
    disk.afterEachCall { call, name in
      let head = disk.fileNames.last { $0.hasSuffix(".journal") }
      guard call == .stat, name == head else { return }
      let isTurn = looks.withLock { looks in
        guard !looks.isWriting, looks.count < 8 else { return false }
        looks = (looks.count + 1, true)
        return true
      }
      guard isTurn else { return }
      while disk.fileNames.last(where: { $0.hasSuffix(".journal") }) == head {
        do { try journal.put(key(1), Self.body(1, 0)) } catch {
          Issue.record("\(error)")
          return
        }
      }
      looks.withLock { $0.isWriting = false }
    }
    let backup = SimulatedDisk()
    #expect(try Journal.backup(from: disk, to: backup).findings.isEmpty)
    #expect(looks.withLock { $0.count } == 8)
    #expect(try Journal.restore(from: backup, to: SimulatedDisk()).isEmpty)
  }
}
