// What an observer of a store's events is told, and what a store counts.

import NotelogBase
import NotelogFormat
import NotelogStorage
import NotelogTestSupport
import Foundation
import Testing

@testable import Notelog

@Suite struct StoreEventTests {
  /// Collects events.
  private final class Recorder: Sendable {
    private let told = Lock<[StoreEvent]>([])

    var events: [StoreEvent] { told.withLock { $0 } }
    var names: [String] { events.map(\.name) }

    func note(_ event: StoreEvent) { told.withLock { $0.append(event) } }

    /// Options with which a store tells it. Syncs are not slow, whatever the machine is doing.
    var options: Store.Options {
      var options = Store.Options()
      options.segmentByteCount = 16 << 10
      options.slowSync = .seconds(3600)
      options.observer = { event in self.note(event) }
      return options
    }
  }

  private let recorder = Recorder()
  private let disk = SimulatedDisk()

  private func create() throws -> Store {
    try Store.create(in: disk, unlocking: TemporaryFolder.key, options: recorder.options)
  }

  private func open(_ disk: SimulatedDisk) throws -> Store {
    try Store.open(in: disk, unlocking: TemporaryFolder.key, options: recorder.options)
  }

  private static func note(_ number: Int) -> Note {
    Note(title: "title \(number)", body: noise(300, seed: UInt64(number)).map(String.init).joined())
  }

  @Test func `opening and closing are told, and whether the store had been closed`() throws {
    let store = try create()
    try store.write { tx in try tx.put(Self.note(1)) }
    try store.close()
    #expect(recorder.names == ["opened", "closed"])
    let again = try open(disk)
    try again.close()
    // Told once, however often it is closed.
    try again.close()
    #expect(recorder.names == ["opened", "closed", "opened", "closed"])
    guard case .opened(wasClosed: true) = recorder.events[2] else {
      Issue.record("the store had been closed")
      return
    }
    #expect(again.counters.recoveries == 0 && again.counters.commits == 0)
  }

  @Test func `a recovery is told before the opening, with what was cut`() throws {
    let store = try create()
    for number in 0..<10 { try store.write(.flushed) { tx in try tx.put(Self.note(number)) } }
    let crashed = disk.crashImageNow(.allKept)
    // Another store's events come in an order of their own.
    let again = Recorder()
    let key = TemporaryFolder.key
    let recovered = try Store.open(in: crashed, unlocking: key, options: again.options)
    #expect(recovered.counters.recoveries == 1)
    try recovered.close()
    #expect(again.names == ["recovered", "opened", "closed"])
    guard case .opened(wasClosed: false) = again.events[1] else {
      Issue.record("the store had not been closed")
      return
    }
    let next = try Store.open(in: crashed, unlocking: key, options: again.options)
    #expect(next.counters.recoveries == 0)
    try next.close()
    #expect(again.names == ["recovered", "opened", "closed", "opened", "closed"])
  }

  @Test func `bytes that a recovery cut off are told`() throws {
    let store = try create()
    try store.write { tx in try tx.put(Self.note(1)) }
    // Half of a frame follows what was written.
    let name = try #require(disk.fileNames.last { $0.hasSuffix(".journal") })
    let crashed = disk.crashImageNow(.allLost)
    var bytes = try #require(crashed.contents(name))
    let end = try #require(bytes.lastIndex { $0 != 0 }) + 1
    bytes = Array(bytes[..<end]) + [UInt8](repeating: 0xA5, count: 100)
    crashed.replace(name, with: bytes)
    try open(crashed).close()
    let cut = recorder.events.compactMap { event in
      if case .recovered(let count) = event { count } else { nil }
    }
    #expect(cut.count == 1 && cut[0] >= 100, "\(cut)")
  }

  @Test func `a recovery is told too where the lock is taken from a process that ended`() throws {
    let store = try create()
    try store.write { tx in try tx.put(Self.note(1)) }
    try store.suspend()
    let other = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    try other.write { tx in try tx.put(Self.note(2)) }
    // The other process ends, and the system gives its lock back.
    other.journal.lock.withLock { file in
      file?.close()
      file = nil
    }
    try store.resume()
    #expect(store.counters.recoveries == 1)
    #expect(try store.query(Note.self).count() == 2)
    try store.close()
    #expect(recorder.names == ["opened", "recovered", "closed"])
  }

