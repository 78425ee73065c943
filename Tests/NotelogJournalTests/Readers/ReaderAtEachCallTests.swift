// Readers at each system call of a recovery and of a compaction: FORMAT.md §25, "Readers" and "Following".

import NotelogBase
@testable import Notelog
import NotelogFormat
import NotelogStorage
import NotelogTestSupport
import Testing

/// All that a journal shows, in every way in which it can be gone through. None of them may come upon damage.
private func look(_ journal: Journal, _ place: String) throws -> [ID16: [UInt8]] {
  let snapshot = journal.snapshot()
  var scanned: [ID16: [UInt8]] = [:]
  try snapshot.forEach(onDamage: recordIssue) { record, payload, body throws(NotelogError) in
    scanned[record.id] = payload.extracting(body).array()
    return true
  }
  var listed: Set<ID16> = []
  #expect(
    try snapshot.forEachEnvelope(in: 1) { id, _ in
      listed.insert(id)
      return true
    }, "\(place): frames are lost")
  #expect(listed == Set(scanned.keys), "\(place)")
  #expect(try Set(snapshot.records()) == listed, "\(place)")
  var buffer = ReadBuffer()
  for (id, body) in scanned {
    #expect(try journal.body(of: id) == body, "\(place)")
    #expect(try snapshot.read(id, into: &buffer) != nil, "\(place)")
  }
  #expect(journal.damages == [] && journal.report.damages == [], "\(place)")
  return scanned
}

private var reading: JournalOptions {
  var options = JournalOptions.small
  options.isReadOnly = true
  return options
}

private var leasing: JournalOptions {
  var options = JournalOptions.small
  options.isLeased = true
  return options
}

/// The calls between which a kill makes a difference.
let changing: Set<StorageError.Call> = [.write, .allocate, .truncate, .sync, .syncFolder, .rename, .unlink]

/// A store, those who have it open beside its writer, and what they must see.
// SAFETY: one thread uses it; the disk's hook runs on the same, and passes where it comes upon itself.
private final class Scene: @unchecked Sendable {
  let disk = SimulatedDisk()
  let writer: Journal
  /// Opened in the segment in which the writer ended; in one before that; and one that wrote before, and took
  /// the lock once more since.
  let others: [Journal]
  private(set) var model: [ID16: [UInt8]] = [:]

  init() throws {
    let first = try Journal.create(in: disk, storeID: key(99), options: leasing)
    for number in 0..<20 { try first.put(key(number), [1]) }
    let early = try Journal.open(in: disk, options: reading)
    try first.suspend()
    writer = try Journal.open(in: disk, options: .small)
    for number in 0..<60 { try writer.put(key(number), [UInt8](repeating: 2, count: 300), .durable) }
    try writer.suspend()
    try first.resume()
    try first.suspend()
    try writer.resume()
    for number in 40..<60 { try writer.put(key(number), [UInt8](repeating: 3, count: 50), .durable) }
    let late = try Journal.open(in: disk, options: reading)
    for number in 50..<80 { try writer.put(key(number), [UInt8](repeating: 4, count: 100), .buffered) }
    others = [early, late, first]
    model = try look(writer, "the writer")
    #expect(model.count == 80)
  }

  /// Half of a transaction is written when the process dies.
  func kill() throws {
    let end = writer.log.state.withLock { $0.visibleEnd }
    try writer.abandon()
    let file = try disk.open(FileName.segment(end.segment), .update)
    defer { file.close() }
    try file.writeAll([UInt8](repeating: 0xA5, count: 2360).rawSpan, at: end.offset)
  }

  /// What anybody sees who looks now.
  func lookAround(_ place: String) throws {
    let opened = try Journal.open(in: disk, options: reading)
    for journal in others + [opened] {
      try journal.refresh()
      #expect(try look(journal, place) == model, "\(place)")
    }
    try opened.close()
    let verification = try Journal.verify(disk)
    #expect(verification.isSound, "\(place): \(verification.report.damages)")
    _ = try backUp(to: SimulatedDisk(), place)
  }

  func backUp(to copy: SimulatedDisk, _ place: String) throws -> SimulatedDisk {
    #expect(try NotelogJournalTests.backUp(disk, to: copy).findings == [], "\(place)")
    let restored = SimulatedDisk()
    #expect(try restore(copy, to: restored).findings == [], "\(place)")
    let journal = try Journal.open(in: restored, options: .small)
    #expect(try look(journal, place) == model, "\(place)")
    try journal.close()
    return restored
  }

  /// Looks around after each call but those that read.
  func lookAround(during work: () throws -> Void) throws -> Int {
    let looks = Lock((count: 0, isLooking: false))
    disk.afterEachCall { [self] call, name in
      guard ![.read, .stat, .readdir].contains(call) else { return }
      let isLooking = looks.withLock { looks in
        defer { looks.isLooking = true }
        return looks.isLooking
      }
      if isLooking { return }
      do { try lookAround("after \(call) of \(name)") } catch {
        Issue.record("after \(call) of \(name): \(error)")
      }
      looks.withLock { $0 = ($0.count + 1, false) }
    }
    defer { disk.afterEachCall(nil) }
    try work()
    return looks.withLock { $0.count }
  }

  func close() throws { for journal in others { try journal.close() } }
}

@Suite struct `Readers at each call` {
  /// The bugs: a reader that followed a recovery which had published its copy and not yet cut the killed
  /// writer's segment read on in that to the end of its file, and spoke of bytes 'where frames were' (2360,
  /// in the campaign). A backup was refused in that state as `busy`.
  @Test func `nobody finds damage, or anything else than before, at any call of a recovery`() throws {
    let scene = try Scene()
    try scene.kill()
    let count = try scene.lookAround { try Journal.open(in: scene.disk, options: .small).abandon() }
    #expect(count > 10, "\(count)")
    try scene.close()
  }

  @Test func `nobody finds damage, or anything else than before, at any call of a compaction`() throws {
    let scene = try Scene()
    var removed = 0
    let count = try scene.lookAround { removed = try scene.writer.compact().removedSegments }
    #expect(removed > 0 && count > 10, "\(removed), \(count)")
    try scene.close()
    try scene.writer.close()
  }

  /// The bug: until somebody wrote, backups were refused. What a backup holds is durable in the store,
  /// whatever the recovery had synced.
  @Test func `a store whose recovery was killed at any call is read, verified and backed up`() throws {
    var (passing, isOver, backups) = (0, false, 0)
    while !isOver {
      let scene = try Scene()
      try scene.kill()
      scene.disk.plan(Fault(.error(SystemErrno.inputOutput), of: changing, passing: passing, lasts: true))
      let recovered = try? Journal.open(in: scene.disk, options: .small)
      scene.disk.forgetFaults()
      isOver = recovered != nil
      try recovered?.abandon()
      let place = "call \(passing)"
      try scene.lookAround(place)
      if try Examination(scene.disk, storeID: nil).isBeingRecovered { backups += 1 }
      let copy = SimulatedDisk()
      _ = try scene.backUp(to: copy, place)
      // The power goes: the store still reaches as far as the backup.
      let image = scene.disk.crashImageNow(.allLost, seed: UInt64(passing))
      #expect(try backUp(image, to: copy).findings == [], "\(place)")
      try scene.close()
      passing += 1
    }
    #expect(backups > 2, "\(backups)")
  }
}
