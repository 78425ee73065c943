// A round of shipping puts only what is new, and what it put can be restored; what is superseded goes, and nothing else.

@testable import Notelog
@testable import NotelogStorage
import NotelogFormat
import NotelogBase
import NotelogTestSupport
import Testing

@Suite struct `Shipping` {
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

  private static func isNoticed(_ archive: SimulatedDisk, before revision: UInt64) -> Bool {
    guard let found = try? restore(archive, to: SimulatedDisk()) else { return true }
    return !found.findings.isEmpty || found.revision < revision
  }

  private static func restored(_ archive: SimulatedDisk) throws -> [Int: [UInt8]] {
    let disk = SimulatedDisk()
    #expect(try restore(archive, to: disk).findings == [])
    return try contents(disk)
  }

  @Test func `an archive of a store in use holds what was committed, and only what is new is put`() throws {
    let disk = SimulatedDisk()
    let archive = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    var model: [Int: [UInt8]] = [:]
    for round in 0..<4 {
      for number in 0..<150 where number % 4 != round {
        try journal.put(key(number), Self.body(number, round))
        model[number] = Self.body(number, round)
      }
      if round == 2 { _ = try journal.compact() }
      let report = try backUp(disk, to: archive)
      #expect(report.findings == [])
      #expect(round != 1 || report.keptSegments > 0)
      #expect(try Self.restored(archive) == model)
      let again = try backUp(disk, to: archive)
      #expect(again.putObjects == 0)
    }
    try journal.close()
    // One that was closed, too.
    _ = try backUp(disk, to: archive)
    #expect(try Self.restored(archive) == model)
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

  @Test func `damage in the store is reported by the round`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<150 { try journal.put(key(number), Self.body(number, 0)) }
    try journal.close()
    var bytes = try #require(disk.contents("000000000001.journal"))
    bytes[5000] ^= 1
    disk.replace("000000000001.journal", with: bytes)
    let archive = SimulatedDisk()
    let report = try backUp(disk, to: archive)
    #expect(report.findings.map(\.segment) == [1])
    #expect(try Set(restore(archive, to: SimulatedDisk()).findings.map(\.segment)) == [1])
    // It is there already, and goes once the store is mended.
    #expect(archive.fileNames.contains { $0.hasPrefix("d-") })
    #expect(try backUp(disk, to: archive).putObjects == 0)
    bytes[5000] ^= 1
    disk.replace("000000000001.journal", with: bytes)
    #expect(try backUp(disk, to: archive).findings == [])
    #expect(try restore(archive, to: SimulatedDisk()).findings == [])
    #expect(!archive.fileNames.contains { $0.hasPrefix("d-") })
  }