  @Test func `a compaction that replaces something is told and counted, one that finds nothing is not`()
    throws
  {
    let store = try create()
    let notes = (0..<60).map(Self.note)
    for note in notes { try store.write { tx in try tx.put(note) } }
    try store.compact()
    let before = store.counters
    // What is left is not worth it.
    try store.compact()
    #expect(store.counters.compactions == before.compactions)
    for note in notes { try store.write { tx in try tx.delete(Note.self, note.id) } }
    let summary = try store.compact()
    let counters = store.counters
    #expect(counters.compactions == before.compactions + 1)
    let reclaimed = counters.bytesReclaimed - before.bytesReclaimed
    #expect(reclaimed > 16 << 10)
    // What compaction itself writes is no commit.
    #expect(counters.commits == 120)
    try store.close()
    let told = recorder.events.compactMap { event in
      if case .compacted(let summary) = event { summary } else { nil }
    }
    #expect(told.count == counters.compactions && recorder.names.count == told.count + 2)
    #expect(told.last?.removedSegments == summary.removedSegments)
    #expect(told.last?.addedSegments == summary.addedSegments)
    #expect(told.last.map { $0.byteCountBefore - $0.byteCountAfter } == reclaimed)
  }

  @Test func `compaction by itself is told too`() throws {
    var options = recorder.options
    options.compaction = .automatic
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    let note = Self.note(1)
    for number in 0..<400 {
      var changed = Self.note(number)
      changed.id = note.id
      try store.write(.flushed) { tx in try tx.put(changed) }
    }
    let counters = store.counters
    #expect(counters.compactions > 0 && counters.bytesReclaimed > 0)
    try store.close()
    let reclaimed = recorder.events.reduce(0) { sum, event in
      if case .compacted(let summary) = event {
        sum + summary.byteCountBefore - summary.byteCountAfter
      } else {
        sum
      }
    }
    // What writers do of it, and what one of them that waits for room does.
    #expect(reclaimed == store.counters.bytesReclaimed)
    #expect(recorder.names.count { $0 == "compacted" } == store.counters.compactions)
  }

  @Test func `a byte flipped in a record is told once, however often the record is read`() throws {
    let store = try create()
    let notes = (0..<20).map(Self.note)
    for note in notes { try store.write { tx in try tx.put(note) } }
    let place = try #require(try store.journal.catalog.location(of: notes[3].id.bytes))
    try store.close()
    let name = FileName.segment(place.segment)
    var bytes = try #require(disk.contents(name))
    bytes[Int(place.offset) + place.frameByteCount - 9] ^= 4
    disk.replace(name, with: bytes)
    let damaged = try open(disk)
    #expect(damaged.counters.damagedPlaces == 0)
    for _ in 0..<3 {
      #expect(throws: NotelogError(.damaged, "")) { try damaged.get(Note.self, notes[3].id)?.record() }
    }
    #expect(damaged.counters.damagedPlaces == 1 && damaged.damage.findings.count == 1)
    try damaged.close()
    let findings = recorder.events.compactMap { event in
      if case .damageFound(let finding) = event { finding } else { nil }
    }
    #expect(findings.count == 1)
    #expect(findings.first?.segment == Int(place.segment) && findings.first?.record == notes[3].id)
    #expect(recorder.events.count { $0.severity == .error } == 1)
  }

