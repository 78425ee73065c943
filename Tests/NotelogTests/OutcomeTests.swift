// What an error says of what was asked for: not done, done all the same, or nobody knows.

import NotelogCrypto
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct OutcomeTests {
  private static let second = Notelog.Credential.key((1...32).map { $0 })
  private static let third = Notelog.Credential.key((2...33).map { $0 })

  private static let small: Store.Options = {
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    return options
  }()

  private static func fault(_ call: StorageError.Call, passing: Int = 0) -> Fault {
    Fault(.error(SystemErrno.inputOutput), of: [call], passing: passing)
  }

  private static func open(_ disk: SimulatedDisk, _ credential: Notelog.Credential) throws -> Store {
    try Store.open(in: disk, unlocking: credential, options: Self.small)
  }

  private static func opens(_ disk: SimulatedDisk, _ credential: Notelog.Credential) -> Bool {
    do {
      try open(disk.copy(), credential).close()
      return true
    } catch { return false }
  }

  /// The bug: the tool said of a removal whose sync had failed that nothing was removed, and it was.
  @Test func `after a failed sync nobody knows whether it was done, and before that it was not`() throws {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.small)
    let note = Note(title: "kept")
    try store.write { tx in try tx.put(note) }
    disk.plan(Self.fault(.sync))
    let failed = try #require(throws: NotelogError.self) {
      try store.write { tx in _ = try tx.delete(Note.self, note.id) }
    }
    #expect(failed.code == .poisoned && failed.outcome == .unknown)
    disk.forgetFaults()
    let refused = try #require(throws: NotelogError.self) {
      try store.write { tx in _ = try tx.delete(Note.self, note.id) }
    }
    #expect(refused.code == .poisoned && refused.outcome == .notDone)
    try? store.close()
    let other = try #require(throws: NotelogError.self) {
      try Self.open(disk, TemporaryFolder.key).write { tx in try tx.put(note, if: .revision(1)) }
    }
    #expect(other.code == .conflict && other.outcome == .notDone)
  }

  /// The bug: where a closure had changed nothing, or a batch was empty, a failed sync left open whether it
  /// was done.
  @Test func `what writes nothing is not done where its sync fails`() throws {
    for isBatch in [false, true] {
      let disk = SimulatedDisk()
      let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.small)
      var batch = try store.batch(of: Note.self)
      try store.write(.flushed) { tx in try tx.put(Note(title: "kept")) }
      disk.plan(Self.fault(.sync))
      let error = try #require(throws: NotelogError.self) {
        guard isBatch else { return try store.write { _ in } }
        _ = try batch.commit(.durable)
      }
      #expect(error.code == .poisoned && error.outcome == .notDone)
    }
  }

  /// The bug: a log whose sync a signal had interrupted took no more writes.
  @Test func `an interrupted call is made again, a sync too`() throws {
    for passing in 0..<200 {
      let disk = SimulatedDisk()
      disk.plan(Fault(.error(SystemErrno.interrupted), of: .interruptible, passing: passing))
      let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.small)
      try store.write { tx in try tx.put(Note(title: "kept")) }
      try store.changeCredential(TemporaryFolder.key, to: Self.second)
      try store.rekey(Self.second, to: Self.third)
      try store.close()
      #expect(Self.opens(disk, Self.third), "call \(passing)")
      if disk.firedFaults.isEmpty { return }
    }
    Issue.record("there is no end of calls that can be interrupted")
  }

  /// The bug: the keyring of another generation had its name, and what came next was written as if it had
  /// not, with the same number.
  @Test func `a keyring that has its name counts, though its folder was not synced`() throws {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.small)
    disk.plan(Self.fault(.syncFolder))
    let error = try #require(throws: NotelogError.self) {
      try store.changeCredential(TemporaryFolder.key, to: Self.second)
    }
    #expect(error.code == .inputOutput && error.outcome == .unknown)
    disk.forgetFaults()
    #expect(Self.opens(disk, Self.second) && !Self.opens(disk, TemporaryFolder.key))
    try store.addCredential(Self.third)
    try store.close()
    #expect(Self.opens(disk, Self.second) && Self.opens(disk, Self.third))
    #expect(!Self.opens(disk, TemporaryFolder.key))
  }

  /// The bug: it threw as if nothing had happened, and the old password was gone.
  @Test func `a new root says whether it is in force, whatever call of it fails`() throws {
    let start = SimulatedDisk()
    var store = try Store.create(in: start, unlocking: TemporaryFolder.key, options: Self.small)
    try store.write { tx in try tx.put(Note(title: "kept")) }
    try store.close()
    var outcomes: [NotelogError.Outcome?: Int] = [:]
    for kind in [SystemErrno.inputOutput, SystemErrno.noSpace] {
      for passing in 0..<1000 {
        let disk = start.copy()
        store = try Self.open(disk, TemporaryFolder.key)
        let calls: Set<StorageError.Call> = kind == SystemErrno.noSpace ? .taking : .everyCall
        disk.plan(Fault(.error(kind), of: calls, passing: passing))
        var outcome: NotelogError.Outcome?
        do { try store.rekey(TemporaryFolder.key, to: Self.second) } catch let error as NotelogError {
          outcome = error.outcome
        }
        let hasFired = !disk.firedFaults.isEmpty
        disk.forgetFaults()
        try? store.close()
        let (old, new) = (Self.opens(disk, TemporaryFolder.key), Self.opens(disk, Self.second))
        let place = "\(kind) at call \(passing): \(String(describing: outcome))"
        #expect(old != new, "\(place)")
        if outcome != .unknown { #expect(new == (outcome != .notDone), "\(place)") }
        outcomes[outcome, default: 0] += 1
        if !hasFired { break }
        #expect(
          try Self.open(disk, new ? Self.second : TemporaryFolder.key).query(Note.self).entries().map {
            try $0.title
          } == ["kept"], "\(place)")
      }
    }
    // All four were met.
    #expect(outcomes.keys.count == 4, "\(outcomes)")
  }

  /// The bug: the new root had found room in the reserve, and the schemas that follow it had not: the old
  /// password was gone, and it said that there was no space.
  @Test func `on a full disk a new root and another generation of a key are made whole`() throws {
    for hasReserve in [true, false] {
      let disk = SimulatedDisk()
      var store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.small)
      try store.write { tx in for number in 0..<50 { try tx.put(Note(title: "\(number)")) } }
      try store.close()
      store = try Self.open(disk, TemporaryFolder.key)
      try store.write { tx in try tx.put(Note(title: "last")) }
      disk.capacity = disk.usedByteCount
      if hasReserve {
        try store.rekey(TemporaryFolder.key, to: Self.second)
        try store.beginRotation(of: "personal")
        #expect(!store.vault.isRootChangeUnfinished)
      } else {
        disk.replace("reserve", with: nil)
        disk.capacity = disk.usedByteCount
        let error = try #require(throws: NotelogError.self) {
          try store.rekey(TemporaryFolder.key, to: Self.second)
        }
        #expect(error.code == .full && error.outcome == .notDone)
      }
      try store.close()
      #expect(Self.opens(disk, Self.second) == hasReserve)
      #expect(Self.opens(disk, TemporaryFolder.key) != hasReserve)
    }
  }
}