  @Test func `an archive that is damaged is not restored in silence`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<100 { try journal.put(key(number), Self.body(number, 0)) }
    let archive = SimulatedDisk()
    let revision = try backUp(disk, to: archive).revision
    for name in archive.fileNames where !name.hasPrefix("store-") {
      let image = archive.copy()
      var bytes = try #require(image.contents(name))
      bytes[bytes.count / 2] ^= 4
      image.replace(name, with: bytes)
      #expect(Self.isNoticed(image, before: revision), "\(name)")
      image.replace(name, with: nil)
      #expect(Self.isNoticed(image, before: revision), "\(name) gone")
    }
  }

  /// Its keyring replaced that of the store whose folder was named by mistake, and nobody could open that any
  /// more.
  @Test func `a folder with anything else than an archive is left as it is`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(1), Self.body(1, 0))
    for other in [
      ["keyring"], ["000000000001.journal", "keyring", "lock"], ["chapter.end"], ["manifest.txt"],
    ] {
      let target = SimulatedDisk()
      for name in other { target.replace(name, with: [1, 2, 3]) }
      #expect(throws: NotelogError(.alreadyExists, "")) { try backUp(disk, to: target) }
      #expect(target.fileNames == other)
    }
    // What an interrupted first one leaves behind is no hindrance.
    let target = SimulatedDisk()
    let left = [
      "\(ArchivedObject.store(key(99))).3f.partial",
      "p-0000000001-0000000000000001-0000000000-0000004608-00000001-000000000000001-0000000000001-00000001.1.partial",
    ]
    for name in left { target.replace(name, with: []) }
    _ = try backUp(disk, to: target)
    #expect(try restore(target, to: SimulatedDisk()).findings.isEmpty)
    #expect(Set(left).isDisjoint(with: target.fileNames))
    try journal.close()
  }

  @Test func `what is superseded is deleted, and no file whose name is merely like an object's`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(1), Self.body(1, 0))
    let archive = SimulatedDisk()
    try backUp(disk, to: archive)
    let others = [
      "chapter.txt", "s-1-2-3-4", "p-0000000001", "d-0000000001-000000000000000g-0000000001-00000001",
      "a.partial",
      "k-0000000001-00000000000000AB",
    ]
    for name in others { archive.replace(name, with: [1]) }
    var seen: Set<String> = []
    for number in 2..<60 {
      try journal.put(key(number), Self.body(number, 0))
      seen.formUnion(archive.fileNames)
      try backUp(disk, to: archive)
    }
    #expect(Set(others).isSubset(of: archive.fileNames))
    let gone = seen.subtracting(archive.fileNames)
    #expect(gone.count > 20 && gone.allSatisfy { $0.hasPrefix("p-") }, "\(gone.sorted())")
    #expect(try Self.restored(archive).count == 59)
    try journal.close()
  }

  /// With however little room: what there is stays, and the next try finishes it.
  @Test func `a destination that is full is brought up to date once there is room`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<150 { try journal.put(key(number), Self.body(number, 0)) }
    let archive = SimulatedDisk()
    _ = try backUp(disk, to: archive)
    var before: [Int: [UInt8]] = [:]
    for number in 0..<150 { before[number] = Self.body(number, 0) }
    var after = before
    for number in 0..<150 where number % 3 == 0 {
      after[number] = Self.body(number, 1)
      try journal.put(key(number), Self.body(number, 1))
    }
    var fullCount = 0
    for room in stride(from: 0, to: 60_000, by: 500) {
      let target = archive.copy()
      target.capacity = target.usedByteCount + room
      do { _ = try backUp(disk, to: target) } catch {
        try #require((error as? NotelogError)?.code == .full, "\(room): \(error)")
        fullCount += 1
        // Up to one of the transactions.
        let found = try Self.restored(target.copy())
        let count = after.keys.sorted().filter { found[$0] == after[$0] && after[$0] != before[$0] }.count
        var expected = before
        for number in (0..<count).map({ $0 * 3 }) { expected[number] = after[number] }
        #expect(found == expected, "\(room)")
        target.capacity = nil
        #expect(try backUp(disk, to: target).findings == [], "\(room)")
      }
      #expect(try Self.restored(target) == after, "\(room)")
    }
    #expect(fullCount > 20 && fullCount < 120)
    try journal.close()
  }

  /// None waits for the other, and none refuses.
  @Test func `two that ship at once into one folder do no harm, and what was cut is put again`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<150 { try journal.put(key(number), Self.body(number, 0)) }
    var (passing, isOver, retried) = (0, false, 0)
    while !isOver {
      let target = passing
      let archive = SimulatedDisk()
      let calls = Lock(0)
      archive.afterEachCall { _, _ in
        let count = calls.withLock { count in
          count += 1
          return count
        }
        guard count == target else { return }
        do { try backUp(disk, to: archive) } catch { Issue.record("after call \(target): \(error)") }
      }
      // One that was not locked yet was taken for what an interrupted put left.
      do { try backUp(disk, to: archive) } catch let error as NotelogError where error.code == .inputOutput {
        retried += 1
        try backUp(disk, to: archive)
      }
      archive.afterEachCall(nil)
      isOver = calls.withLock { $0 } < target
      #expect(try Self.restored(archive).count == 150, "after call \(target)")
      #expect(!archive.fileNames.contains { $0.hasSuffix(".partial") }, "after call \(target)")
      passing += 3
    }
    #expect(passing > 30 && retried < passing / 9, "\(retried) of \(passing / 3)")
    let archive = SimulatedDisk()
    try backUp(disk, to: archive)
    let part = try #require(archive.fileNames.first { $0.hasPrefix("l-") })
    let bytes = try #require(archive.contents(part))
    archive.replace(part, with: Array(bytes.dropLast(8)))
    #expect(try backUp(disk, to: archive).putObjects == 1)
    #expect(archive.contents(part) == bytes)
    try journal.close()
  }

  /// A head that is finished is cut to its length. Whoever had asked for the length before, read beyond the
  /// end; busy writers did that to a backup four times in a row, and it gave up.
  @Test func `a head that is finished each time a round looks at it is no damage`() throws {
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
    let archive = SimulatedDisk()
    #expect(try backUp(disk, to: archive).findings.isEmpty)
    #expect(looks.withLock { $0.count } == 8)
    #expect(try restore(archive, to: SimulatedDisk()).findings.isEmpty)
  }
}