  @Test func `damage that opening finds is told then`() throws {
    let store = try create()
    for number in 0..<60 { try store.write { tx in try tx.put(Self.note(number)) } }
    try store.close()
    let segments = disk.fileNames.filter { $0.hasSuffix(".journal") }.sorted()
    #expect(segments.count > 2)
    disk.replace(segments[1], with: nil)
    var options = recorder.options
    options.examinesAllSegments = true
    let damaged = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: options)
    let count = damaged.damage.findings.count
    #expect(count > 0 && damaged.counters.damagedPlaces == count)
    try? damaged.close()
    #expect(recorder.names.count { $0 == "damageFound" } == count)
  }

  @Test func `a sync that takes as long as the options say is told, and all are counted`() throws {
    var options = recorder.options
    options.slowSync = .zero
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    for number in 0..<5 { try store.write { tx in try tx.put(Self.note(number)) } }
    let counters = store.counters
    #expect(counters.syncs >= 5 && counters.slowestSync > .zero)
    #expect(counters.commits == 5 && counters.bytesCommitted > 1500)
    try store.close()
    let durations = recorder.events.compactMap { event in
      if case .slowSync(let duration) = event { duration } else { nil }
    }
    #expect(durations.count == store.counters.syncs)
    #expect(durations.max() == store.counters.slowestSync)
  }

  @Test func `the syncs of a new segment's start and of the close mark are counted too`() throws {
    var options = recorder.options
    options.segmentByteCount = 16 << 10
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    let first = (segments: store.info().segments.count, syncs: store.counters.syncs)
    for number in 0..<600 { try store.write(.buffered) { tx in try tx.put(Self.note(number)) } }
    let begun = store.info().segments.count - first.segments
    // Of each switch to another segment: the segments before the head, and the new one's start.
    #expect(begun > 5 && store.counters.syncs - first.syncs >= 2 * begun - 1)
    let before = store.counters.syncs
    try store.close()
    // What was written, and the mark.
    #expect(store.counters.syncs >= before + 2)
  }

  @Test func `a write or sync that fails is told once, as the error that writers get`() throws {
    for call in [StorageError.Call.sync, .write] {
      let recorder = Recorder()
      let disk = SimulatedDisk()
      let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: recorder.options)
      try store.write { tx in try tx.put(Self.note(0)) }
      disk.plan(Fault(.error(SystemErrno.inputOutput), of: [call], passing: 0, lasts: true))
      for number in 1..<4 {
        #expect(throws: NotelogError(.poisoned, "")) {
          try store.write { tx in try tx.put(Self.note(number)) }
        }
      }
      #expect(throws: NotelogError(.poisoned, "")) { try store.close() }
      #expect(recorder.names == ["opened", "poisoned", "closed"])
      guard case .poisoned(let error) = recorder.events[1] else { return }
      #expect(error.code == .poisoned && error.message.contains(call.rawValue))
      #expect(recorder.events[1].severity == .critical)
    }
  }

  @Test func `an observer may write to the store, and close it`() throws {
    let opened = Lock<Store?>(nil)
    let counted = Lock(0)
    var options = recorder.options
    options.slowSync = .zero
    options.observer = { [recorder] event in
      recorder.note(event)
      guard case .slowSync = event, let store = opened.withLock({ $0 }) else { return }
      let count = counted.withLock { count in
        count += 1
        return count
      }
      if count <= 5 { _ = try? store.write { tx in try tx.put(Self.note(count)) } }
      if count == 6 { try? store.close() }
    }
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    opened.withLock { $0 = store }
    try store.write { tx in try tx.put(Self.note(0)) }
    // The observer's commits make slow syncs of their own, until it closes the store.
    for _ in 0..<10 { store.events?.waitUntilTold() }
    #expect(store.journal.isClosed)
    #expect(recorder.names.last == "closed" && store.counters.commits == 6)
    opened.withLock { $0 = nil }
  }

  @Test func `events that wait for a slow observer are bounded, and the others counted`() throws {
    let (isWaiting, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    var options = recorder.options
    options.slowSync = .zero
    options.observer = { [recorder] event in
      if case .opened = event {
        isWaiting.signal()
        mayGoOn.wait()
      }
      recorder.note(event)
    }
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    isWaiting.wait()
    // What was told before the store was open: of the syncs of making it.
    let told = recorder.events.count
    for number in 0..<1100 { try store.write { tx in try tx.put(Self.note(number)) } }
    let counters = store.counters
    #expect(counters.droppedEvents == counters.syncs - told + 1 - EventTeller.waitingMax)
    mayGoOn.signal()
    try store.close()
    #expect(recorder.events.count >= EventTeller.waitingMax)
  }

  @Test func `each kind has a name, words on one line and a severity, and none of what is sealed`() throws {
    let error = NotelogError(.poisoned, "sync failed")
    let finding = Finding(.payload, segment: 3, offset: 128)
    let all: [(StoreEvent, String, StoreEvent.Severity, String)] = [
      (.opened(wasClosed: true), "opened", .info, "the store is open"),
      (
        .recovered(tornByteCount: 7), "recovered", .notice,
        "the store was recovered, 7 bytes of its log were cut"
      ),
      (
        .damageFound(finding), "damageFound", .error,
        "a frame's content does not check (segment 3, offset 128)"
      ),
      (.slowSync(.milliseconds(1500)), "slowSync", .warning, "a sync took 1.5 seconds"),
      (.poisoned(error), "poisoned", .critical, "sync failed"),
      (.closed, "closed", .info, "the store is closed"),
    ]
    for (event, name, severity, words) in all {
      #expect(event.name == name && event.severity == severity && event.description == words)
    }
  }
}
