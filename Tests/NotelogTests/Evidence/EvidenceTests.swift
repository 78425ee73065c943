// A store that keeps evidence, in honest use: no audit finds anything. FORMAT.md §27.

@testable import NotelogBase
import NotelogCrypto
import NotelogFormat
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct EvidenceTests {
  static var options: Store.Options {
    var options = Store.Options()
    (options.keepsEvidence, options.segmentByteCount, options.passwordWork) = (true, 16 << 10, 14)
    return options
  }

  /// What an audit finds; empty where everything is as somebody with the key wrote it.
  static func findings(_ store: Store) throws -> [String] { try store.audit().findings.map(\.message) }

  static func open(_ disk: SimulatedDisk) throws -> Store {
    try Store.open(in: disk, unlocking: TemporaryFolder.key, options: options)
  }

  @Test func `whatever is put, updated, deleted and compacted, an audit finds nothing`() throws {
    let disk = SimulatedDisk()
    var store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.options)
    #expect(try Self.findings(store) == [])
    var notes: [Note] = []
    for number in 0..<200 {
      notes.append(Note(title: "n\(number)", body: String(repeating: "b", count: number)))
      try store.write(.buffered) { tx in try tx.put(notes[number]) }
    }
    #expect(try Self.findings(store) == [])
    for number in stride(from: 0, to: 200, by: 3) {
      try store.write(.buffered) { tx in
        try tx.update(Note.self, notes[number].id) { $0.set(\.title, "other") }
      }
    }
    for number in stride(from: 1, to: 200, by: 5) {
      try store.write(.buffered) { tx in _ = try tx.delete(Note.self, notes[number].id) }
    }
    // Several times in one transaction: the last counts.
    try store.write { tx in
      for _ in 0..<3 { try tx.put(notes[0]) }
      _ = try tx.delete(Note.self, notes[2].id)
      try tx.put(notes[2])
      _ = try tx.delete(Note.self, notes[3].id)
    }
    // Blind, sealed outside of every lock; some of them in the place of others.
    var batch = try store.batch(of: Note.self)
    for note in notes[100..<110] { try batch.put(note) }
    try batch.put(Note(title: "new"))
    try batch.commit()
    let count = try store.audit().recordCount
    #expect(count == 162)
    #expect(try Self.findings(store) == [])
    try store.compact()
    #expect(try Self.findings(store) == [])
    try store.close()
    store = try Self.open(disk)
    #expect(try Self.findings(store) == [] && store.audit().recordCount == count)
    // Locked, everything but writing goes on.
    store.lock(.everything)
    try store.compact()
    #expect(throws: NotelogError.self) { try store.write { tx in _ = try tx.delete(Note.self, notes[5].id) } }
    try store.unlock(TemporaryFolder.key)
    try store.write { tx in _ = try tx.delete(Note.self, notes[5].id) }
    #expect(try Self.findings(store) == [] && store.audit().recordCount == count - 1)
    try store.close()
    #expect(try Store.verify(in: disk, unlocking: TemporaryFolder.key).findings.isEmpty)
  }
}

// MARK: - Turning it on, another key, and what is kept elsewhere.

extension EvidenceTests {
  private func store(_ disk: SimulatedDisk, keepsEvidence: Bool, count: Int) throws -> (Store, [Note]) {
    var options = Self.options
    options.keepsEvidence = keepsEvidence
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    let notes = (0..<count).map { Note(title: "n\($0)", body: String(repeating: "b", count: $0)) }
    for note in notes { try store.write(.buffered) { tx in try tx.put(note) } }
    return (store, notes)
  }

  @Test func `evidence is turned on in steps for a store that is there, and its key is rotated`() throws {
    let disk = SimulatedDisk()
    let (store, notes) = try store(disk, keepsEvidence: false, count: 300)
    #expect(throws: NotelogError.self) { try store.audit() }
    var step = try store.keepEvidence(WorkBudget(byteCount: 4096))
    #expect(!step.isFinished && store.keepsEvidence)
    // Meanwhile everything goes on.
    try store.write { tx in try tx.update(Note.self, notes[7].id) { $0.set(\.title, "new") } }
    #expect(try Self.findings(store) == [])
    var count = 0
    while !step.isFinished {
      step = try store.keepEvidence(WorkBudget(byteCount: 4096))
      count += 1
      try #require(count < 1000)
    }
    #expect(count > 2)
    #expect(try Self.findings(store) == [] && store.audit().recordCount == 300)
    #expect(try store.keepEvidence().isFinished)
    let before = try #require(store.vault.keyring.evidenceKey).current
    #expect(try store.rotate(Store.evidenceKeyName).retired == [before.rawValue])
    #expect(try Self.findings(store) == [] && store.audit().recordCount == 300)
    try store.rekey(TemporaryFolder.key, to: TemporaryFolder.key)
    try store.write { tx in _ = try tx.delete(Note.self, notes[8].id) }
    #expect(try Self.findings(store) == [])
    #expect(try store.rotate(Store.evidenceKeyName).isFinished)
    #expect(try Self.findings(store) == [] && store.audit().recordCount == 299)
    try store.close()
    #expect(try Self.findings(try Self.open(disk)) == [])
  }

