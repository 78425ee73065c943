// Snapshots against copies of a dictionary, with writes, deletions and compactions after them.

@testable import NotelogStorage
@testable import NotelogFormat
import Foundation
import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct SnapshotTests {
  /// Everything a snapshot says, in each of the ways in which it can be asked.
  private func check(_ snapshot: Snapshot, _ model: [ID16: [UInt8]], idCount: Int) throws {
    var buffer = ReadBuffer()
    for number in 0..<idCount {
      let record = try snapshot.read(key(number), into: &buffer)
      #expect(record.map { _ in buffer.body.array() } == model[key(number)])
    }
    #expect(try snapshot.records() == model.keys.sorted())
    var scanned: [ID16: [UInt8]] = [:]
    var count = 0
    for part in 0..<3 {
      try snapshot.forEach(part: part, of: 3, onDamage: recordIssue) { record, payload, body in
        scanned[record.id] = payload.extracting(body).array()
        count += 1
        return true
      }
    }
    #expect(scanned == model)
    #expect(count == model.count)
  }

  /// A compaction's sources stayed listed beside its output until they were deleted. A snapshot made in
  /// between went through both, and when the next compaction moved their records on, to where it did not see
  /// them, it found each in both.
  @Test func `a snapshot made amid a compaction sees each record once, also after the next`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let model = try `Compaction`.fill(journal)
    let made = Lock<Snapshot?>(nil)
    disk.afterEachCall { call, name in
      guard call == .unlink, name.hasSuffix(".journal") else { return }
      made.withLock { $0 = $0 ?? journal.snapshot() }
    }
    _ = try journal.compact()
    disk.afterEachCall(nil)
    let snapshot = try #require(made.withLock { $0 })
    let seen = Dictionary(uniqueKeysWithValues: model.map { (key($0), $1) })
    try check(snapshot, seen, idCount: 100)
    // Something in each output dies, so that what lives in it moves on; some of that is written anew then.
    for number in stride(from: 0, to: 100, by: 3) { try journal.put(key(number), [1]) }
    let second = try journal.compact()
    #expect(second.removedSegments > 0)
    try check(snapshot, seen, idCount: 100)
    for number in stride(from: 1, to: 100, by: 3) { try journal.put(key(number), [2]) }
    try check(snapshot, seen, idCount: 100)
  }

  /// Both frames of a record that one transaction writes twice bear its number. By that a snapshot knew a
  /// record that compaction had moved: it found it in both, and in one as it never was.
  @Test func `of a record written twice in a transaction a snapshot sees the last, wherever it moves`() throws
  {
    let journal = try Journal.create(in: SimulatedDisk(), storeID: key(99), options: .small)
    var model: [ID16: [UInt8]] = [:]
    for number in 0..<60 {
      try journal.write(.flushed) { batch throws(Never) in
        for version in UInt8(0)..<3 {
          // The one beside it is written once, and one more comes and goes.
          batch.put(key(number), collection: 1, bodyByteCount: 300) { $0.store(version, at: 0) }
          if version == 1 {
            batch.put(key(100 + number), collection: 1, bodyByteCount: 300) { $0.store(version, at: 0) }
            batch.put(key(200 + number), collection: 1, bodyByteCount: 300) { $0.store(version, at: 0) }
          }
        }
        batch.delete(key(200 + number), collection: 1)
      }
      model[key(number)] = [2] + [UInt8](repeating: 0, count: 299)
      model[key(100 + number)] = [1] + [UInt8](repeating: 0, count: 299)
    }
    let snapshot = journal.snapshot()
    try check(snapshot, model, idCount: 300)
    #expect(try journal.compact().removedSegments > 0)
    try check(snapshot, model, idCount: 300)
    for number in 0..<60 where number % 2 == 0 { try journal.put(key(number), [9]) }
    try check(snapshot, model, idCount: 300)
  }

  @Test(arguments: 0..<12) func `a snapshot says what a copy of the dictionary says`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let store = try TemporaryStore()
    var options = JournalOptions.small
    options.fingerprintBitCount = seed % 3 == 0 ? 3 : 64
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: options)
    var model: [ID16: [UInt8]] = [:]
    var snapshots: [(Snapshot, [ID16: [UInt8]])] = []
    let idCount = 60
    for step in 0..<1200 {
      let id = key(Int.random(in: 0..<idCount, using: &generator))
      switch Int.random(in: 0..<200, using: &generator) {
      case 0..<130:
        let body = (0..<Int.random(in: 0..<300, using: &generator)).map {
          UInt8(truncatingIfNeeded: $0 &+ step)
        }
        try journal.put(id, body, .buffered)
        model[id] = body
      case 130..<190:
        try journal.delete(id, .buffered)
        model[id] = nil
      case 190..<193: _ = try journal.compact()
      case 193..<196: snapshots.append((journal.snapshot(), model))
      default:
        guard let index = snapshots.indices.randomElement(using: &generator) else { continue }
        try check(snapshots[index].0, snapshots[index].1, idCount: idCount)
        snapshots.remove(at: index)
      }
    }
    _ = try journal.compact()
    for (snapshot, model) in snapshots { try check(snapshot, model, idCount: idCount) }
    try check(journal.snapshot(), model, idCount: idCount)
    snapshots = []
    #expect(!journal.catalog.oldVersions.isNeeded)
  }

  @Test func `a scan beside a writer and a compaction sees every record once`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    let idCount = 300
    for number in 0..<idCount { try journal.put(key(number), [UInt8](repeating: 0, count: 100), .buffered) }
    let isDone = Flag(false)
    let writer = Thread {
      for round in 1...40 {
        for number in 0..<idCount {
          try? journal.put(key(number), [UInt8](repeating: UInt8(round), count: 100), .buffered)
        }
        _ = try? journal.compact()
      }
      _ = isDone.exchange(true)
    }
    writer.start()
    var isLast = false
    while !isLast {
      isLast = isDone.exchange(false)
      let snapshot = journal.snapshot()
      var revisions: [ID16: UInt64] = [:]
      try snapshot.forEach(onDamage: recordIssue) { record, _, _ in
        if revisions.updateValue(record.revision, forKey: record.id) != nil { Issue.record("seen twice") }
        if record.revision > snapshot.sequence { Issue.record("newer than the snapshot") }
        return true
      }
      #expect(revisions.count == idCount)
    }
  }

  @Test
  func `a segment is whole until a record in it dies, and when all that is in it was found to be current`()
    throws
  {
    let store = try TemporaryStore()
    var journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    for number in 0..<400 { try journal.put(key(number), [UInt8](repeating: 1, count: 100), .buffered) }
    let before = journal.snapshot()
    #expect(before.areWhole.count > 3 && before.areWhole.allSatisfy { $0 })
    try journal.put(key(0), [2], .buffered)
    #expect(journal.snapshot().areWhole.first == false)
    #expect(journal.snapshot().areWhole.dropFirst().allSatisfy { $0 })
    // An old snapshot looks nothing up in what was whole, and so learns nothing of what is.
    #expect(try count(before) == 400)
    #expect(journal.snapshot().areWhole.first == false)
    try journal.close()

    journal = try Journal.open(in: store.storage, storeID: key(99), options: .small)
    #expect(journal.snapshot().areWhole.allSatisfy { !$0 })
    #expect(try count(journal.snapshot()) == 400)
    let after = journal.snapshot().areWhole
    #expect(after.first == false)
    #expect(after.dropFirst().dropLast().allSatisfy { $0 })
    #expect(try count(journal.snapshot()) == 400)
  }

  private func count(_ snapshot: Snapshot) throws -> Int {
    var count = 0
    try snapshot.forEach(onDamage: recordIssue) { _, _, _ in
      count += 1
      return true
    }
    return count
  }

  @Test func `a scan reports a record that does not check, and goes on`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    for number in 0..<100 { try journal.put(key(number), [UInt8](repeating: 1, count: 100), .buffered) }
    let place = try #require(try journal.catalog.location(of: key(7)))
    let file = try store.storage.open(FileName.segment(place.segment), .update)
    _ = try file.write(([9] as [UInt8]).rawSpan, at: Int(place.offset) + Layout.frameHeaderByteCount + 3)
    var damages: [Finding] = []
    var count = 0
    try journal.snapshot().forEach(onDamage: { damages.append($0) }) { _, _, _ in
      count += 1
      return true
    }
    #expect(count == 99)
    #expect(damages.map(\.record?.bytes) == [key(7)])
  }
}