  @Test func `a head tells an older moment, and another copy`() throws {
    let disk = SimulatedDisk()
    let (store, notes) = try store(disk, keepsEvidence: true, count: 10)
    let first = try store.head()
    #expect(try StoreHead(text: first.description) == first)
    try store.close()
    let before = disk.copy()
    func open(_ disk: SimulatedDisk, _ head: StoreHead) throws -> Store {
      var options = Self.options
      options.head = head
      return try Store.open(in: disk, unlocking: TemporaryFolder.key, options: options)
    }
    let again = try open(disk, first)
    #expect(try Self.findings(again) == [])
    try again.write { tx in _ = try tx.delete(Note.self, notes[1].id) }
    let second = try again.head()
    try again.close()
    #expect(try Self.findings(try open(disk, second)) == [])
    #expect(try Self.findings(try open(disk, first)) == [])
    // Put back to the moment before.
    let older = try open(before.copy(), second)
    #expect(
      try Self.findings(older) == [
        "evidence: the store is older than it was: it was at revision \(second.seen)"
      ])
    #expect(throws: NotelogError.self) { try older.write { tx in _ = try tx.delete(Note.self, notes[2].id) } }
    #expect(try older.get(Note.self, notes[1].id) != nil)
    try older.acceptEvidence()
    try older.write { tx in _ = try tx.delete(Note.self, notes[2].id) }
    // Used on from there by somebody else, until it is longer.
    let fork = try Self.open(before)
    for note in notes[3..<7] { try fork.write { tx in _ = try tx.delete(Note.self, note.id) } }
    try fork.close()
    let found = try open(before, second)
    #expect(
      try Self.findings(found) == [
        "evidence: what was written here up to revision \(second.own) is not in the store"
      ])
  }
}

// MARK: - The state's bytes.

extension EvidenceTests {
  /// What each replaces is counted once, though it is looked up before its turn, and while others' states are on their way.
  @Test func `writers that put the same records side by side keep the sums right`() async throws {
    let store = try Store.create(in: SimulatedDisk(), unlocking: TemporaryFolder.key, options: Self.options)
    let notes = (0..<70).map { Note(title: "\($0)") }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<4 {
        group.addTask {
          var batch = try store.batch(of: Note.self)
          for round in 0..<400 {
            // One of them writes too many for each of them to be noted.
            for note in writer == 0 ? notes[...] : notes[round % 3...round % 3] { try batch.put(note) }
            try batch.commit(.buffered)
            if writer == 1, round % 7 == 0 {
              try store.write(.buffered) { tx in _ = try tx.delete(Note.self, notes[2].id) }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try Self.findings(store) == [])
    #expect(try store.audit().recordCount >= 69)
    try await store.close()
  }

  /// Whoever goes through a segment without looking records up still tells states apart.
  @Test func `of the states in a segment of current records one is current`() throws {
    let disk = SimulatedDisk()
    var store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.options)
    for number in 0..<200 { try store.putAll([Note(title: "\(number)")], .buffered) }
    try store.close()
    store = try Self.open(disk)
    for _ in 0..<3 {
      var (records, states) = (0, 0)
      try store.journal.snapshot().forEach { record, _, _ in
        if record.collection == 0 {
          if record.id == FrameHeader.stateID { states += 1 }
        } else {
          records += 1
        }
        return true
      }
      #expect(records == 200 && states == 1)
      #expect(try store.query(Note.self).entries().count == 200)
    }
    #expect(store.journal.snapshot().areWhole.contains(true))
    try store.close()
  }

  @Test func `a state that breaks its layout is none`() throws {
    var state = EvidenceState(generations: [.init(reference: 1, start: 0), .init(reference: 2, start: 9)])
    state.note(7, at: 12)
    var buffer = Buffer()
    state.append(to: &buffer)
    let bytes = buffer.bytes.array()
    #expect(EvidenceState(bytes.rawSpan) == state && bytes.count == state.byteCount)
    // A reserved flag, no generation and one too many, writers, zeros, the first start, and one that does not ascend.
    for (place, value) in [(0, 4), (1, 0), (1, 9), (2, 17), (2, 2), (68, 1), (72, 1), (120, 0)] {
      var altered = bytes
      altered[place] = UInt8(value)
      #expect(EvidenceState(altered.rawSpan) == nil, "byte \(place)")
    }
    #expect(
      EvidenceState(Array(bytes.dropLast()).rawSpan) == nil && EvidenceState((bytes + [0]).rawSpan) == nil)
    state.writers = (1...17).map { .init(id: $0, last: $0) }
    buffer.removeAll()
    state.append(to: &buffer)
    #expect(EvidenceState(buffer.bytes) == nil)
  }
}
